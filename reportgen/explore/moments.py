"""Moments worth a look, found in frames: bottlenecks, slow steps, slow batches; and what ran then.

Rows that are instants have ``timestamp_us`` and ``nodeID``; rows that are intervals have
``start_time_us``, ``end_time_us`` and ``nodeID`` (a node or a worker of one).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reportgen.explore.causes import (
    Moments,
    at_moments,
    cause_of,
    functions_at,
    in_intervals,
    merge_functions,
)
from reportgen.explore.loading import OUTLIER_FACTOR, batch_times
from reportgen.explore.statistics import STEP
from reportgen.rules.maths.intervals import merge_intervals
from reportgen.units import NS_PER_US

if TYPE_CHECKING:
    import pandas as pd

    from reportgen.explore.job import Job

GPU_IDLE_PCT, GPU_BUSY_PCT, CPU_HOT_PCT = 10.0, 90.0, 90.0
"""Source: seed 000; the rule CPUBottleneck compares strictly, this analysis counts 10 % as idle."""
STALL_MARGIN_PCT = 10.0
"""CPU and GPU medians must both be lower by so much to speak of a stall. Source: ours."""
GPU_CLASSES = (
    "initialization",
    "finalization",
    "above 90 %",
    "10 to 90 %",
    "idle, with a CPU bottleneck",
    "idle, without",
)
_USE = {"GPUUtilization": "GPU", "CPUUtilization": "CPU", "I/OWaitPercentage": "I/O wait"}


def extent_us(system: pd.DataFrame) -> tuple[int, int] | None:
    """Return first and last instant of the samples, µs since the origin; ``None`` without any."""
    if system.empty:
        return None
    return int(system["timestamp_us"].min()), int(system["timestamp_us"].max())


def cpu_bottlenecks(
    system: pd.DataFrame,
    *,
    gpu_at_most_pct: float = GPU_IDLE_PCT,
    cpu_above_pct: float = CPU_HOT_PCT,
) -> pd.DataFrame:
    """Return the GPU samples that are low while a core of the same node is hot.

    Each CPU sample belongs to the nearest instant of its node's GPU samples, if that is no
    further than half the usual distance of two of them: their stamps differ by milliseconds.

    Returns:
        ``timestamp``, ``timestamp_us``, ``nodeID``, ``gpu``, ``gpu_pct``, ``hot_cores`` (how many
        are above ``cpu_above_pct``), ``cpu_pct`` (the hottest), in order of time.
    """
    import pandas as pd

    found = []
    for _, rows in system.groupby("nodeID", sort=True):
        gpu = rows[rows["dimension"] == "GPUUtilization"]
        cpu = rows[rows["dimension"] == "CPUUtilization"]
        low = gpu[gpu["value"] <= gpu_at_most_pct]
        if low.empty or cpu.empty:
            continue
        ticks_us = np.unique(gpu["timestamp_us"].to_numpy())
        place = _nearest(cpu["timestamp_us"].to_numpy(), ticks_us)
        value = cpu["value"].to_numpy()
        is_hot = (place >= 0) & (value > cpu_above_pct)
        n_hot = np.bincount(place[is_hot], minlength=ticks_us.size)
        hottest = np.zeros(ticks_us.size)
        np.maximum.at(hottest, place[is_hot], value[is_hot])
        at = np.searchsorted(ticks_us, low["timestamp_us"].to_numpy())
        found.append(
            pd.DataFrame(
                {
                    "timestamp": low["timestamp"].to_numpy(),
                    "timestamp_us": low["timestamp_us"].to_numpy(),
                    "nodeID": low["nodeID"].to_numpy(),
                    "gpu": low["system_metric"].to_numpy(),
                    "gpu_pct": low["value"].to_numpy(),
                    "hot_cores": n_hot[at],
                    "cpu_pct": hottest[at],
                }
            )[n_hot[at] > 0]
        )
    columns = ["timestamp", "timestamp_us", "nodeID", "gpu", "gpu_pct", "hot_cores", "cpu_pct"]
    if not found:
        return pd.DataFrame(columns=columns)
    return pd.concat(found).sort_values(["timestamp_us", "nodeID", "gpu"], ignore_index=True)


def busy_moments(system: pd.DataFrame, *, gpu_above_pct: float = GPU_BUSY_PCT) -> pd.DataFrame:
    """Return the GPU samples above a utilization, as instants to compare with."""
    is_busy = (system["dimension"] == "GPUUtilization") & (system["value"] > gpu_above_pct)
    return system.loc[is_busy, ["timestamp", "timestamp_us", "nodeID"]].reset_index(drop=True)


def gpu_classes(
    system: pd.DataFrame, framework: pd.DataFrame, bottlenecks: pd.DataFrame
) -> pd.DataFrame:
    """Count the samples of each GPU in six classes that do not overlap.

    Returns:
        One row per node and GPU, one column per class of ``GPU_CLASSES``; a row's sum is the
        number of its samples. A sample at exactly 90 % is "10 to 90 %", at 10 % it is idle; one
        on the edge of the training loop lies in it.
    """
    import pandas as pd

    gpu = system[system["dimension"] == "GPUUtilization"]
    value, time_us = gpu["value"].to_numpy(), gpu["timestamp_us"].to_numpy()
    steps = framework[framework["process"].str.startswith(STEP)]
    begin_us, end_us = (
        (steps["start_time_us"].min(), steps["end_time_us"].max())
        if len(steps)
        else (-np.inf, np.inf)
    )
    keys = ["timestamp_us", "nodeID", "gpu"]
    known = set(bottlenecks[keys].itertuples(index=False, name=None))
    own = zip(time_us.tolist(), gpu["nodeID"], gpu["system_metric"], strict=True)
    is_bottleneck = np.array([key in known for key in own], dtype=bool)
    place = np.select(
        [
            time_us < begin_us,
            time_us > end_us,
            value > GPU_BUSY_PCT,
            value > GPU_IDLE_PCT,
            is_bottleneck,
        ],
        range(5),
        default=5,
    )
    counts = pd.crosstab([gpu["nodeID"], gpu["system_metric"]], place)
    counts = counts.reindex(columns=range(len(GPU_CLASSES)), fill_value=0)
    counts.columns = list(GPU_CLASSES)
    return counts.reset_index().rename(columns={"system_metric": "gpu"})


def split_steps(
    framework: pd.DataFrame, *, factor: float = 2.0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return slow steps, slowest first, and all others.

    A step is slow when it lasts longer than ``factor`` medians of its mode and worker; one of
    exactly that length is normal. (The rule StepOutlier compares with mean and deviation.)

    Returns:
        Both with ``step``, ``process``, ``nodeID``, ``start_time``, ``end_time``,
        ``start_time_us``, ``end_time_us``, ``duration_us``, ``factor_of_median``.
    """
    columns = ["step", "process", "nodeID", "start_time", "end_time"]
    columns += ["start_time_us", "end_time_us"]
    steps = framework.loc[framework["process"].str.startswith(STEP), columns]
    steps = steps.assign(duration_us=steps["end_time_us"] - steps["start_time_us"])
    median = steps.groupby(["process", "nodeID"])["duration_us"].transform("median")
    steps = steps.assign(factor_of_median=steps["duration_us"] / median.where(median > 0))
    is_slow = steps["duration_us"] > factor * median
    slow = steps[is_slow].sort_values(["duration_us", "start_time_us"], ascending=[False, True])
    return slow.reset_index(drop=True), steps[~is_slow].reset_index(drop=True)


