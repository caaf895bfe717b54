"""Collectives by hand-made numbers: transfer, waiting, and ranks that do not compare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reportgen.profile.trace import RankTrace
from reportgen.results import RuleResult, Severity, Status, Where
from reportgen.rules import collectives
from reportgen.rules.collectives.bandwidth import bus_factor
from tests.builders import known
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run

KERNEL = "ncclDevKernel_AllReduce"


def rank(
    number: int, *starts: float, end: float = 100.0, said: dict[str, Any] | None = None, **more: Any
) -> RankTrace:
    """A rank whose i-th collective runs from its start to ``end`` after i x 1,000 µs."""
    gpu = [
        (KERNEL, 1000.0 * i + start, end - start, {"collective": said | {"seq": i}} if said else {})
        for i, start in enumerate(starts)
    ]
    return rank_trace(gpu=gpu, rank=number, **more)


def rows(result: RuleResult, exhibit_id: str) -> list[tuple[Any, ...]]:
    """Return the rows of an exhibit."""
    found = known(result.exhibit(exhibit_id))
    return list(zip(*(column.values for column in found.columns), strict=True))


def stragglers(result: RuleResult) -> list[tuple[object, ...]]:
    """Return rank, wait and last arrivals of each rank."""
    return [row[:3] for row in rows(result, "stragglers")]


def test_the_fastest_rank_tells_the_transfer_and_the_rest_is_waiting() -> None:
    result = run(collectives.RULE, rank(0, 0.0, 20.0), rank(1, 60.0, 10.0), rank(2, 90.0, 90.0))

    assert rows(result, "collectives") == [("", 0, KERNEL, 10.0, 2), ("", 1, KERNEL, 10.0, 2)]
    assert stragglers(result) == [(0, 160.0, 0), (1, 110.0, 0), (2, 0.0, 2)]
    assert [row[3:5] for row in rows(result, "waits")][:3] == [(0, 90.0), (1, 30.0), (2, 0.0)]
    (finding,) = result.findings
    assert finding.id == "COMM-1"
    where = finding.where
    assert where.node == "rank 2"
    assert [where.start_s, where.end_s] == pytest.approx([1_010e-6, 1_100e-6])
    assert "longer than rank 2 (median of them) while they compute nothing" in finding.text
    assert "They wait longer than rank 2 in " in finding.text


def test_ranks_that_arrive_together_are_no_fault() -> None:
    result = run(collectives.RULE, rank(0, 0.0, 1.0), rank(1, 1.0, 0.0))

    assert result.status is Status.OK
    assert result.findings == ()


@pytest.mark.parametrize(("apart_us", "is_comparable"), [(1000.0, True), (1001.0, False)])
def test_ends_more_than_a_millisecond_apart_do_not_compare(apart_us, is_comparable) -> None:
    result = run(collectives.RULE, rank(0, 0.0), rank(1, 0.0, end=100.0 + apart_us))

    assert bool(stragglers(result)) is is_comparable
    assert ("COMM-2" in {item.id for item in result.findings}) is not is_comparable
    for finding in result.findings:
        assert finding.severity is Severity.INFO


def test_one_rank_alone_says_why_it_does_not_compare() -> None:
    result = run(collectives.RULE, rank(0, 0.0))

    assert stragglers(result) == []
    assert "Only one rank" in result.findings[0].text


def test_groups_are_told_apart() -> None:
    result = run(
        collectives.RULE,
        rank(0, 0.0, said={"name": "allreduce", "group": "0"}),
        rank(1, 0.0, said={"name": "allreduce", "group": "1"}),
    )

    assert rows(result, "collectives") == []
    assert "share no collective" in result.findings[0].text


def test_ranks_that_die_are_compared_as_long_as_they_live() -> None:
    whole, dead = [rank(number, 0.0, 0.0, 0.0, 0.0) for number in (0, 1)], rank(2, 0.0, 0.0)

    assert stragglers(run(collectives.RULE, *whole, dead)) == [
        (0, 0.0, 4),
        (1, 0.0, 0),
        (2, 0.0, 0),
    ]


def test_bandwidth_counts_the_larger_side_and_the_bus_factor() -> None:
    said = {
        "name": "allreduce",
        "dtype": "BFloat16",
        "in_elements": 500_000,
        "out_elements": 500_000,
        "group_size": 4,
    }
    result = run(collectives.RULE, rank(0, 0.0, said=said))

    assert rows(result, "bandwidth") == [
        ("allreduce", 4, 1, 100.0, 1_000_000, pytest.approx(10.0), pytest.approx(15.0))
    ]
    assert "among 4 ranks moved data at a bus bandwidth of 15 GB/s" in result.findings[0].text


def test_a_window_that_begins_earlier_is_no_late_rank() -> None:
    """The second rank's recording begins 500 µs later, which the first one waits at first."""
    first = rank(0, 0.0, 900.0, 900.0, end=1000.0, steps=[(1, 0.0, 3000.0)])
    second = rank(1, 500.0, 900.0, 900.0, end=1000.0, steps=[(1, 500.0, 2500.0)])
    result = run(collectives.RULE, first, second)

    assert "COMM-1" not in {item.id for item in result.findings}
    assert stragglers(result)[0][1] == 500.0


