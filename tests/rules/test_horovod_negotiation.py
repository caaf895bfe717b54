"""Which rank the others wait for: by negotiations made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reportgen.profile import NodeProfile, SpanSource
from reportgen.results import ReasonCode, Severity, Status
from reportgen.rules.horovod_negotiation import RULE
from sample_data.horovod import Ready, late_rank
from tests.builders import START_S, Row, known, node_profile, span_table
from tests.rules.framework_jobs import rows_of
from tests.rules.samples import only, run

US = 1e-6


def job(negotiations: Sequence[Ready], *more: Row, node: str = "algo-1") -> NodeProfile:
    """Return a node with these negotiations and more events of its timeline."""
    rows = [*more]
    for tensor, ready in negotiations:
        times = [START_S + at_us * US for at_us in ready.values()]
        rows.append((tensor, "NEGOTIATE_ALLREDUCE", min(times), max(times) + 2 * US))
        rows += [
            (tensor, str(rank), START_S + at_us * US, START_S + at_us * US)
            for rank, at_us in ready.items()
        ]
    return node_profile(spans=span_table(rows, source=SpanSource.HOROVOD), node=node)


def test_a_rank_that_is_always_last_is_named_with_what_it_cost() -> None:
    result = run(RULE, job(late_rank(100)))

    finding = only(result)
    assert finding.title == "The other ranks wait for rank 2"
    assert finding.where.device == "rank 2"
    assert (finding.measured, finding.threshold) == (100.0, 50.0)
    rank = rows_of(result, "ranks")[2]
    assert (rank["negotiations"], rank["last"], rank["fair_pct"]) == (100, 100, 25.0)
    # ranks 0, 1 and 3 are ready after 0, 10 and 30 µs, rank 2 after 4,000
    assert rank["others_waited_s"] == pytest.approx(100 * (4000 + 3990 + 3970) * US)
    assert rank["held_up_s"] == pytest.approx(100 * 3970 * US)
    assert rank["own_wait_s"] == 0
    assert rows_of(result, "ranks")[0]["own_wait_s"] == pytest.approx(100 * 4000 * US)
    recorded_s = 99 * 0.01 + 4002 * US
    assert result.metrics["held_up_ratio"] == pytest.approx(100 * 3970 * US / recorded_s, abs=1e-6)
    assert finding.severity is Severity.WARNING
    assert known(finding.estimate).share_ratio == pytest.approx(0.3994, abs=1e-4)


def test_ranks_that_take_turns_are_nobodys_fault() -> None:
    turns = [ready for n in range(25) for ready in late_rank(4 * n + 1, late=n % 4)[-1:]]
    result = run(RULE, job(turns))
    assert result.status is Status.OK
    assert result.findings == ()
    assert sum(row["last"] for row in rows_of(result, "ranks")) == 25


@pytest.mark.parametrize(("n_last", "is_told"), [(50, False), (51, True)])
def test_twice_the_fair_share_is_allowed(n_last: int, *, is_told: bool) -> None:
    negotiations = late_rank(100)
    for number in range(n_last, 100):
        others = [0, 1, 3]
        negotiations[number] = late_rank(number + 1, late=others[number % 3])[-1]
    assert bool(run(RULE, job(negotiations)).findings) == is_told


@pytest.mark.parametrize(("n_negotiations", "status"), [(19, "skipped"), (20, "triggered")])
def test_few_negotiations_are_not_judged(n_negotiations: int, status: str) -> None:
    result = run(RULE, job(late_rank(n_negotiations)))
    assert result.status == status
    if status == "skipped":
        assert known(result.reason).code is ReasonCode.TOO_FEW_SAMPLES


@pytest.mark.parametrize(("late_us", "is_told"), [(330, False), (600, True)])
def test_waits_that_cost_little_are_not_told(late_us: int, *, is_told: bool) -> None:
    assert bool(run(RULE, job(late_rank(100, late_us=late_us))).findings) is is_told


def test_ties_count_for_nobody() -> None:
    tied = [("t", {0: n * 1000, 1: n * 1000 + 50, 2: n * 1000 + 50}) for n in range(30)]
    result = run(RULE, job(tied))
    assert (result.metrics["negotiations"], result.metrics["ranks"]) == (30, 0)
    assert result.findings == ()


def test_marks_outside_a_negotiation_and_repeated_marks_do_not_count() -> None:
    marks = [("grad_0", "1", 5e-3), ("grad_0", "0", 1e-3), ("elsewhere", "9", 0.0)]
    more = [(tensor, rank, START_S + at_s, START_S + at_s) for tensor, rank, at_s in marks]
    result = run(RULE, job(late_rank(20), *more))
    assert [row["rank"] for row in rows_of(result, "ranks")] == [0, 1, 2, 3]
    assert rows_of(result, "ranks")[0]["own_wait_s"] == pytest.approx(20 * 4000 * US)


def test_a_job_without_timelines_of_horovod_is_skipped() -> None:
    steps = span_table([("Step:ModeKeys.TRAIN", "7", START_S, START_S + 1)])
    assert known(run(RULE, node_profile(spans=steps)).reason).code is ReasonCode.NO_EVENTS


def test_a_timeline_of_marks_alone_is_not_called_missing() -> None:
    rows = [("grad", "4", START_S, START_S), ("grad", "5", START_S + 1, START_S + 1)]
    result = run(RULE, job([], *rows))
    assert known(result.reason).text == (
        "The Horovod timeline has 2 events, but no negotiation in which two ranks or more were "
        "ready."
    )


def test_several_timelines_are_added_up() -> None:
    one = run(RULE, job(late_rank(100)))
    both = run(RULE, job(late_rank(100)), job(late_rank(100), node="algo-2"))
    assert rows_of(both, "ranks")[2]["last"] == 2 * rows_of(one, "ranks")[2]["last"]
    assert both.metrics["held_up_ratio"] == one.metrics["held_up_ratio"]
