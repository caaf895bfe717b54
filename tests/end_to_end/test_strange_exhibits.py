"""A plugin's exhibits that cannot be drawn cost the page nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reportgen.results import ExhibitKind
from reportgen.views.exhibits import anchor_of
from tests.end_to_end.command import run_command
from tests.strange_exhibits import STRANGE, rule_id_of

pytestmark = pytest.mark.notebook


def test_strange_exhibits_of_every_kind_leave_all_other_sections(input_bound_job: Path, tmp_path):
    plain = _page(input_bound_job, tmp_path / "plain")
    page = _page(input_bound_job, tmp_path / "strange", "--plugin", "tests.strange_exhibits")

    assert _sections(plain) <= _sections(page)
    assert "This cell failed" not in page
    assert "rg-stderr" not in page.partition("</style>")[2]
    for kind in ExhibitKind:
        result = (tmp_path / "strange" / "profiler-report" / f"{rule_id_of(kind)}.json").read_text()
        assert json.loads(result)["reportgen"]["status"] == "ok"
        for values in STRANGE:
            assert anchor_of(rule_id_of(kind), f"{kind}-{values}") in page


def _page(job: Path, output: Path, *args: str) -> str:
    run = run_command(job, "-o", output, *args, cwd=output.parent)
    assert run.code == 0, run.stderr
    return (output / "profiler-report.html").read_text(encoding="utf-8")


def _sections(page: str) -> set[str]:
    return set(re.findall(r'<section class="rg-section" id="([^"]+)"', page))