@pytest.mark.parametrize(("slow_us", "is_fault"), [(120.0, True), (14.0, False)])
def test_transfers_slower_than_others_of_their_size_are_a_slow_link(slow_us, is_fault) -> None:
    said = {
        "name": "allreduce", "group": "0", "group_size": 2, "dtype": "Float", "in_elements": 1000
    }  # fmt: skip
    lengths = [10.0, 10.0, slow_us, 10.0, slow_us, 10.0, 10.0, 10.0]
    ranks = [
        rank_trace(
            gpu=[
                (KERNEL, 200.0 * at, length, {"collective": said | {"seq": at}})
                for at, length in enumerate(lengths)
            ],
            rank=number,
        )
        for number in range(2)
    ]
    found = {item.id: item for item in run(collectives.RULE, *ranks).findings}

    assert ("COMM-3" in found) is is_fault
    if is_fault:
        finding = found["COMM-3"]
        assert finding.cause == "slow_link"
        assert finding.measured == pytest.approx(100 * 220 / 1410, abs=1e-3)
        assert finding.text.startswith("2 of 8 transfers of equal size take 12 times")
        assert finding.where.start_s == pytest.approx(400e-6)


HOSTS = 4
PER_HOST = 2


def cluster(
    *,
    late_us: dict[int, float] | None = None,
    slow_host: int | None = None,
    n_steps: int = 6,
    skew_ns: int = 0,
    is_numbered: bool = True,
) -> RuleResult:
    """Four hosts of two ranks: all meet in each step, then the ranks of each host do.

    The clock of each host is ``skew_ns`` ahead of that of the host before.
    """
    late_us = late_us or {}
    ranks = []
    for number in range(HOSTS * PER_HOST):
        host = number // PER_HOST
        gpu: list[Any] = []
        for step in range(n_steps):
            zero, seq = 2000.0 * step, {"seq": step} if is_numbered else {}
            start = 100.0 + late_us.get(number, 0.0)
            every = {"name": "allreduce", "group": "all", "group_size": 8, **seq}
            gpu.append((KERNEL, zero + start, 400.0 - start, {"collective": every}))
            own_us = 300.0 if host == slow_host else 100.0
            sized = {"dtype": "BFloat16", "in_elements": 500, "out_elements": 500, **seq}
            own = {"name": "gather", "group": f"host {host}", "group_size": 2, **sized}
            gpu.append(("ncclGather", zero + 500.0, own_us, {"collective": own}))
        steps = [(1, 0.0, 2000.0 * n_steps)]
        trace = rank_trace(gpu=gpu, rank=number, steps=steps, origin_ns=skew_ns * host)
        path = f"node{host}_{10 + number}.17950000000{number:02d}.pt.trace.json"
        ranks.append(replace(trace, path=path))
    return run(collectives.RULE, *ranks)


def test_one_late_rank_is_not_its_host() -> None:
    (finding,) = cluster(late_us={5: 200.0}).findings

    assert finding.title.startswith("Rank 5 is late and others wait for it")
    assert "Other ranks of host node2 are not late" in finding.text


def test_ranks_of_a_host_that_are_late_together_are_a_slow_host() -> None:
    (finding,) = cluster(late_us={4: 200.0, 5: 190.0}).findings

    assert finding.id == "COMM-1"
    assert finding.title.startswith("Host node2 is late and other ranks wait for it")
    assert "All 2 ranks of host node2 are late" in finding.text


def test_slow_transfers_of_one_host_are_its_link() -> None:
    (finding,) = cluster(slow_host=3).findings

    assert finding.id == "COMM-3"
    assert finding.title.startswith("Transfers with host node3 take")
    assert "Nearly all slow ones are with host node3" in finding.text
    assert finding.advice.startswith("Check the links of host node3: adapters")


def pipeline(*, late: int | None = None, receives: str = "ncclDevKernel_SendRecv") -> RuleResult:
    """Four stages: one that receives longer waits less for the others at the end of a step.

    A late one computes for 1 ms more, in which all others wait to receive.
    """
    ranks = []
    for stage in range(4):
        gpu: list[Any] = []
        for step in range(6):
            at_us, wait_us, end_us = 12_000.0 * step, 1000.0 * (3 - stage), 9500.0
            if late is not None:
                wait_us += 1000.0 * (stage != late)
                end_us += 1000.0
            busy_us = 6000.0 if stage == late else 5000.0
            begin_us = busy_us + wait_us
            gpu.append(("gemm", at_us, busy_us))
            if wait_us:
                gpu.append((receives, at_us + busy_us, wait_us))
            said = {"name": "allreduce", "group": "all", "group_size": 4, "seq": step}
            gpu.append((KERNEL, at_us + begin_us, end_us - begin_us, {"collective": said}))
        steps = [(1 + step, 12_000.0 * step, 12_000.0) for step in range(6)]
        ranks.append(rank_trace(gpu=gpu, rank=stage, steps=steps))
    return run(collectives.RULE, *ranks)


