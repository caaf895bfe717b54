"""GPU activity by hand-made numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reportgen.profile.trace import RankTrace
from reportgen.results import Role, Status
from reportgen.rules.gpu_activity import RULE
from tests.builders import known
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run


def test_devices_are_told_apart_in_the_window_of_their_rank() -> None:
    gpu: list[Any] = [("a", 0.0, 100.0, {"device": 0}), ("b", 50.0, 10.0, {"device": 1})]
    table = known(run(RULE, rank_trace(gpu=gpu)).exhibit("activity_by_device"))
    columns = {column.name: column.values for column in table.columns}

    assert columns["device"] == (0, 1)
    assert columns["busy_us"] == (100.0, 10.0)
    assert columns["idle_us"] == (0.0, 90.0)


def test_only_exposed_communication_has_the_role_of_the_network_as_in_the_time_budget() -> None:
    split = known(run(RULE, rank_trace(gpu=[("a", 0.0, 100.0)])).exhibit("activity_split"))
    names = [str(name) for name in split.columns[0].values]
    roles = dict(zip(names, split.row_roles, strict=True))
    assert [name for name in names if roles[name] is Role.NETWORK] == ["exposed communication"]
    assert roles["compute with communication"] is Role.GPU


@pytest.mark.parametrize(("exposed_us", "is_fault"), [(3.9, False), (4.0, True)])
def test_exposed_communication_is_a_fault_from_its_threshold_on(exposed_us, is_fault) -> None:
    gpu = [("k", 0.0, 100 - exposed_us), ("ncclKernel", 100 - exposed_us, exposed_us)]
    ids = [item.id for item in run(RULE, rank_trace(gpu=gpu)).findings]

    assert ("ACT-1" in ids) is is_fault


@pytest.mark.parametrize(
    ("name", "is_pipeline"), [("recv", True), ("all_to_all", False), ("", False)]
)
def test_sends_and_receives_are_those_of_a_pipeline(name: str, is_pipeline: bool) -> None:
    said = {"collective": {"name": name, "group": "4"}} if name else {}
    gpu = [
        ("k", 0.0, 500.0, {}),
        ("ncclDevKernel_SendRecv", 500.0, 310.0, said),
        ("ncclKernel", 810.0, 200.0, {}),
    ]
    (found,) = (it for it in run(RULE, rank_trace(gpu=gpu)).findings if it.id == "ACT-1")

    assert ("58.8 % of it is in sends and receives" in found.text) is is_pipeline
    assert ("micro-batches" in found.advice) is is_pipeline


def test_kernels_that_send_and_meet_no_other_rank_are_those_of_a_pipeline() -> None:
    def stage(number: int, receives_at_us: float) -> RankTrace:
        receive = ("ncclDevKernel_SendRecv", receives_at_us, 9000.0)
        every = [("ncclKernel", 30_000.0 + 1000 * at, 100.0) for at in range(4)]
        return rank_trace(gpu=[("k", 0.0, 500.0), receive, *every], rank=number)

    findings = run(RULE, stage(0, 600.0), stage(1, 12_000.0)).findings
    (found,) = (it for it in findings if it.id == "ACT-1")

    assert "95.7 % of it is in sends and receives" in found.text


@pytest.mark.parametrize(
    ("usual_us", "most_us", "is_fault"),
    [(85.0, 93.0, False), (85.0, 95.0, True), (20.0, 28.0, False), (20.0, 30.0, True)],
)
def test_uneven_ranks_are_named_from_a_tenth_on_if_that_costs_enough(usual_us, most_us, is_fault):
    def rank(number: int, compute_us: float) -> RankTrace:
        gpu = [("k", 0.0, compute_us), ("ncclKernel", compute_us, 100 - compute_us)]
        return rank_trace(gpu=gpu, rank=number)

    findings = run(RULE, rank(0, usual_us), rank(1, most_us)).findings
    uneven = [item for item in findings if item.id == "ACT-2"]

    assert bool(uneven) is is_fault
    if uneven:
        assert uneven[0].where.node == "rank 1"
        # With equal shares each would compute half of the difference less.
        assert known(uneven[0].estimate).share_ratio == pytest.approx((most_us - usual_us) / 200)


def test_uneven_ranks_are_compared_by_the_number_of_their_kernels() -> None:
    def rank(number: int, n: int, each_us: float) -> RankTrace:
        gpu = [("k", 15 * at, each_us) for at in range(n)]
        return rank_trace(gpu=[*gpu, ("ncclKernel", 91.0, 9.0)], rank=number)

    findings = run(RULE, rank(0, 4, 10.0), rank(1, 6, 10.0)).findings
    (uneven,) = (item for item in findings if item.id == "ACT-2")

    assert "It runs 6 kernels, the others 4 (mean)." in uneven.text


def test_ranks_that_exchange_no_data_do_not_wait_for_each_other() -> None:
    """As two trainings of one script, each on its GPU."""
    traces = [
        rank_trace(gpu=[("k", 0.0, us), ("k", 99.0, 1.0)], rank=rank)
        for rank, us in enumerate((40.0, 80.0))
    ]

    assert run(RULE, *traces).findings == ()


def test_a_rank_whose_recording_begins_late_does_not_compute_more() -> None:
    early = rank_trace(gpu=[("ncclKernel", 0.0, 50.0), ("k", 50.0, 40.0)], rank=0)
    late = rank_trace(gpu=[("k", 50.0, 40.0), ("ncclKernel", 90.0, 10.0)], rank=1)

    assert "ACT-2" not in {item.id for item in run(RULE, early, late).findings}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (
            ["algo-1_rank0.json", "algo-1_rank1.json", "algo-2_rank2.json"],
            ["mean of GPUs of algo-1", "mean of GPUs of algo-2"],
        ),
        (
            [
                "a_17.1795274438178.pt.trace.json",
                "a_9.1795274438178.pt.trace.json",
                "b_9.1795274438178.pt.trace.json",
                "rank3.json",
            ],
            ["mean of GPUs of a", "mean of GPUs of b", "mean of GPUs of others"],
        ),
        (
            [f"worker{rank}_step_12.1694128201545.pt.trace.json" for rank in range(3)],
            ["mean of GPUs"],
        ),
        (["job/run_rank0.json", "job/run_rank1.json", "job/run_rank2.json"], ["mean of GPUs"]),
    ],
)
def test_nodes_are_told_by_the_names_of_files(paths: list[str], names: list[str]) -> None:
    ranks = [
        replace(rank_trace(gpu=[("k", 0.0, 10.0), ("k", 20.0, 10.0)], rank=rank), path=path)
        for rank, path in enumerate(paths)
    ]
    use = known(run(RULE, *ranks).exhibit("utilization"))

    assert [item.name for item in use.columns if item.name.startswith("mean")] == names


def test_of_many_gpus_and_nodes_the_unusual_ones_are_drawn() -> None:
    ranks = [
        replace(
            rank_trace(gpu=[("k", 0.0, busy_us), ("k", 99.0, 1.0)], rank=number),
            path=f"host{number // 2}_rank{number}.json",
        )
        for number in range(40)
        for busy_us in [10.0 if number == 27 else 50.0]
    ]
    use = known(run(RULE, *ranks).exhibit("utilization"))

    names = [item.name for item in use.columns[1:]]
    assert names[0] == "mean of GPUs"
    assert "mean of GPUs of host13" in names
    assert sum(name.startswith("mean of GPUs of") for name in names) == 9
    assert "rank 27 gpu27" in names
    assert len(names) == 1 + 9 + 9
    assert "Of 40 GPUs, only the median one and those that differ most" in use.caption
    assert "Of 20 nodes, only the median one" in use.caption


def test_a_trace_without_gpu_says_first_that_none_was_recorded_and_how_to() -> None:
    result = run(RULE, rank_trace(slices=[("aten::mm", 0.0, 10.0)]))
    (found,) = result.findings

    assert result.status is Status.SKIPPED
    assert (found.id, found.cause) == ("ACT-4", "not_recorded")
    assert "ProfilerActivity.CUDA" in found.advice
    assert run(RULE).findings == ()
