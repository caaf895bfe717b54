"""What the documents say is what the code does."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

from reportgen.cli import command
from reportgen.profile import Quality
from reportgen.results import ExhibitKind, ReasonCode

ROOT = Path(__file__).resolve().parents[1]


def docs_builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_tables_are_fresh() -> None:
    for path, text in docs_builder().fresh_documents().items():
        assert path.read_text(encoding="utf-8") == text, f"run: python docs/build.py ({path.name})"


def test_the_readme_names_every_option_of_the_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for param in command.params:
        longest = max(param.opts, key=len)
        if longest.startswith("--"):
            assert f"`{longest}" in readme, longest


def test_the_json_document_names_every_kind_reason_and_counter() -> None:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    for name in [*ExhibitKind, *ReasonCode, *Quality]:
        assert f"`{name.value}`" in text, name


def test_install_hints_name_our_distribution() -> None:
    for path in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("reportgen/**/*.py")]:
        for hint in re.findall(r"pip install[^\n`\"]*", path.read_text(encoding="utf-8")):
            assert re.search(r"make-profiler-report|install (-e )?'?\.(?!\w)", hint), (path, hint)


def test_the_map_of_the_house_has_the_floors_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (floors,) = [
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = text.partition("```\ncli")[2].partition("```")[0]
    shown = ["cli", *(re.split(r" {2,}", line)[0] for line in drawn.splitlines()[1:])]
    assert shown == floors


def test_every_link_and_picture_of_the_documents_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    linked = [
        (page, target)
        for page in pages
        for target in re.findall(
            r'\]\(([^)#\s]+)[^)]*\)|src="([^"]+)"', page.read_text(encoding="utf-8")
        )
    ]
    local = [(page, "".join(both)) for page, both in linked if "://" not in "".join(both)]
    assert len(local) > 10
    for page, target in local:
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_what_the_readme_runs_on_sample_data_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\bsample_data/[\w/.-]+", readme)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
