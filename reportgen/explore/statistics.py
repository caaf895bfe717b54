"""Statistics of frames: durations of steps and functions, utilization, phases of the job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.typing import SeriesGroupBy

from reportgen.facts.distributions import jensen_shannon, pct_histogram
from reportgen.profile.spans import STEP_PREFIX, TRAINING_PHASES
from reportgen.profile.system import device_order
from reportgen.text import format_duration
from reportgen.units import NS_PER_US, iso_utc

STEP = STEP_PREFIX


def durations(
    events: pd.DataFrame, *, by: str | Sequence[str] = ("framework_metric", "process")
) -> pd.DataFrame:
    """Return statistics of the durations of events, longest total first.

    Args:
        events: a FRAMEWORK frame.
        by: the columns to group by: ``framework_metric``, ``process``, ``nodeID``, ``step``. A
            model's name is that of its forward and of its backward pass, and an operator's that of
            its work on the CPU and on the GPU: the process tells them apart.

    Returns:
        One row per group, the columns of ``by`` first: ``count``, ``total_us``, ``mean_us``,
        ``min_us``, ``p50_us``, ``p95_us``, ``p99_us``, ``max_us``.
    """
    lasted = (events["end_time_us"] - events["start_time_us"]).rename("duration_us")
    keys = [by] if isinstance(by, str) else list(by)
    groups = lasted.groupby([events[key] for key in keys], sort=True)
    return _described(groups, total=["total"], unit="_us").sort_values(
        ["total_us", *keys], ascending=[False, *[True] * len(keys)], ignore_index=True
    )


def utilization(samples: pd.DataFrame) -> pd.DataFrame:
    """Return statistics of the samples, a SYSTEM frame, per node and kind of metric.

    Each kind is described separately: GPU utilization and GPU memory, CPU utilization and I/O
    wait, IOPS and bytes per second are not mixed.
    """
    samples = samples.assign(metric=_metric_of(samples))
    return _described(samples.groupby(["type", "metric", "nodeID"], sort=True)["value"])


def low_samples(samples: pd.DataFrame, *, below_pct: float = 50.0) -> pd.DataFrame:
    """Return how many samples of each GPU, and of all cores of a node, are at zero and low.

    Args:
        samples: a SYSTEM frame; only ``GPUUtilization`` and ``CPUUtilization`` are counted.
        below_pct: what is low; a sample of exactly that is not.

    Returns:
        One row per device: ``nodeID``, ``device``, ``samples``, ``at_zero``, ``below_50``; then
        the sums of all GPUs, and of the cores of all nodes, where there are several.
    """
    chosen = samples[samples["dimension"].isin(["GPUUtilization", "CPUUtilization"])]
    counted = {
        "nodeID": chosen["nodeID"],
        "device": chosen["system_metric"].where(chosen["type"] == "gpu", "all cores"),
        "samples": 1,
        "at_zero": (chosen["value"] == 0).astype(int),
        f"below_{below_pct:g}": (chosen["value"] < below_pct).astype(int),
    }
    found = chosen.iloc[:, :0].assign(**counted).groupby(["nodeID", "device"]).sum().reset_index()
    in_order = {"key": lambda names: names.map(device_order), "ignore_index": True}
    found = found.sort_values(["nodeID", "device"], **in_order)
    device = found["device"].where(found["device"] == "all cores", "all GPUs")
    several = found[device.groupby(device).transform("size") > 1]
    whole = several.assign(nodeID="all nodes", device=device).groupby(["nodeID", "device"]).sum()
    return pd.concat([found, whole.reset_index()], ignore_index=True) if len(whole) else found


def workload_distances(samples: pd.DataFrame) -> pd.DataFrame:
    """Return how differently each two GPUs of a node were used, most different first.

    Args:
        samples: a SYSTEM frame; only ``GPUUtilization`` counts.

    Returns:
        One row per pair: ``nodeID``, ``gpu``, ``other_gpu``, ``distance`` (Jensen-Shannon, of
        histograms over 0-100 % in bins of 2 %): 0 for equal use, 0.83 where one is busy whenever
        the other is idle. AWS's example notebook calls more than 0.5 unbalanced, the rule
        LoadBalancing 0.2.
    """
    found: list[tuple[str, str, str, float]] = []
    use = samples[samples["dimension"] == "GPUUtilization"]
    for node, of_node in use.groupby("nodeID", sort=True):
        counts = {
            str(gpu): pct_histogram(rows["value"].to_numpy(dtype=np.float64))
            for gpu, rows in of_node.groupby("system_metric", sort=True)
        }
        found += [
            (str(node), gpu, other, float(jensen_shannon(counts[gpu], counts[other])))
            for gpu, other in combinations(sorted(counts, key=device_order), 2)
        ]
    frame = pd.DataFrame(found, columns=["nodeID", "gpu", "other_gpu", "distance"])
    return frame.sort_values("distance", ascending=False, kind="stable", ignore_index=True)


def training_steps(events: pd.DataFrame) -> pd.DataFrame:
    """Return the steps between whose first and last the training loop lies.

    A FRAMEWORK frame gives its steps of TRAIN; without any, those of GLOBAL; else all its steps.
    """
    steps = events[events["process"].str.startswith(STEP)]
    for word in TRAINING_PHASES:
        chosen = steps[steps["process"].str.rpartition(".")[2] == word] if len(steps) else steps
        if len(chosen):
            return chosen
    return steps


def job_phases(events: pd.DataFrame, *, job_us: tuple[int, int] | None = None) -> pd.DataFrame:
    """Return initialization, training loop and finalization, as the page counts them.

    Args:
        events: a FRAMEWORK frame; the loop lasts from the first start to the last end of
            ``training_steps``.
        job_us: first and last sample; by default first and last event.

    Returns:
        ``phase``, ``start_time_us``, ``end_time_us``, ``duration_us`` (never negative) and
        ``share_pct`` of the sum of the three; empty without steps.
    """
    steps = training_steps(events)
    columns = ["phase", "start_time_us", "end_time_us"]
    rows: list[tuple[str, int, int]] = []
    if len(steps):
        start_us, end_us = int(steps["start_time_us"].min()), int(steps["end_time_us"].max())
        first_us, last_us = job_us or (events["start_time_us"].min(), events["end_time_us"].max())
        rows = [
            ("initialization", min(int(first_us), start_us), start_us),
            ("training loop", start_us, end_us),
            ("finalization", end_us, max(int(last_us), end_us)),
        ]
    found = pd.DataFrame(rows, columns=columns)
    lasted_us = found["end_time_us"] - found["start_time_us"]
    return found.assign(duration_us=lasted_us, share_pct=100 * lasted_us / (lasted_us.sum() or 1))


def describe_loop(phases: pd.DataFrame, *, origin_us: int) -> str:
    """Return the sentence that says when the training loop of ``job_phases`` ran."""
    if phases.empty:
        return "Without steps there is no training loop."
    loop = phases.set_index("phase").loc["training loop"]
    start, end = (
        iso_utc((int(loop[name]) + origin_us) * NS_PER_US)
        for name in ("start_time_us", "end_time_us")
    )
    return (
        f"The training loop ran from {start} to {end}: {format_duration(loop.duration_us / 1e6)}."
    )


def phase_intervals(events: pd.DataFrame) -> pd.DataFrame:
    """Return the stretches of a job, of its FRAMEWORK frame: in and between the modes of steps.

    Returns:
        ``start_time_us``, ``end_time_us``, ``phase`` in order of time. A run of steps of one mode
        is one stretch, from its first start to its last end.
    """
    steps = events[events["process"].str.startswith(STEP)]
    steps = steps.sort_values(["start_time_us", "end_time_us"], ignore_index=True)
    run = steps["process"].ne(steps["process"].shift()).cumsum()
    found = steps.groupby(run).agg(
        start_time_us=("start_time_us", "min"),
        end_time_us=("end_time_us", "max"),
        phase=("process", "first"),
    )
    rows: list[tuple[int, int, str]] = []
    for start_us, end_us, phase in found.itertuples(index=False):
        if rows and start_us > rows[-1][1]:
            rows.append((rows[-1][1], start_us, f"Between {rows[-1][2]} and {phase}"))
        rows.append((start_us, end_us, phase))
    return pd.DataFrame(rows, columns=["start_time_us", "end_time_us", "phase"])


def _metric_of(samples: pd.DataFrame) -> pd.Series:
    """Return the measured quantity: the dimension of GPUs and cores, else name and dimension."""
    named = samples["system_metric"].str.cat(samples["dimension"], sep="/").str.rstrip("/")
    return named.where(~samples["type"].isin(["gpu", "cpu"]), samples["dimension"])


def _described(groups: SeriesGroupBy, *, total: Sequence[str] = (), unit: str = "") -> pd.DataFrame:
    functions: dict[str, Any] = {
        **dict.fromkeys(total, "sum"),
        "mean": "mean",
        "min": "min",
        "p50": lambda values: float(values.quantile(0.5)),
        "p95": lambda values: float(values.quantile(0.95)),
        "p99": lambda values: float(values.quantile(0.99)),
        "max": "max",
    }
    named = {f"{name}{unit}": function for name, function in functions.items()}
    return groups.agg(count="count", **named).reset_index()
