from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from reportgen.profile import NodeProfile
from reportgen.results import Counters, ReasonCode, RuleResult, Severity, Status
from reportgen.rules.load_balancing import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding, rows_of, step_rows
from tests.rules.samples import run

SMALL = {"patience": 10}


Samples = list[float | None]


def node(name: str = "algo-1", rows: Sequence[Any] = (), **gpus: Any) -> NodeProfile:
    """Return a node that samples every six seconds, ten samples a minute."""
    return node_profile(gpus, rows, interval_s=6, node=name)


def distance_of(result: RuleResult) -> Any:
    """Return the distance of gpu0 and gpu1 on algo-1 in AWS's JSON."""
    tree: Any = result.details
    return tree["algo-1"]["distances"]["gpu0"]["gpu1"]


def test_one_busy_and_one_idle_gpu_are_as_far_apart_as_can_be() -> None:
    result = run(RULE, node(gpu0=[95.0] * 30, gpu1=[0.0] * 30), **SMALL)
    entry = result.details["algo-1"]

    assert result.status is Status.TRIGGERED
    assert result.counters == Counters(rule_triggered=2, violations=2, datapoints=30)
    assert isinstance(entry, dict)
    assert list(entry) == ["workloads", "distances"]
    assert distance_of(result) == pytest.approx(np.sqrt(np.log(2)), abs=1e-12)


def test_the_finding_names_the_pair_and_the_table_has_both_means() -> None:
    gpus: dict[str, Any] = {"gpu0": [90.0] * 30, "gpu1": [30.0] * 30, "gpu2": [30.0] * 30}
    result = run(RULE, node(**gpus), **SMALL)
    found = known(finding(result, "BAL-1"))

    assert found.severity is Severity.WARNING
    assert found.title.endswith("gpu0 90.0 %, gpu1 30.0 %")
    assert "unknown whether each GPU has its training process" in found.text
    assert "2 of 3 pairs" in found.text
    assert known(found.estimate).share_ratio == pytest.approx(1 - 30 / 90, abs=1e-4)
    assert (found.where.start_s, found.where.end_s) == (START_S, START_S + 29 * 6)
    means = [(row["gpu_mean_pct"], row["other_mean_pct"]) for row in rows_of(result, "distances")]
    assert means == [(90.0, 30.0), (90.0, 30.0), (30.0, 30.0)]


def test_a_job_too_short_for_sagemaker_is_judged_nonetheless() -> None:
    result = run(RULE, node(gpu0=[90.0] * 61, gpu1=[30.0] * 61))
    found = known(finding(result, "BAL-1"))

    assert result.counters == Counters(datapoints=61)
    assert known(found.estimate).share_ratio == pytest.approx(2 / 3, abs=1e-6)
    assert run(RULE, node(gpu0=[90.0] * 60, gpu1=[30.0] * 60)).status is Status.SKIPPED


@pytest.mark.parametrize(("rest_pct", "is_told"), [(95.0, False), (60.0, True)])
def test_a_gpu_that_stops_has_no_other_share_of_the_work_for_that(rest_pct, is_told) -> None:
    # A long start of both, so that neither is used throughout.
    start = [0.0] * 40
    gpus: dict[str, Any] = {
        "gpu0": start + [95.0] * 30,
        "gpu1": [*start, *[rest_pct] * 21, *start[:9]],
    }
    found = finding(run(RULE, node(**gpus), **SMALL), "BAL-1")

    assert (found is not None) == is_told
    if found is not None and found.estimate is not None:
        assert found.estimate.share_ratio == pytest.approx(1 - 60 / 95, abs=1e-4)


def test_two_equal_gpus_share_the_work() -> None:
    result = run(RULE, node(gpu0=[95.0, 90.0] * 15, gpu1=[90.0, 95.0] * 15), **SMALL)

    assert result.status is Status.OK
    assert result.counters == Counters(datapoints=30)
    assert result.findings == ()
    assert [row["distance"] for row in rows_of(result, "distances")] == [0.0]


