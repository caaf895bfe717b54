"""Two processes that run the same are told from two that do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reportgen.engine.software import differences, software
from reportgen.rules.registry import all_rules, foreign_modules


def test_our_version_and_the_packages_that_compute_are_named() -> None:
    assert list(software()) == ["Python", "make-profiler-report", "duckdb", "msgspec", "numpy"]
    assert not differences(software(), software())


def test_the_source_of_a_module_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    path = tmp_path / "module_of_mine.py"
    seen = []
    for text in ("A = 1\n", "A = 2\n"):
        path.write_text(text)
        software.cache_clear()
        seen.append(software(("module_of_mine",))["module_of_mine"])
    software.cache_clear()
    assert seen[0] != seen[1]
    assert software(("no.such.module",))["no.such.module"] == "source not installed"


def test_a_source_that_may_not_be_read_is_said_to_be_so(tmp_path: Path, monkeypatch) -> None:
    """A process without rights runs modules that were loaded before it gave them away."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "closed_module.py").write_text("A = 1\n")

    def refused(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    assert software(("closed_module",))["closed_module"] == "source unreadable"
    software.cache_clear()


def test_the_rules_of_this_package_are_not_foreign() -> None:
    assert foreign_modules(all_rules()) == ((), ())


def test_what_differs_is_said_with_both_versions() -> None:
    theirs = {"make-profiler-report": "not installed"}
    assert differences({"make-profiler-report": "1", "Python": "3.11"}, theirs) == [
        "make-profiler-report is not installed there and 1 here",
        "Python is not installed there and 3.11 here",
    ]
