"""How the report on a recorded script is marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.exam.analyse import Told
from benchmarks.exam.real import __main__ as real
from benchmarks.exam.real.cases import CASES, Case
from reportgen.results.causes import Cause

SLOW = Case(script="ddp.py", fault="rank", right=(Cause.SLOW_WORKER,), rank=1)


def finding(cause: str, device: str | None = "node-1-1", possible: tuple[str, ...] = ()) -> Told:
    return Told(
        rule="AnyRule",
        id="ANY-1",
        cause=cause,
        severity="warning",
        title="Something is slow",
        advice="",
        share_ratio=None,
        node="node-1",
        device=device,
        start_s=None,
        end_s=None,
        possible_causes=possible,
    )


@pytest.mark.parametrize(
    ("case", "loud", "verdict"),
    [
        (SLOW, (finding("slow_worker"),), "right"),
        (SLOW, (finding("slow_worker", "node-1-0"),), "wrong place"),
        (SLOW, (finding("long_start"), finding("slow_worker")), "wrong first"),
        (SLOW, (finding("gpu_swings", None, ("slow_worker",)),), "right"),
        (SLOW, (), "no warning"),
        (Case(script="ddp.py"), (), "right"),
        (Case(script="ddp.py"), (finding("slow_worker"),), "false warning"),
    ],
)
def test_the_first_warning_decides(case, loud, verdict):
    outcome = real.Outcome(case=case, kind="long", step_s=0.2, share_ratio=0.4, loud=loud)
    assert outcome.verdict == verdict
    assert f"| {verdict} |" in real.table_of([outcome])


def test_each_faulty_script_has_a_healthy_twin_and_all_scripts_exist():
    assert {case.twin for case in CASES} == {case.twin for case in CASES if not case.fault}
    folder = Path(real.__file__).parent / "scripts"
    assert all((folder / case.script).is_file() for case in CASES)
    assert len(CASES) >= 24
    assert sum(case.is_short for case in CASES) == sum(case.is_crowded for case in CASES) == 8