def test_distances_are_those_of_scipy_on_fifty_bins() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.integers(60, 101, 300), rng.integers(20, 101, 300)
    result = run(RULE, node(gpu0=one.tolist(), gpu1=other.tolist()), **SMALL)
    bins = [np.histogram(values, bins=50, range=(0, 100))[0] for values in (one, other)]

    assert distance_of(result) == pytest.approx(float(jensenshannon(*bins)), abs=1e-12)


@pytest.mark.parametrize(("shift", "triggers"), [(-1e-9, 1), (1e-9, 0)])
def test_a_distance_must_exceed_the_threshold(shift: float, triggers: int) -> None:
    gpus: dict[str, Any] = {"gpu0": [95.0] * 20, "gpu1": [95.0] * 15 + [10.0] * 5}
    (row,) = rows_of(run(RULE, node(**gpus), **SMALL), "distances")
    bins = np.zeros((2, 50))
    bins[0, 47], bins[1, 47], bins[1, 5] = 20, 15, 5
    distance = float(jensenshannon(*bins))

    result = run(RULE, node(**gpus), patience=10, threshold=distance + shift)

    assert row["distance"] == pytest.approx(distance, abs=1e-6)
    assert result.counters.rule_triggered == triggers


def test_full_load_has_a_bin_of_its_own_but_not_in_the_json_of_aws() -> None:
    result = run(RULE, node(gpu0=[99.0] * 20, gpu1=[97.0] * 20), **SMALL)
    entry = result.details["algo-1"]
    workloads = known(result.exhibit("workloads"))

    assert isinstance(entry, dict)
    assert isinstance(entry["workloads"], dict)
    assert entry["workloads"]["gpu0"] == [0] * 49
    assert entry["workloads"]["gpu1"] == [*([0] * 48), 20]
    assert [sum(column.values) for column in workloads.columns[2:]] == [20, 20]  # type: ignore[arg-type]
    assert result.counters.rule_triggered == 1


def test_different_patterns_of_equal_work_are_no_fault() -> None:
    result = run(RULE, node(gpu0=[50.0] * 30, gpu1=[0.0, 100.0] * 15), **SMALL)

    assert result.counters.rule_triggered == 2
    assert result.findings == ()


@pytest.mark.parametrize(("other", "found"), [(80.1, []), (80.0, [Severity.WARNING])])
def test_the_means_decide_whether_it_matters(other: float, found: list[Severity]) -> None:
    result = run(RULE, node(gpu0=[90.0] * 30, gpu1=[other] * 30), **SMALL)

    assert [item.severity for item in result.findings] == found


def test_both_gpus_need_more_samples_than_patience() -> None:
    late: Samples = [*[None] * 15, *[10.0] * 10]
    part = node(gpu0=[95.0] * 25, gpu1=late)

    assert run(RULE, part, patience=10).counters.rule_triggered == 0
    assert run(RULE, part, patience=9).counters.rule_triggered == 1


def test_as_many_samples_as_patience_are_too_few() -> None:
    result = run(RULE, node(gpu0=[95.0] * 10, gpu1=[5.0] * 10), **SMALL)

    assert result.status is Status.SKIPPED
    assert known(result.reason).text == (
        "Too few to judge: 10 samples of the machines' utilization; this check needs more than 10."
    )
    assert result.findings == ()


def test_one_gpu_has_nothing_to_compare_but_keeps_its_histogram() -> None:
    result = run(RULE, node("algo-1", gpu0=[95.0] * 30), **SMALL)

    assert result.status is Status.SKIPPED
    assert result.reason is not None
    assert result.reason.code is ReasonCode.NO_GPU
    assert "only one GPU per node" in result.reason.text
    assert list(result.details) == ["algo-1"]
    assert list(result.details["algo-1"]) == ["workloads"]  # type: ignore[arg-type]


