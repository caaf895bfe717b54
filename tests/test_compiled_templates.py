"""Compiled templates lie beside their texts, and never outlive them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reportgen.compiled_templates import environment_of, kept_beside


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "a.html").write_text("<p>{{ it }}</p>")
    return tmp_path


def _rendered(folder: Path, **options: object) -> str:
    return environment_of(folder, **options).get_template("a.html").render(it="<")


def _compiled(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*.jinja"))


def test_the_code_of_a_template_is_kept_and_used(folder: Path) -> None:
    assert _rendered(folder) == _rendered(folder) == "<p><</p>"
    assert len(_compiled(folder)) == 1


def test_a_changed_text_is_compiled_anew(folder: Path) -> None:
    _rendered(folder)
    (folder / "a.html").write_text("<b>{{ it }}</b>")
    assert _rendered(folder) == "<b><</b>"


def test_other_options_have_other_code(folder: Path) -> None:
    _rendered(folder)
    assert _rendered(folder, autoescape=True) == "<p>&lt;</p>"


def test_damaged_code_is_made_anew(folder: Path) -> None:
    _rendered(folder)
    (path,) = _compiled(folder)
    path.write_bytes(path.read_bytes()[:-20])
    assert _rendered(folder) == "<p><</p>"


def test_nothing_is_written_where_python_writes_no_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert _rendered(folder) == "<p><</p>"
    assert not _compiled(folder)


def test_a_folder_that_cannot_be_written_is_no_hindrance(folder: Path) -> None:
    (folder / "__pycache__").write_text("in the way")
    assert _rendered(folder) == "<p><</p>"


def test_a_text_is_made_once_for_what_it_is_made_of(folder: Path) -> None:
    made: list[str] = []

    def make() -> str:
        made.append("é")
        return "é"

    kept = [kept_beside(folder, "library", about, make) for about in ("1", "1", "2")]
    assert kept == ["é"] * 3
    assert len(made) == 2