def test_a_stage_that_waits_in_receives_is_not_late() -> None:
    assert pipeline().findings == ()
    (unknown,) = pipeline(receives="gemm").findings
    assert unknown.title.startswith("Rank 0 is late")


def test_no_stage_of_a_pipeline_is_called_late() -> None:
    assert pipeline(late=2).findings == ()


@pytest.mark.parametrize("skew_ns", [300_000, 71 * 10**9])
def test_clocks_that_differ_change_no_waiting(skew_ns: int) -> None:
    late = {"late_us": {5: 200.0}, "n_steps": 12}
    same, skewed = cluster(**late), cluster(**late, skew_ns=skew_ns)  # type: ignore[arg-type]  # as declared
    waiting, clocks = skewed.findings

    assert waiting == replace(same.findings[0], where=Where(node="rank 5"))
    assert rows(skewed, "stragglers") == rows(same, "stragglers")
    assert clocks.id == "COMM-4"
    assert [row[2] for row in rows(skewed, "clocks")] == [
        host * skew_ns / 1_000 for host in range(HOSTS)
    ]
    assert same.exhibit("clocks") is None


def test_without_numbers_no_clocks_are_moved_that_are_far_apart() -> None:
    (finding,) = cluster(n_steps=12, skew_ns=71 * 10**9, is_numbered=False).findings

    assert finding.id == "COMM-2"


def stepping(number: int, *compute_us: float, n_steps: int = 2) -> RankTrace:
    """A rank that computes in each step, then meets the others, who are done after 300 µs."""
    gpu: list[Any] = []
    calls: list[Any] = []
    for step in range(n_steps):
        zero, compute = 400.0 * step, compute_us[min(step, len(compute_us) - 1)]
        work, meet = ({"correlation": 2 * step + part} for part in range(2))
        calls += [("launch", zero + 1.0, 1.0, work), ("launch", zero + 3.0, 1.0, meet)]
        gpu.append(("gemm", zero + 10.0, compute, work))
        said = {"collective": {"name": "allreduce", "group": "0", "seq": step}}
        gpu.append((KERNEL, zero + 10.0 + compute, 390.0 - compute, meet | said))
    steps = [(step, 400.0 * step, 399.0) for step in range(n_steps)]
    return rank_trace(gpu=gpu, calls=calls, rank=number, steps=steps)


@pytest.mark.parametrize(("longer_us", "is_told"), [(100.0, True), (10.0, False)])
def test_ranks_that_are_late_by_turns_are_told_without_naming_one(longer_us, is_told) -> None:
    turns = [
        stepping(
            rank,
            *(100.0 + (longer_us if step % 3 == rank else 0.0) for step in range(9)),
            n_steps=9,
        )
        for rank in range(3)
    ]
    found = [item for item in run(collectives.RULE, *turns).findings if item.id == "COMM-1"]

    assert bool(found) is is_told
    for item in found:
        assert item.title.startswith("Ranks are late by turns")
        assert item.where.node is None


def sized(number: int, group: str, *lengths_us: float) -> RankTrace:
    """A rank of two that gather a megabyte each time."""
    said = {
        "name": "_allgather_base", "group": group, "group_size": 2, "dtype": "Float",
        "in_elements": 125_000, "out_elements": 250_000,
    }  # fmt: skip
    gpu = [
        (KERNEL, 1000.0 * at, length, {"collective": said | {"seq": at}})
        for at, length in enumerate(lengths_us)
    ]
    return rank_trace(gpu=gpu, rank=number)


def test_transfers_are_held_against_the_link() -> None:
    ranks = [sized(0, "a", 100.0), sized(1, "a", 100.0), sized(2, "b", 400.0), sized(3, "b", 400.0)]
    result = run(collectives.RULE, *ranks, params=collectives.RULE.params(link_gb_per_s=10.0))

    finding = next(item for item in result.findings if item.id == "COMM-5")
    assert finding.title == "Transfers reach 20.0 % of the link (10 GB/s)"
    assert "COMM-5" not in {item.id for item in run(collectives.RULE, *ranks).findings}


@pytest.mark.parametrize(
    ("name", "n_ranks", "factor"),
    [
        ("all_reduce", 4, 1.5),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, 1.0),
        ("_reduce_scatter_base", 4, 0.75),
        ("all_to_allv", 8, 0.875),
        ("gather", 4, 0.75),
        ("broadcast", 4, 1.0),
        ("send", 2, 1.0),
        ("allreduce", None, None),
    ],
)
def test_the_bus_factor_is_that_of_nccl_tests(name, n_ranks, factor) -> None:
    assert bus_factor(name, n_ranks) == factor


def test_too_many_collectives_are_listed_by_their_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "MOST_LISTED", 4)
    result = run(collectives.RULE, rank(0, 0.0, 0.0, 0.0), rank(1, 10.0, 30.0, 20.0))

    assert [row[1] for row in rows(result, "collectives")] == [1, 2]
    caption = getattr(result.exhibit("waits"), "caption", "")
    assert "Only the 2 of 3 with the longest waiting" in caption
