"""GPUs that a job never uses are left out of what SageMaker's results are said to mean."""

from __future__ import annotations

from typing import Any

from reportgen.results import Details, RuleId
from reportgen.rules.aws.unused_gpus import felt_details, gpu_use

N_BINS = 49
IDLE = [2000] + [0] * (N_BINS - 1)
BUSY = [1000] + [0] * (N_BINS - 2) + [1000]
FULL = [1200] + [0] * (N_BINS - 1)
"""At 99 and 100 % for 800 of 2,000 samples, which SageMaker drops."""
USE = {"algo-1": {"gpu0": True, "gpu1": False, "gpu2": False}}


def use_of(**gpus: list[int]) -> Any:
    loads: Any = {"algo-1": {"workloads": gpus}}
    return gpu_use(loads, 2000)


def felt(rule_id: str, details: Details) -> Details:
    return felt_details(RuleId(rule_id), details, USE)


def test_a_gpu_whose_samples_all_lie_below_ten_percent_is_unused() -> None:
    assert use_of(gpu0=BUSY, gpu1=IDLE, gpu2=FULL) == {
        "algo-1": {"gpu0": True, "gpu1": False, "gpu2": True}
    }


def test_a_job_without_any_used_gpu_or_without_histograms_tells_nothing() -> None:
    assert use_of(gpu0=IDLE) == {}
    assert gpu_use({"algo-1": {"workloads": 3}, "last": 4}, 2000) == {}
    assert felt_details(RuleId("BatchSize"), {"algo-1": {}}, {}) == {"algo-1": {}}


def test_unused_gpus_are_taken_off_the_idle_ones_of_each_bottleneck() -> None:
    details: Details = {
        "low_gpu_utilization": 3,
        "bottlenecks": {"1.5": {"GPUs": 2, "CPUs": 1}, "2.0": {"GPUs": 3, "CPUs": 4}, "2.5": 1},
    }
    assert felt("CPUBottleneck", details)["bottlenecks"] == {
        "1.5": {"GPUs": 0, "CPUs": 1},
        "2.0": {"GPUs": 1, "CPUs": 4},
        "2.5": 1,
    }


def test_unused_gpus_have_no_room_and_those_without_violation_are_known() -> None:
    room: Details = {"algo-1": {"cpu": {}, "gpu1": {}, "gpu1_memory": {}, "gpu0": {}}, "last": 4}
    assert felt("BatchSize", room) == {"algo-1": {"cpu": {}, "gpu0": {}}, "last": 4}
    low: Details = {"algo-1": {"gpu1": {"gpu_max": 3.0}}, "last": 4}
    assert felt("LowGPUUtilization", low) == {
        "algo-1": {"gpu0": {}, "gpu1": {"gpu_max": 3.0}, "gpu2": {}},
        "last": 4,
    }
    assert felt("LowGPUUtilization", {}) == {}
    assert felt("StepOutlier", room) == room