def batch_spans(loader: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return slow and other batches as intervals from one call of GetNext to the next.

    Gaps between epochs belong to neither.
    """
    times = batch_times(loader)
    times = times[times["batch_time_s"].notna() & ~times["is_epoch_gap"]]
    spans = times.assign(
        end_time_us=times["start_time_us"],
        start_time_us=times["start_time_us"] - (times["batch_time_s"] * 1e6).round().astype(int),
        nodeID=times["node_id"],
    )
    is_slow = spans["batch_time_s"] >= OUTLIER_FACTOR * spans["batch_time_s"].median()
    kept = ["start_time_us", "end_time_us", "nodeID", "batch_time_s", "worker_id"]
    return {
        "slow batches": spans.loc[is_slow, kept].reset_index(drop=True),
        "other batches": spans.loc[~is_slow, kept].reset_index(drop=True),
    }


def functions_at_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the functions that ran on the same node at some instants; see ``functions_at``."""
    return _functions(job, rows, _instants)


def functions_in_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the functions of the same node that overlap some intervals; see ``functions_at``."""
    return _functions(job, rows, _intervals)


def say_cause(functions: pd.DataFrame, others: pd.DataFrame, *, at: str, against: str) -> str:
    """Return the sentence that names the cause, or one that says why none is named."""
    cause = cause_of(functions, others, at=at, against=against)
    if cause is not None:
        return cause.text
    return (
        f"No function with ten events or more takes at least 1.5 times the share of the time {at} "
        f"that it takes {against}; no cause is named."
    )


def utilization_inside(system: pd.DataFrame, groups: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return mean and median of GPU, CPU and I/O wait inside the intervals of each group.

    Args:
        system: a SYSTEM frame.
        groups: name to intervals; only samples of the same node count.

    Returns:
        One row per group and metric: ``group``, ``metric``, ``samples``, ``mean_pct``,
        ``median_pct``. Short intervals may hold no sample at all: then ``samples`` is 0.
    """
    import pandas as pd

    rows = []
    chosen = system[system["dimension"].isin(list(_USE))]
    for name, intervals in groups.items():
        inside = chosen[_is_inside(chosen, intervals)]
        for dimension, metric in _USE.items():
            values = inside.loc[inside["dimension"] == dimension, "value"]
            rows.append(
                {
                    "group": name,
                    "metric": metric,
                    "samples": len(values),
                    "mean_pct": float(values.mean()) if len(values) else np.nan,
                    "median_pct": float(values.median()) if len(values) else np.nan,
                }
            )
    return pd.DataFrame(rows)


def say_stall(use: pd.DataFrame, *, slow: str, normal: str) -> str:
    """Return the sentence about a stall when CPU and GPU are both lower in slow intervals.

    Args:
        use: from ``utilization_inside``.
        slow, normal: the names of the two groups.

    Returns:
        Empty unless both medians are lower by ``STALL_MARGIN_PCT`` points or more.
    """
    medians = use.set_index(["group", "metric"])["median_pct"]
    drops = {metric: medians[normal, metric] - medians[slow, metric] for metric in ("GPU", "CPU")}
    if not all(drop >= STALL_MARGIN_PCT for drop in drops.values()):
        return ""
    return (
        f"CPU and GPU are both less busy in {slow} than in {normal} (medians lower by "
        f"{drops['CPU']:.1f} and {drops['GPU']:.1f} points): they wait for something else, such "
        "as a disk or the network."
    )


def window_of(job: Job, rows: pd.DataFrame, *, seconds: float) -> dict[str, Any]:
    """Return ``since`` and ``until`` around the first of some rows, else from the job's origin."""
    column = "timestamp_us" if "timestamp_us" in rows else "start_time_us"
    first_us = int(rows[column].iloc[0]) if len(rows) else 0
    begin_us = job.origin_us + first_us - int(seconds * 1e6 / 2) * bool(len(rows))
    end_us = begin_us + int(seconds * 1e6)
    return {"since": np.datetime64(begin_us, "us"), "until": np.datetime64(end_us, "us")}


def _functions(job: Job, rows: pd.DataFrame, moments_of: Any) -> pd.DataFrame:
    tables = []
    for spans in job.spans():
        for worker, moments in moments_of(rows, spans.workers, job.origin_us):
            code = spans.workers.index(worker)
            tables.append(functions_at(spans.where(spans.worker == code), moments))
    return merge_functions(tables)


def _instants(
    rows: pd.DataFrame, workers: tuple[str, ...], origin_us: int
) -> Iterator[tuple[str, Moments]]:
    for worker in workers:
        own = rows.loc[_of_worker(rows["nodeID"], worker), "timestamp_us"]
        if len(own):
            yield worker, at_moments(_ns(own, origin_us))


def _intervals(
    rows: pd.DataFrame, workers: tuple[str, ...], origin_us: int
) -> Iterator[tuple[str, Moments]]:
    for worker in workers:
        own = rows[_of_worker(rows["nodeID"], worker)]
        if len(own):
            start_ns, end_ns = (
                _ns(own[name], origin_us) for name in ("start_time_us", "end_time_us")
            )
            yield worker, in_intervals(start_ns, end_ns)


def _ns(time_us: pd.Series, origin_us: int) -> NDArray[np.int64]:
    return np.asarray((time_us.to_numpy(dtype=np.int64) + origin_us) * NS_PER_US)


def _of_worker(named: pd.Series, worker: str) -> pd.Series:
    """Return which rows are of a worker itself, or of the node it runs on."""
    node = worker.rpartition("-")[0]
    return (named == worker) | (named == node)


def _of_node(named: pd.Series, node: str) -> NDArray[np.bool_]:
    """Return which rows are of a node itself, or of a worker that runs on it."""
    return np.array([name == node or name.rpartition("-")[0] == node for name in named], dtype=bool)


def _is_inside(samples: pd.DataFrame, intervals: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which samples lie in an interval of their node, both ends included."""
    inside = np.zeros(len(samples), dtype=bool)
    time_us = samples["timestamp_us"].to_numpy()
    for node in samples["nodeID"].unique():
        is_own = _of_node(intervals["nodeID"], node)
        own = intervals[is_own]
        starts, ends = merge_intervals(
            own["start_time_us"].to_numpy(dtype=np.int64),
            own["end_time_us"].to_numpy(dtype=np.int64),
        )
        if not starts.size:
            continue
        place = np.searchsorted(starts, time_us, side="right") - 1
        inside |= (
            (samples["nodeID"] == node).to_numpy()
            & (place >= 0)
            & (time_us <= ends[np.maximum(place, 0)])
        )
    return inside


def _nearest(time_us: NDArray[np.int64], ticks_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the nearest tick, -1 beyond half the usual distance of two ticks."""
    after = np.clip(np.searchsorted(ticks_us, time_us), 1, max(ticks_us.size - 1, 1))
    before = after - 1
    after = np.minimum(after, ticks_us.size - 1)
    is_after = ticks_us[after] - time_us < time_us - ticks_us[before]
    place = np.where(is_after, after, before)
    reach_us = float(np.median(np.diff(ticks_us))) / 2 if ticks_us.size > 1 else np.inf
    return np.where(np.abs(ticks_us[place] - time_us) <= reach_us, place, -1)