def test_gpus_are_compared_within_their_node_only() -> None:
    result = run(
        RULE,
        node("algo-1", gpu0=[95.0] * 30, gpu1=[95.0] * 30),
        node("algo-2", gpu0=[20.0] * 30, gpu1=[20.0] * 30),
        node("algo-10", gpu0=[95.0] * 30, gpu1=[20.0] * 30, gpu2=[60.0] * 30),
        **SMALL,
    )
    (found,) = result.findings

    assert result.counters == Counters(rule_triggered=2, violations=6, datapoints=30)
    assert found.where.node == "algo-10"
    assert [list(entry) for entry in result.details.values()] == [  # type: ignore[arg-type]
        ["workloads"], ["workloads"], ["workloads", "distances"],
    ]  # fmt: skip


def test_the_distance_is_named_and_has_its_largest_value_beside_it() -> None:
    found = known(finding(run(RULE, node(gpu0=[95.0] * 30, gpu1=[20.0] * 30), **SMALL), "BAL-1"))

    assert found.unit == "Jensen-Shannon distance"
    assert "is 0.83 (threshold 0.2, 0.83 at most)" in found.text


def test_gpus_that_are_never_used_are_no_imbalance_between_those_that_are() -> None:
    gpus: dict[str, Any] = {"gpu0": [90.0] * 30, "gpu1": [90.0] * 30, "gpu2": [0.0] * 30}

    assert run(RULE, node(**gpus), **SMALL).findings == ()


def test_an_imbalance_between_used_gpus_leaves_out_those_that_are_not() -> None:
    gpus: dict[str, Any] = {"gpu0": [90.0] * 30, "gpu1": [60.0] * 30, "gpu2": [0.0] * 30}
    found = known(finding(run(RULE, node(**gpus), **SMALL), "BAL-1"))

    assert "All 3 pairs of GPUs exceeded the threshold" in found.text  # as the table has it
    assert found.title.endswith("gpu0 90.0 %, gpu1 60.0 %")
    assert found.severity is Severity.WARNING
    assert known(found.estimate).share_ratio == pytest.approx(1 - 60 / 90, abs=1e-6)


@pytest.mark.parametrize(
    ("n_workers", "said"),
    [(1, "instead of DataParallel"), (2, "the process of the GPU that is used least")],
)
def test_data_parallel_is_advised_against_only_where_it_may_be_used(n_workers, said) -> None:
    gpus: dict[str, Any] = {"gpu0": [90.0] * 30, "gpu1": [30.0] * 30}
    rows = [row for rank in range(n_workers) for row in step_rows([1.0], worker=f"algo-1-{rank}")]
    found = known(finding(run(RULE, node(rows=rows, **gpus), **SMALL), "BAL-1"))

    assert said in found.advice
    assert known(found.estimate).share_ratio == pytest.approx(n_workers / 3, abs=1e-4)


def test_gpus_with_a_process_each_may_gain_what_the_idlest_idles_more() -> None:
    gpus: dict[str, Any] = {"gpu0": [60.0] * 30, **{f"gpu{at}": [90.0] * 30 for at in (1, 2, 3)}}
    rows = [row for rank in range(4) for row in step_rows([1.0], worker=f"algo-1-{rank}")]
    found = known(finding(run(RULE, node(rows=rows, **gpus), **SMALL), "BAL-1"))

    assert known(found.estimate).share_ratio == pytest.approx(1 - 60 / 90, abs=1e-6)


@pytest.mark.parametrize(("use_pct", "is_told"), [(79.0, True), (81.0, False)])
def test_nodes_with_one_gpu_each_are_compared(use_pct: float, is_told: bool) -> None:
    parts = [node(gpu0=[90.0] * 30), node(name="algo-2", gpu0=[use_pct] * 30)]
    result = run(RULE, *parts, **SMALL)
    found = finding(result, "BAL-1")

    assert (found is not None) is is_told
    assert (result.status is Status.SKIPPED) is not is_told
    if found is not None:
        assert found.title.endswith("gpu0 on algo-2 79.0 %, gpu0 on algo-1 90.0 %")
        assert known(found.estimate).share_ratio == pytest.approx(1 - 79 / 90, abs=1e-6)
        assert (found.where.node, found.where.device) == ("algo-2", "gpu0")
