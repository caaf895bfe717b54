"""The page on adding a format, followed to the letter in a copy of the project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.following import ROOT, append_line, changed_files, copy_project, follow, named_files, run

PAGE = ROOT / "docs" / "adding-a-format.md"
MOST_FILES = 5

pytestmark = pytest.mark.documents


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in which everything was done that the page says."""
    copy = copy_project(tmp_path_factory.mktemp("project"))
    follow(PAGE, copy, changed="reportgen/formats/registry.py")
    append_line(copy / "docs" / "formats.md", "## Step logs\n\nOne line for each step.")
    append_line(copy / "CHANGELOG.md", "- Step logs are read.")
    return copy


def test_so_many_files_change_as_the_page_says(project: Path) -> None:
    assert changed_files(project) == named_files(PAGE)
    assert len(named_files(PAGE)) <= MOST_FILES


def test_the_code_of_the_page_passes_lint_types_and_its_tests(project: Path) -> None:
    code = ["reportgen/formats/step_logs.py", "tests/formats/test_step_logs.py"]
    for command in (
        ["ruff", "check", *code, "reportgen/formats/registry.py"],
        ["ruff", "format", "--check", *code],
        ["mypy", "--follow-imports=silent", *code],
        ["pytest", "-q", "tests/formats/test_step_logs.py", "tests/formats/test_registry.py"],
    ):
        run([sys.executable, "-m", *command], project)
