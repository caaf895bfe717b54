from __future__ import annotations

from typing import Any

import pytest

from benchmarks.exam.traces.faults import Fault, Kind
from benchmarks.exam.traces.kineto_file import at_unix_s
from benchmarks.exam.traces.scoring import Row, score
from benchmarks.exam.traces.simulate import Truth
from benchmarks.exam.traces.tables import misses, summary
from reportgen.report import RankedFinding
from reportgen.results import Estimate, Finding, RuleId, Severity, Where

NODES = ["rank 0", "rank 1"]


def said(finding_id: str, share: float | None = None, **more) -> RankedFinding:
    causes = {"IDLE-1": "slow_input", "IDLE-2": "synchronization", "IDLE-9": "first_use"}
    values: dict[str, Any] = {
        "severity": Severity.WARNING,
        "title": "",
        "text": "",
        "advice": "Mend it.",
    }
    values |= {"cause": causes.get(finding_id, "slow_rank")} | more
    estimate = None if share is None else Estimate(share_ratio=share, speedup_at_most=1.0)
    finding = Finding(id=finding_id, estimate=estimate, **values)
    return RankedFinding(rule=RuleId("Rule"), finding=finding)


def scored(kind: Kind, *findings: RankedFinding, place: int = 0, **fault) -> dict[str, object]:
    row = Row(seed=0, trace="0-0", family="eager", detail="", kind=kind.value, share=0.1)
    reach_us = fault.pop("reach_us", None)
    truth = Truth(fault=Fault(kind=kind, size=1.0, **fault), share=0.1, reach_us=reach_us)
    return score(row, truth, findings, place=place, nodes=NODES)


def test_a_warning_with_the_right_cause_names_a_fault() -> None:
    found = scored(Kind.SYNCHRONIZATION, said("IDLE-2", 0.12))
    assert found["is_named"]
    assert found["is_first"]
    assert found["is_advised"]
    assert found["bound_off"] == pytest.approx(0.02)


def test_a_reading_names_nothing() -> None:
    assert scored(Kind.SYNCHRONIZATION, said("IDLE-2", severity=Severity.INFO)) == {
        "is_named": False
    }


def test_another_cause_before_it_is_not_first_unless_a_larger_fault_is_planted() -> None:
    findings = (said("IDLE-1"), said("IDLE-2"))
    assert not scored(Kind.SYNCHRONIZATION, *findings)["is_first"]
    assert scored(Kind.SYNCHRONIZATION, *findings, place=1)["is_first"]


def test_the_place_is_the_rank() -> None:
    late, right = (
        said("COMM-1", where=Where(node="rank 0")),
        said("ACT-2", where=Where(node="rank 1")),
    )
    assert scored(Kind.SLOW_RANK, late, rank=1)["place"] is False
    assert scored(Kind.SLOW_RANK, late, right, rank=1)["place"] is True
    assert scored(Kind.SYNCHRONIZATION, said("IDLE-2"))["place"] is None


@pytest.mark.parametrize(
    ("start_us", "end_us", "fits"),
    [(0, 1e6, True), (2e5, 9e5, True), (9e5, 3e6, False), (-1e7, 1e7, False)],
)
def test_the_time_is_that_of_the_fault(start_us: float, end_us: float, fits: bool) -> None:
    where = Where(start_s=at_unix_s(start_us), end_s=at_unix_s(end_us))
    found = scored(Kind.FIRST_USE, said("IDLE-9", where=where), reach_us=(0.0, 1e6))
    assert found["time"] is fits


def test_advice_that_points_elsewhere_is_none() -> None:
    finding = said("IDLE-2", advice="Do first what COMM-1 advises, then see what is left of this.")
    assert scored(Kind.SYNCHRONIZATION, finding)["is_advised"] is False


def test_misses_say_what_was_expected_and_found() -> None:
    missed = Row(seed=0, trace="0-1", family="eager", detail="", kind="loader", share=0.2)
    alarmed = Row(seed=0, trace="0-2", family="eager", detail="", found=("IDLE-1 …",))
    quiet = Row(seed=0, trace="0-3", family="eager", detail="")
    text = "\n".join(misses([missed, alarmed, quiet]))
    assert "expected loader 20.0 %" in text
    assert "found nothing" in text
    assert "false alarm" in text
    assert "0-3" not in text
    table = summary([missed, alarmed, quiet])
    assert "| loader | 1 | 0 % |" in table
    assert "2 healthy traces, 1 with a warning or worse." in table
