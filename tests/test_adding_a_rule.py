"""The page on adding a rule, followed to the letter in a copy of the project."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.following import ROOT, append_line, changed_files, copy_project, follow, named_files, run

PAGE = ROOT / "docs" / "adding-a-rule.md"
MOST_FILES = 5
SECTION_ID, CURVE_ID = "host-memory", "HostMemory--host_memory_curve"

pytestmark = [pytest.mark.documents, pytest.mark.notebook]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in which everything was done that the page says."""
    copy = copy_project(tmp_path_factory.mktemp("project"))
    follow(PAGE, copy, changed="reportgen/rules/registry.py")
    run([sys.executable, "docs/build.py"], copy)
    append_line(copy / "CHANGELOG.md", "- `HostMemory`.")
    return copy


def test_so_many_files_change_as_the_page_says(project: Path) -> None:
    assert changed_files(project) == named_files(PAGE)
    assert len(named_files(PAGE)) <= MOST_FILES


def test_the_code_of_the_page_passes_lint_types_and_the_laws(project: Path) -> None:
    code = ["reportgen/rules/host_memory.py", "tests/rules/test_host_memory.py"]
    for command in (
        ["ruff", "check", *code],
        ["ruff", "format", "--check", *code],
        ["mypy", "--follow-imports=silent", *code],
        ["pytest", "-q", "tests/rules/test_host_memory.py"],
        ["pytest", "-q", "tests/rules", "-k", "HostMemory"],
        ["pytest", "-q", "tests/test_docs.py", "-k", "fresh"],
    ):
        run([sys.executable, "-m", *command], project)


def test_the_rule_stands_on_the_page_with_section_table_and_chart(project: Path) -> None:
    run([sys.executable, "-m", "sample_data.make", "input_bound"], project)
    job = "sample_data/jobs/input_bound"
    setting = ["--set", "HostMemory.threshold_pct=1", "--output", "report"]
    run([sys.executable, "-m", "reportgen", job, *setting], project)

    result = json.loads((project / "report/profiler-report/HostMemory.json").read_bytes())
    assert result["reportgen"]["status"] == "triggered"
    page = (project / "report" / "profiler-report.html").read_text(encoding="utf-8")
    section = page.partition(f'id="{SECTION_ID}"')[2].partition("</section>")[0]
    assert "HOST-1" in page
    assert "Memory in use by node" in section
    assert f'id="{CURVE_ID}"' in section
