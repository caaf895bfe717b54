"""The page on adding a rule, followed to the letter in a copy of the project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "adding-a-rule.md"
MOST_FILES = 5
SECTION_ID, CURVE_ID = "host-memory", "HostMemory--host_memory_curve"

pytestmark = [pytest.mark.slow, pytest.mark.notebook]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in which everything was done that the page says."""
    copy = tmp_path_factory.mktemp("project")
    listed = _run(["git", "ls-files", "-z"], ROOT).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    _run(["git", "init", "-q"], copy)
    _run(["git", "add", "-A"], copy)
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    _run(["git", *who, "commit", "-q", "-m", "as it was"], copy)
    text = PAGE.read_text(encoding="utf-8")
    for name, code in re.findall(
        r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    ):
        (copy / name).write_text(code, encoding="utf-8")
    (hunk,) = re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    _apply(hunk, copy / "reportgen" / "rules" / "registry.py")
    _run([sys.executable, "docs/build.py"], copy)
    changes = copy / "CHANGELOG.md"
    changes.write_text(changes.read_text(encoding="utf-8") + "\n- `HostMemory`.\n", "utf-8")
    return copy


def test_so_many_files_change_as_the_page_says(project: Path) -> None:
    changed = _run(["git", "status", "--porcelain", "-uall"], project).stdout.split("\n")
    names = {line[3:] for line in changed if line and "__pycache__" not in line}

    table = re.findall(r"^\| `([\w./-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert names == set(table)
    assert len(names) <= MOST_FILES


def test_the_code_of_the_page_passes_lint_types_and_the_laws(project: Path) -> None:
    code = ["reportgen/rules/host_memory.py", "tests/rules/test_host_memory.py"]
    for command in (
        ["ruff", "check", *code],
        ["ruff", "format", "--check", *code],
        ["mypy", "--follow-imports=silent", *code],
        ["pytest", "-q", "tests/rules/test_host_memory.py"],
        ["pytest", "-q", "tests/rules/test_family.py", "-k", "HostMemory"],
        ["pytest", "-q", "tests/test_docs.py", "-k", "fresh"],
    ):
        _run([sys.executable, "-m", *command], project)


def test_the_rule_stands_on_the_page_with_section_table_and_chart(project: Path) -> None:
    _run([sys.executable, "-m", "sample_data.make", "input_bound"], project)
    job = "sample_data/jobs/input_bound"
    setting = ["--set", "HostMemory.threshold_pct=1", "--output", "report"]
    _run([sys.executable, "-m", "reportgen", job, *setting], project)

    result = json.loads((project / "report/profiler-report/HostMemory.json").read_bytes())
    assert result["reportgen"]["status"] == "triggered"
    page = (project / "report" / "profiler-report.html").read_text(encoding="utf-8")
    section = page.partition(f'id="{SECTION_ID}"')[2].partition("</section>")[0]
    assert "HOST-1" in page
    assert "Memory in use by node" in section
    assert f'id="{CURVE_ID}"' in section


def _apply(hunk: str, path: Path) -> None:
    """Insert the added lines of a hunk where its unchanged lines stand."""
    lines = hunk.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines)
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"the page's change of {path.name} fits no longer"
    path.write_text(text.replace(before, after), encoding="utf-8")


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done
