"""How the lost time is shared out among the causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.diagnosis import diagnose
from reportgen.results import Cause, ExhibitKind, RuleResult, Severity, column, exhibit
from tests.report.test_ranking import finding, result

CAUSES = (Cause.IO_WAIT, Cause.LONG_START, Cause.SLOW_WORKER, Cause.WORK_BETWEEN_STEPS)
shares = st.floats(0, 1)


def budget(unused: float | None, **part_s: float) -> RuleResult:
    """Return a GPU time budget of so many seconds by part."""
    bar = exhibit(
        "budget",
        ExhibitKind.SHARES,
        title="t",
        columns=[column("part", "", part_s), column("gpu_s", "s", part_s.values())],
    )
    metrics = {} if unused is None else {"unused_in_loop_pct": 100 * unused}
    return replace(result("GPUTimeBudget"), exhibits=(bar,), metrics=metrics)


def shared(unused: float | None, found: Mapping[Cause, float], **part_s: float) -> dict[str, float]:
    """Return the seconds by part that the page shows for causes of these shares."""
    faults = (
        finding(f"F-{at}", Severity.WARNING, share, cause=cause)
        for at, (cause, share) in enumerate(found.items())
    )
    first, *_ = diagnose([budget(unused, **part_s), result("Rule", *faults)])
    if len(first.exhibits) == 1:
        return {}
    _, shown = first.exhibits
    assert shown.caption.startswith("Shares of the lost GPU time, ")
    columns: list[Any] = [item.values for item in shown.columns]
    names, amounts, pcts = columns
    assert sum(pcts) == pytest.approx(100)
    return dict(zip(names, amounts, strict=True))


def test_what_no_cause_accounts_for_is_named_so() -> None:
    found = shared(0.5, {Cause.IO_WAIT: 0.3}, busy_high=50, unexplained=50)

    assert found == pytest.approx({"io wait (F-0)": 30, "no cause found": 20})


def test_causes_for_which_gpus_wait_take_no_more_than_gpus_were_without_work() -> None:
    found = shared(0.4, {Cause.IO_WAIT: 0.3, Cause.LONG_PAUSE: 0.2}, busy_partial=100)

    assert found == pytest.approx({"io wait (F-0)": 30, "long pause (F-1)": 10})


def test_time_lost_while_gpus_look_busy_counts_as_lost() -> None:
    assert shared(0.01, {Cause.SLOW_WORKER: 0.3}, busy_high=100) == pytest.approx(
        {"slow worker (F-0)": 30}
    )


def test_a_long_start_is_a_share_of_the_job_and_the_rest_of_start_and_end_is_no_fault() -> None:
    found = shared(
        0.2, {Cause.LONG_START: 0.4, Cause.IO_WAIT: 0.1}, initialization=40, busy_high=50,
        finalization=10,
    )  # fmt: skip

    assert found == pytest.approx(
        {"long start (F-0)": 40, "io wait (F-1)": 3, "start and end": 10, "no cause found": 7}
    )


def test_without_a_cause_or_a_budget_nothing_is_shared_out() -> None:
    assert shared(0.5, {}, busy_high=50, unexplained=50) == {}
    (alone,) = diagnose([result("R", finding("IO-1", Severity.WARNING, 0.3, cause=Cause.IO_WAIT))])
    assert alone.findings[0].attributed_ratio == 0.3
    assert alone.exhibits == ()


@given(unused=shares, bounds=st.lists(shares, min_size=4, max_size=4), start=st.floats(0, 50))
def test_parts_never_overlap(unused: float, bounds: list[float], start: float) -> None:
    found = dict(zip(CAUSES, bounds, strict=True))
    parts = shared(unused, found, initialization=start, busy_high=50, unexplained=50)

    assert all(seconds > 0 for seconds in parts.values())
    waits = [s for name, s in parts.items() if "io wait" in name or "between" in name]
    assert sum(waits) <= 100 * unused + 1e-3
    assert sum(parts.values()) <= 100 + start + 1e-3
