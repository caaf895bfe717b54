"""What a release is made from: version, changelog, recipe, workflows."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import reportgen
from tests.test_docs import ROOT, module_at

release = module_at(".ci/release.py")
CHANGES = (
    "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.9.0 (2026-01-01)\n\n- Old.\n"
)
CONDA_NAMES = {"duckdb": "python-duckdb", "nbconvert": "nbconvert-core"}


def project() -> dict[str, object]:
    tree = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, object] = tree["project"]
    return found


def test_a_release_cuts_what_is_unreleased_and_leaves_an_empty_section() -> None:
    text = release.with_release(CHANGES, "1.0.0", "2026-11-22")
    assert text.startswith("# Changelog\n\n## Unreleased\n\n## 1.0.0 (2026-11-22)\n\n### Added\n")
    assert release.section_of(text, "1.0.0") == "### Added\n\n- A thing.\n"
    assert release.section_of(text, "0.9.0") == "- Old.\n"


@pytest.mark.parametrize(
    ("changes", "version"),
    [(CHANGES, "0.9.0"), (CHANGES.replace("### Added\n\n- A thing.\n\n", ""), "1.0.0")],
    ids=["released already", "nothing new"],
)
def test_a_release_without_news_or_made_before_is_refused(changes: str, version: str) -> None:
    with pytest.raises(SystemExit):
        release.with_release(changes, version, "2026-11-22")


def test_a_tag_of_another_version_is_refused() -> None:
    with pytest.raises(SystemExit):
        release.check("99.0.0")


def test_the_version_stands_in_one_place() -> None:
    assert project()["dynamic"] == ["version"]
    assert "version" not in project()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == reportgen.__version__


def test_the_recipe_gets_version_and_hash_and_needs_what_the_package_needs(tmp_path: Path) -> None:
    sdist = tmp_path / "x.tar.gz"
    sdist.write_bytes(b"sdist")
    recipe = release.recipe("1.2.3", sdist)
    assert '{% set version = "1.2.3" %}' in recipe
    assert f"sha256: {hashlib.sha256(b'sdist').hexdigest()}\n" in recipe
    needed = project()["dependencies"]
    assert isinstance(needed, list)
    run = recipe.partition("  run:\n")[2].partition("\ntest:")[0]
    for line in needed:
        name, sign, limit = line.partition(">=")
        assert sign
        assert f"    - {CONDA_NAMES.get(name, name)} >={limit}\n" in run, name


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/workflows/*.yml")), ids=lambda p: p.name)
def test_workflows_ask_for_no_more_than_they_need_and_run_what_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake (\w[\w-]*)", text):
        assert f"\n{target}:" in makefile, target
    for script in re.findall(r"(?<![\w/])\.ci/[\w.]+", text):
        assert (ROOT / script).is_file(), script
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90


def test_the_release_is_published_without_a_stored_token() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "try"
    assert "secrets." not in str(workflow)
