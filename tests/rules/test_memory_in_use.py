"""MemoryInUse: hosts near their limit, GPUs that are full or have room."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Cause, ReasonCode, Severity, Status
from reportgen.rules.memory_in_use import RULE
from reportgen.rules.memory_in_use.sampled import Params
from tests.builders import known, node_profile
from tests.rules.samples import column, run

GB = 1e9


def node(name: str = "node-1", /, **columns: list[float | None]) -> NodeProfile:
    return node_profile(columns, node=name)


def gpu(*used_gb: float, total_gb: float = 80, number: int = 0) -> dict[str, list[float | None]]:
    return {
        f"gpu{number}_used": [value * GB for value in used_gb],
        f"gpu{number}_total": [total_gb * GB] * len(used_gb),
    }


def host(*used_pct: float, limit_gb: float = 16) -> dict[str, list[float | None]]:
    return {
        "memory": list(used_pct),
        "memory_bytes": [value / 100 * limit_gb * GB for value in used_pct],
    }


def test_a_host_near_its_limit_is_reported_with_its_peak() -> None:
    result = run(RULE, node(**host(50, 92, 95, 91)), node("node-2", **host(40, 40, 40, 40)))

    (finding,) = result.findings
    assert (finding.id, finding.severity) == ("ROOM-1", Severity.WARNING)
    assert finding.title == "node-1 uses up to 95.0 % of its memory"
    assert "75.0 % of the samples" in finding.text
    assert "16.0 GB" in finding.text
    assert "1 of 2 nodes" in finding.text
    assert result.metrics["host_memory_max_pct"] == 95.0


def test_a_host_at_the_threshold_is_not_reported() -> None:
    assert run(RULE, node(**host(90))).findings == ()
    assert len(run(RULE, node(**host(90)), params=Params(host_pct=89.9)).findings) == 1


def test_gpu_memory_that_stays_nearly_full_is_named_and_is_no_fault() -> None:
    result = run(RULE, node(**gpu(79, 79, 10), **gpu(60, 60, 60, number=1)))

    (finding,) = result.findings
    assert (finding.id, finding.severity) == ("ROOM-2", Severity.INFO)
    assert finding.title == "GPU memory is nearly full: gpu0 uses 98.8 %"
    assert "1 of 2 GPUs" in finding.text
    assert result.status is Status.OK


def test_gpu_memory_that_was_full_for_a_moment_is_not_nearly_full() -> None:
    assert run(RULE, node(**gpu(79, 79, 10, 10))).findings == ()


def ramp(start: float, end: float, n: int = 160) -> list[float]:
    return [start + (end - start) * at / (n - 1) for at in range(n)]


@pytest.mark.parametrize(
    ("used_gb", "is_leak"),
    [
        (ramp(24, 79), True),
        (ramp(60, 79), True),
        (ramp(60, 67), False),  # less than a tenth of the memory
        ([*ramp(4, 60, 80), *[60.0] * 80], False),  # a cache that is filled
        ([*ramp(0, 60, 16), *[60.0] * 144], False),  # a start
        ([20.0 + 50 * (at // 10 % 2) for at in range(160)], False),  # epochs
        (ramp(24, 79, 31), False),  # too few samples
    ],
)
def test_allocated_memory_that_grows_through_the_whole_job_is_a_leak(used_gb, is_leak) -> None:
    findings = {item.id: item for item in run(RULE, node(**gpu(*used_gb))).findings}

    assert ("ROOM-4" in findings) == is_leak
    if is_leak:
        assert findings["ROOM-4"].severity is Severity.WARNING
        assert "ROOM-3" not in findings


@pytest.mark.parametrize(("most_gb", "n_findings"), [(39.9, 1), (40, 0)])
def test_gpus_that_never_use_half_of_their_memory_have_room(most_gb, n_findings) -> None:
    findings = run(RULE, node(**gpu(10, most_gb), **gpu(5, 5, number=1))).findings

    assert [finding.id for finding in findings] == ["ROOM-3"] * n_findings


def test_the_table_names_every_gpu_and_host_with_its_limit() -> None:
    result = run(RULE, node(**gpu(10, 60), **host(20, 30)), node("node-2", **host(10)))

    assert column(result, "memory_in_use", "node") == ["node-1", "node-1", "node-2"]
    assert column(result, "memory_in_use", "device") == ["gpu0", "host", "host"]
    assert column(result, "memory_in_use", "limit_gb") == [80, 16, 16]
    assert column(result, "memory_in_use", "max_gb") == [60, 4.8, 1.6]


def test_a_job_whose_memory_was_not_recorded_in_bytes_is_skipped() -> None:
    result = run(RULE, node(memory=[89.0, 89.0], gpu0_memory=[10.0, 10.0]))

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is ReasonCode.NO_EVENTS


def test_a_host_whose_percentage_alone_is_known_is_reported_where_it_is_full() -> None:
    (finding,) = run(RULE, node(memory=[50.0, 95.0])).findings

    assert finding.id == "ROOM-1"
    assert "more than 90.0 % of the memory was in use" in finding.text


@pytest.mark.parametrize(
    ("last_pct", "severity"), [(70.0, Severity.WARNING), (40.0, Severity.INFO), (22.0, None)]
)
def test_a_host_whose_memory_grows_to_the_end_is_a_warning_where_it_will_be_full(
    last_pct: float, severity: Severity | None
) -> None:
    result = run(RULE, node(memory=np.linspace(20, last_pct, 400).tolist()))

    assert [(item.id, item.severity) for item in result.findings] == (
        [("ROOM-4", severity)] if severity else []
    )
    if severity:
        assert result.findings[0].cause == Cause.MEMORY_GROWTH
        assert result.findings[0].title.startswith("Host memory grows over the whole job: node-1")


def test_a_gpu_without_a_total_is_left_out() -> None:
    assert run(RULE, node(gpu0_used=[1.0])).status is Status.SKIPPED
