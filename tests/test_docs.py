"""What the documents say is what the code does."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import click
import pytest

from reportgen.cli.family import family
from reportgen.profile import Quality
from reportgen.results import ExhibitKind, ReasonCode
from tests.builders import known

ROOT = Path(__file__).resolve().parents[1]


def module_at(path: str) -> ModuleType:
    spec = known(importlib.util.spec_from_file_location(Path(path).stem, ROOT / path))
    module = importlib.util.module_from_spec(spec)
    known(spec.loader).exec_module(module)
    return module


def test_generated_tables_are_fresh() -> None:
    for path, text in module_at("docs/build.py").fresh_documents().items():
        assert path.read_text(encoding="utf-8") == text, f"run: python docs/build.py ({path.name})"


def test_the_reference_of_the_commands_is_fresh() -> None:
    text = module_at("docs/cli_build.py").cli_text()
    page = ROOT / "docs" / "command-line.md"
    assert page.read_text(encoding="utf-8") == text, "run: python docs/cli_build.py"


def test_the_readme_is_short_and_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 150
    for name in family.list_commands(click.Context(family)):
        assert name == "report" or f"reportgen {name}" in readme, name


def test_every_package_that_is_installed_with_ours_is_listed_with_a_licence() -> None:
    sbom = module_at(".ci/sbom.py")
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = sbom.licence_table().splitlines()
    assert len(rows) > 40
    for row in rows:
        assert row in page, f"run: python .ci/sbom.py --licences ({row})"
        assert not re.search(r"unknown|\bA?GPL", row), row


def test_the_sbom_names_what_is_installed_and_what_the_page_embeds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    sbom = module_at(".ci/sbom.py")
    found = sbom.sbom()
    names = {item["name"] for item in found["components"]}
    assert {"numpy", "duckdb", "plotly", "plotly.js"} <= names
    refs = {item["bom-ref"] for item in found["components"]}
    refs.add(found["metadata"]["component"]["bom-ref"])
    for link in found["dependencies"]:
        assert {link["ref"], *link["dependsOn"]} <= refs
    assert found["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert found == sbom.sbom()


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
    assert ["cli", *(re.split(r" {2,}", line)[0] for line in drawn.splitlines()[1:])] == floors


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


def test_every_document_has_a_place_in_the_site() -> None:
    site = (ROOT / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    placed = re.findall(r"^ +- [^:]+: (\S+\.md)$", site, re.MULTILINE)
    roots = {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
    assert sorted(placed) == sorted(roots | {path.name for path in ROOT.glob("docs/*.md")})
