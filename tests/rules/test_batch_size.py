from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Counters, ReasonCode, Severity, Status
from reportgen.rules.batch_size import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run

SMALL = {"patience": 10, "window": 5}


def node(name: str = "algo-1", *, minutes: int = 3, **columns: Any) -> NodeProfile:
    """Return a node with ten samples a minute; a number stands for a constant series."""
    n_ticks = 10 * minutes
    series = {
        key: value if isinstance(value, list) else [value] * n_ticks
        for key, value in columns.items()
    }
    return node_profile(series, interval_s=6, node=name)


def roomy(name: str = "algo-1", **columns: Any) -> NodeProfile:
    merged: dict[str, Any] = {"cpu0": 20.0, "gpu0": 40.0, "gpu0_memory": 30.0, **columns}
    return node(name, **merged)


def roomy_with(column: str, value: float) -> NodeProfile:
    columns: dict[str, Any] = {column: value}
    return roomy(**columns)


def test_too_large_is_said_to_need_the_memory_in_use() -> None:
    assert "is not checked: see “Memory in use”" in " ".join(RULE.about.checks.split())


def test_room_in_all_three_is_counted_each_judged_minute() -> None:
    result = run(RULE, roomy(cpu1=40.0), **SMALL)

    assert result.status is Status.TRIGGERED
    assert result.counters == Counters(rule_triggered=2, violations=2, datapoints=30)
    entry = result.details["algo-1"]
    assert isinstance(entry, dict)
    assert list(entry) == ["cpu", "gpu0", "gpu0_memory"]
    assert entry["cpu"] == dict.fromkeys(("p25", "p50", "p75", "p95", "upper", "lower"), 30.0)
    assert result.details["last_timestamp"] == int(START_S + 120) * 1_000_000


@pytest.mark.parametrize(
    ("used", "is_told"), [(None, True), (6.9e9, True), (7e9, False), (9.9e9, False)]
)
def test_no_larger_batch_is_advised_where_the_memory_is_allocated(used, is_told) -> None:
    memory: dict[str, Any] = {} if used is None else {"gpu0_used": used, "gpu0_total": 1e10}
    found = finding(run(RULE, roomy(**memory), **SMALL), "BATCH-1")

    assert (found is not None) is is_told
    if found is not None and used is not None:
        assert "69.0 % of the memory was allocated" in found.text


def test_the_finding_tells_the_room_of_each_resource() -> None:
    found = known(finding(run(RULE, roomy(), **SMALL), "BATCH-1"))

    assert found.severity is Severity.WARNING
    assert (found.measured, found.threshold) == (40.0, 70.0)
    assert "were 40.0 % (GPU), 30.0 % (GPU memory) and 20.0 % (CPU)" in found.text
    assert "allocated memory" in found.text
    assert (found.where.start_s, found.where.end_s) == (START_S, START_S + 29 * 6)


@pytest.mark.parametrize("column", ["cpu0", "gpu0", "gpu0_memory"])
@pytest.mark.parametrize(("value", "triggers"), [(69.99, 2), (70.0, 0)])
def test_each_p95_must_be_below_its_threshold(column: str, value: float, triggers: int) -> None:
    assert run(RULE, roomy_with(column, value), **SMALL).counters.rule_triggered == triggers


def test_a_busy_job_is_fine() -> None:
    result = run(RULE, roomy(gpu0=95.0), **SMALL)

    assert result.status is Status.OK
    assert (result.details, result.findings) == ({}, ())
    rows = rows_of(result, "head_room")
    assert [row["resource"] for row in rows] == ["cpu", "gpu0", "gpu0_memory"]
    assert [row["work_p95_pct"] for row in rows] == [20.0, 95.0, 30.0]


def test_more_samples_than_patience_and_than_the_window_are_needed() -> None:
    part = roomy()

    assert run(RULE, part, patience=30, window=5).counters.rule_triggered == 0
    assert run(RULE, part, patience=29, window=5).counters.rule_triggered == 1
    assert run(RULE, part, patience=5, window=30).counters.rule_triggered == 0
    assert run(RULE, part, patience=5, window=29).counters.rule_triggered == 1


def test_too_few_samples_are_told_with_numbers() -> None:
    result = run(RULE, roomy(minutes=2), patience=30, window=5)

    assert result.status is Status.SKIPPED
    assert known(result.reason).text == (
        "Too few to judge: 20 samples of the machines' utilization; this check needs more than 20."
    )


def test_without_gpus_or_without_their_memory_there_is_nothing_to_judge() -> None:
    cpu_only = run(RULE, node(cpu0=20.0), **SMALL)
    no_memory = run(RULE, node(cpu0=20.0, gpu0=20.0), **SMALL)

    assert known(cpu_only.reason).code is ReasonCode.NO_GPU
    assert cpu_only.counters.datapoints == 30
    assert known(no_memory.reason).code is ReasonCode.NOT_SAMPLED


def test_only_gpus_with_room_are_listed_and_a_busy_one_ends_the_advice() -> None:
    result = run(RULE, roomy(gpu1=95.0, gpu1_memory=30.0), **SMALL)

    entry = result.details["algo-1"]
    assert isinstance(entry, dict)
    assert list(entry) == ["cpu", "gpu0", "gpu0_memory"]
    assert result.findings == ()


def test_a_node_that_waits_for_its_host_gets_no_warning() -> None:
    # One of many cores is hot in every idle tick: the mean CPU keeps room, the GPU waits.
    cores: dict[str, Any] = {f"cpu{index}": 5.0 for index in range(1, 8)}
    result = run(RULE, roomy(cpu0=99.0, gpu0=5.0, **cores), **SMALL)

    assert result.counters.rule_triggered == 2
    assert result.findings == ()


def test_several_nodes_are_added_up() -> None:
    result = run(RULE, roomy("algo-1", gpu0=0.0), roomy("algo-2"), roomy("algo-3"), **SMALL)
    (found,) = result.findings

    assert result.counters == Counters(rule_triggered=6, violations=6, datapoints=30)
    assert list(result.details) == ["algo-1", "last_timestamp", "algo-2", "algo-3"]
    assert "2 of 3 GPUs (gpu0 on algo-2 and gpu0 on algo-3)" in found.text


def test_gpus_that_are_never_used_ask_for_no_larger_batch() -> None:
    unused: dict[str, Any] = {"gpu1": 0.0, "gpu1_memory": 0.0}
    found = known(finding(run(RULE, roomy(**unused), **SMALL), "BATCH-1"))
    assert (found.severity, found.measured) == (Severity.WARNING, 40.0), "that of gpu0"

    assert run(RULE, roomy(gpu0=90.0, **unused), **SMALL).findings == ()


def test_a_busy_gpu_of_another_node_speaks_against_a_larger_batch() -> None:
    assert run(RULE, roomy(), roomy("algo-2", gpu0=95.0), **SMALL).findings == ()
