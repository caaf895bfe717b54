"""Statistics of frames, by hand."""

from __future__ import annotations

import pandas as pd

from reportgen.explore import statistics

TRAIN, EVAL = "Step:ModeKeys.TRAIN", "Step:ModeKeys.EVAL"


def events(*rows: tuple[str, str, int, int, int]) -> pd.DataFrame:
    names = ["process", "framework_metric", "step", "start_time_us", "end_time_us"]
    return pd.DataFrame(list(rows), columns=names)


def samples(*rows: tuple[str, str, str, int, float]) -> pd.DataFrame:
    names = ["type", "system_metric", "dimension", "timestamp_us", "value"]
    return pd.DataFrame(list(rows), columns=names).assign(nodeID="algo-1")


STEPS = events(
    (TRAIN, TRAIN, 0, 100, 200),
    (TRAIN, TRAIN, 0, 120, 260),  # a second worker, later
    (TRAIN, TRAIN, 1, 300, 400),
    (EVAL, EVAL, 0, 500, 900),
    (TRAIN, TRAIN, 2, 1_000, 1_300),
    ("Forward", "conv", 0, 110, 150),
)


def test_a_name_in_several_processes_is_described_for_each() -> None:
    passes = events(
        ("Forward", "Net", 0, 0, 10),
        ("Backward(post-forward)", "Net", 0, 10, 40),
        ("Forward", "Net", 1, 50, 60),
    )

    found = statistics.durations(passes)

    assert found[["framework_metric", "process", "count", "total_us"]].to_numpy().tolist() == [
        ["Net", "Backward(post-forward)", 1, 30],
        ["Net", "Forward", 2, 20],
    ]
    whole = statistics.durations(passes, by="framework_metric")
    assert whole[["framework_metric", "count", "total_us"]].to_numpy().tolist() == [["Net", 3, 50]]


def test_a_job_falls_into_stretches_of_modes() -> None:
    found = statistics.phase_intervals(STEPS)

    assert found.to_numpy().tolist() == [
        [100, 400, TRAIN],
        [400, 500, f"Between {TRAIN} and {EVAL}"],
        [500, 900, EVAL],
        [900, 1_000, f"Between {EVAL} and {TRAIN}"],
        [1_000, 1_300, TRAIN],
    ]
    assert statistics.phase_intervals(STEPS.iloc[:0]).empty


USE = samples(
    ("gpu", "gpu0", "GPUUtilization", 50, 0.0),
    ("gpu", "gpu0", "GPUUtilization", 150, 10.0),
    ("gpu", "gpu0", "GPUUtilization", 550, 90.0),
    ("gpu", "gpu0", "GPUUtilization", 600, 90.5),
    ("gpu", "gpu0", "GPUMemoryUtilization", 150, 99.0),
    ("i/o", "IOPS", "", 150, 7.0),
    ("network", "ReceiveBytesPerSecond", "Algorithm", 150, 9.0),
)


def test_metrics_are_never_mixed() -> None:
    found = statistics.utilization(USE).set_index("metric")

    assert found.loc["GPUUtilization", ["count", "max"]].tolist() == [4, 90.5]
    assert found.loc["GPUMemoryUtilization", "mean"] == 99.0
    assert {"IOPS", "ReceiveBytesPerSecond/Algorithm"} < set(found.index)
