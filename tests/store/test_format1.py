"""Reports that were saved in format 1: ``format1.zip`` holds two, of the sample jobs
``input_bound`` and ``kernel_traces``, as the last version wrote them that had that format."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from reportgen.report import Report
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.store import load, save
from tests.views.pages import notebook_of

SAVED = Path(__file__).with_name("format1.zip")


@pytest.fixture(params=["input_bound", "kernel_traces"])
def old_report(request: pytest.FixtureRequest, tmp_path: Path) -> Report:
    with ZipFile(SAVED) as saved:
        saved.extractall(tmp_path)
    return load(tmp_path / request.param)


def test_its_rules_stand_where_they_declare_today(old_report: Report) -> None:
    rules = {name: rule for rule in BUILTIN_RULES for name in (rule.id, *rule.former_ids)}

    assert old_report.results
    for rule_id, result in old_report.results.items():
        assert result.about is not None
        assert result.about.section == rules[rule_id].about.section
        assert result.about.title == rules[rule_id].title
        assert all(item.id != "about" for item in result.exhibits)


def test_it_is_drawn_with_all_its_evidence(old_report: Report) -> None:
    outputs = [
        output for cell in notebook_of(old_report).cells for output in cell.get("outputs", [])
    ]
    html = "".join(output["data"].get("text/html", "") for output in outputs)

    assert 'id="timeline-axis"' in html or "GPUActivity--utilization" in html
    for result in old_report.results.values():
        for exhibit in result.exhibits:
            if exhibit.n_rows and not exhibit.id.endswith("_compute"):
                assert f"{result.id}--{exhibit.id}" in html or exhibit.id == "step_numbers"


def test_saved_again_it_is_of_the_format_of_today(old_report: Report, tmp_path: Path) -> None:
    save(old_report, tmp_path / "again")

    assert load(tmp_path / "again") == old_report
