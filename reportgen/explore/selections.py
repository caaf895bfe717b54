"""Moments worth a look, found in frames: bottlenecks, slow steps, slow batches.

Rows that are instants have ``timestamp_us`` and ``nodeID``; rows that are intervals have
``start_time_us``, ``end_time_us`` and ``nodeID`` (a node or a worker of one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.explore.job import Job
from reportgen.explore.loading import OUTLIER_FACTOR, batch_times, only_batches
from reportgen.explore.statistics import STEP, training_steps
from reportgen.facts.trend import MEDIAN_FACTOR, above_median
from reportgen.facts.usage import BUSY_ABOVE_PCT, CPU_HOT_PCT, IDLE_BELOW_PCT
from reportgen.profile.system import device_order


def extent_us(system: pd.DataFrame) -> tuple[int, int] | None:
    """Return first and last instant of the samples, µs since the origin; ``None`` without any."""
    if system.empty:
        return None
    return int(system["timestamp_us"].min()), int(system["timestamp_us"].max())


def cpu_bottlenecks(
    system: pd.DataFrame,
    *,
    gpu_at_most_pct: float = IDLE_BELOW_PCT,
    cpu_above_pct: float = CPU_HOT_PCT,
) -> pd.DataFrame:
    """Return the GPU samples that are low while a core of the same node is hot.

    Each CPU sample belongs to the nearest instant of its node's GPU samples, if that is no
    further than half the usual distance of two of them: their stamps differ by milliseconds.

    Returns:
        ``timestamp``, ``timestamp_us``, ``nodeID``, ``gpu``, ``gpu_pct``, ``hot_cores`` (how many
        are above ``cpu_above_pct``), ``cpu_pct`` (the hottest), in order of time.
    """
    columns = ["timestamp", "timestamp_us", "nodeID", "gpu", "gpu_pct", "hot_cores", "cpu_pct"]
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
        low = low.rename(columns={"system_metric": "gpu", "value": "gpu_pct"})
        found.append(low.assign(hot_cores=n_hot[at], cpu_pct=hottest[at])[columns][n_hot[at] > 0])
    if not found:
        return pd.DataFrame(columns=columns)
    return pd.concat(found).sort_values(["timestamp_us", "nodeID", "gpu"], ignore_index=True)


def busy_moments(system: pd.DataFrame, *, gpu_above_pct: float = BUSY_ABOVE_PCT) -> pd.DataFrame:
    """Return the GPU samples above a utilization, as instants to compare with."""
    is_busy = (system["dimension"] == "GPUUtilization") & (system["value"] > gpu_above_pct)
    return system.loc[is_busy, ["timestamp", "timestamp_us", "nodeID"]].reset_index(drop=True)


def low_moments(system: pd.DataFrame, *, gpu_below_pct: float) -> pd.DataFrame:
    """Return the GPU samples below a utilization in order of time.

    Returns:
        ``timestamp``, ``timestamp_us``, ``nodeID``, ``gpu``, ``gpu_pct``.
    """
    is_low = (system["dimension"] == "GPUUtilization") & (system["value"] < gpu_below_pct)
    low = system[is_low].rename(columns={"system_metric": "gpu", "value": "gpu_pct"})
    low = low[["timestamp", "timestamp_us", "nodeID", "gpu", "gpu_pct"]]
    return low.sort_values(["timestamp_us", "nodeID", "gpu"], ignore_index=True)


def places_in_job(rows: pd.DataFrame, framework: pd.DataFrame) -> NDArray[np.object_]:
    """Return where in the job each instant lies: initialization, training loop, finalization.

    By a FRAMEWORK frame: the loop lasts from the first training step to the end of the last, both
    included. Without steps there is no loop, and every place is "unknown".
    """
    steps = training_steps(framework)
    time_us = rows["timestamp_us"].to_numpy()
    places = np.full(time_us.shape, "training loop" if len(steps) else "unknown", dtype=object)
    if len(steps):
        places[time_us < steps["start_time_us"].min()] = "initialization"
        places[time_us > steps["end_time_us"].max()] = "finalization"
    return places


def describe_places(rows: pd.DataFrame, framework: pd.DataFrame, *, what: str) -> str:
    """Return the sentence that says how many instants lie where in the job.

    ``what`` the instants are: ``"samples with a bottleneck"``.
    """
    places = places_in_job(rows, framework)
    if training_steps(framework).empty:
        return f"{len(rows):,} {what}; without steps it is unknown how many are in a training loop."
    n_loop, n_before, n_after = (
        int((places == place).sum())
        for place in ("training loop", "initialization", "finalization")
    )
    return (
        f"{len(rows):,} {what}: {n_loop:,} in the training loop, {n_before:,} in the "
        f"initialization, {n_after:,} in the finalization."
    )


def gpu_classes(
    system: pd.DataFrame,
    framework: pd.DataFrame,
    bottlenecks: pd.DataFrame,
    *,
    gpu_at_most_pct: float = IDLE_BELOW_PCT,
) -> pd.DataFrame:
    """Count the samples of each GPU in six classes that do not overlap.

    Args:
        bottlenecks: of ``cpu_bottlenecks`` with the same ``gpu_at_most_pct``.
        gpu_at_most_pct: a GPU at or below it is idle (by the rule CPUBottleneck only below).

    Returns:
        One row per node and GPU, one column per class: initialization, finalization, above 90 %,
        between, idle with a CPU bottleneck, idle without. A row's sum is the number of its
        samples. A sample at exactly 90 % is between; one on the edge of the training loop lies
        in it.
    """
    classes = [
        "initialization",
        "finalization",
        f"above {BUSY_ABOVE_PCT:g} %",
        f"{gpu_at_most_pct:g} to {BUSY_ABOVE_PCT:g} %",
        "idle, with a CPU bottleneck",
        "idle, without",
    ]

    gpu = system[system["dimension"] == "GPUUtilization"]
    value, time_us = gpu["value"].to_numpy(), gpu["timestamp_us"].to_numpy()
    place_in_job = places_in_job(gpu, framework)
    keys = ["timestamp_us", "nodeID", "gpu"]
    known = set(bottlenecks[keys].itertuples(index=False, name=None))
    moments = zip(time_us.tolist(), gpu["nodeID"], gpu["system_metric"], strict=True)
    is_bottleneck = np.array([key in known for key in moments], dtype=bool)
    place = np.select(
        [
            place_in_job == "initialization",
            place_in_job == "finalization",
            value > BUSY_ABOVE_PCT,
            value > gpu_at_most_pct,
            is_bottleneck,
        ],
        range(5),
        default=5,
    )
    counts = pd.crosstab([gpu["nodeID"], gpu["system_metric"]], place)
    counts = counts.reindex(columns=range(len(classes)), fill_value=0)
    counts.columns = classes
    named = counts.reset_index().rename(columns={"system_metric": "gpu"})
    return named.sort_values(
        ["nodeID", "gpu"], key=lambda names: names.map(device_order), ignore_index=True
    )


def split_steps(
    framework: pd.DataFrame, *, factor: float = MEDIAN_FACTOR
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
    lasted = steps.groupby(["process", "nodeID"])["duration_us"]
    median = lasted.transform("median")
    steps = steps.assign(factor_of_median=steps["duration_us"] / median.where(median > 0))
    is_slow = lasted.transform(lambda us: above_median(us.to_numpy(), factor=factor)) == 1
    slow = steps[is_slow].sort_values(["duration_us", "start_time_us"], ascending=[False, True])
    return slow.reset_index(drop=True), steps[~is_slow].reset_index(drop=True)


def batch_spans(
    loader: pd.DataFrame, framework: pd.DataFrame | None = None
) -> dict[str, pd.DataFrame]:
    """Return slow and other batches as intervals from one call of GetNext to the next.

    Gaps between epochs, and times in which calls were not recorded, belong to neither; arguments
    as ``loading.batch_times``.
    """
    spans = batch_intervals(only_batches(batch_times(loader, framework)))
    is_slow = spans["batch_time_s"] >= OUTLIER_FACTOR * spans["batch_time_s"].median()
    kept = ["start_time_us", "end_time_us", "nodeID", "batch_time_s", "worker_id"]
    return {
        "slow batches": spans.loc[is_slow, kept].reset_index(drop=True),
        "other batches": spans.loc[~is_slow, kept].reset_index(drop=True),
    }


def batch_intervals(times: pd.DataFrame) -> pd.DataFrame:
    """Return batches of ``loading.batch_times`` as intervals, each from the call before it.

    A batch ends 1 µs before the next call, so that each call belongs to one batch.
    """
    length_us = (times["batch_time_s"] * 1e6).round().astype(int)
    return times.assign(
        end_time_us=times["start_time_us"] - 1,
        start_time_us=times["start_time_us"] - length_us,
        nodeID=times["node_id"],
    )


def window_of(job: Job, rows: pd.DataFrame, *, seconds: float) -> dict[str, Any]:
    """Return ``since`` and ``until`` around the first of some rows, else from the first event.

    Without rows the window is not longer than the job.
    """
    length_us = int(seconds * 1e6)
    if len(rows):
        column = "timestamp_us" if "timestamp_us" in rows else "start_time_us"
        begin_us = job.origin_us + int(rows[column].iloc[0]) - length_us // 2
        end_us = begin_us + length_us
    else:
        begin_us, last_us = job.events_extent_us() or _first_samples_us(job)
        end_us = min(begin_us + length_us, last_us)
    return {"since": np.datetime64(begin_us, "us"), "until": np.datetime64(end_us, "us")}


def _first_samples_us(job: Job) -> tuple[int, int]:
    first_minutes = np.datetime64(job.origin_us + 120_000_000, "us")
    first_us, last_us = extent_us(job.system_metrics(until=first_minutes)) or (0, 0)
    return job.origin_us + first_us, job.origin_us + last_us


def _nearest(time_us: NDArray[np.int64], ticks_us: NDArray[np.int64]) -> NDArray[np.int64]:
    after = np.clip(np.searchsorted(ticks_us, time_us), 1, max(ticks_us.size - 1, 1))
    before = after - 1
    after = np.minimum(after, ticks_us.size - 1)
    is_after = ticks_us[after] - time_us < time_us - ticks_us[before]
    place = np.where(is_after, after, before)
    reach_us = float(np.median(np.diff(ticks_us))) / 2 if ticks_us.size > 1 else np.inf
    return np.where(np.abs(ticks_us[place] - time_us) <= reach_us, place, -1)
