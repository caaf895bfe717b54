"""What docstrings and documents cite is there: a heading of a document, never a paper of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("reportgen", "tests", "templates", "docs", "report_notebook", "benchmarks", "sample_data")
SUFFIXES = {".py", ".md", ".js", ".css", ".html", ".j2", ".ipynb", ".toml"}

ABSENT = re.compile(
    r"rules-spec|report-spec|kernel-traces\.md|\boracle\.md|DESIGN\b|§"
    r"|\b[Ff]eatures 0\d\d|\b[Ss]eeds? 0\d\d|\bSource: issue \d"
    r"|\bkernel-trace definitions|\bdefinitions?,? (?:D\d|\d\.\d|section \d)|\bSource: D\d"
)
"""Papers that the project was built from. They are no part of it."""

NO_REASON = re.compile(r"\b[Ss]ource: ours\b|[.;] Ours\.\"|(?<!=)= ?\"ours\b")
"""A source that tells a reader nothing."""

REFERENCE = re.compile(r"docs/([\w-]+\.md), (?=[A-Z`])")
LINK = re.compile(r"\]\(([\w./-]+\.md)?#([\w-]+)\)")


def texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every file that people write, this one left out."""
    paths = [
        path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in SUFFIXES and "/." not in path.relative_to(ROOT).as_posix()
    ]
    for path in [*paths, *sorted(ROOT.glob("*.md"))]:
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and path != Path(__file__).resolve() and "/jobs/" not in name:
            yield name, on_one_line(path.read_text(encoding="utf-8"))


def on_one_line(text: str) -> str:
    """Join broken lines, so that a citation that spans two of them is found."""
    return re.sub(r"\s*\n\s*(?:# )?", " ", text)


def headings(document: str) -> list[str]:
    text = re.sub(r"```.*?```", "", (ROOT / "docs" / document).read_text("utf-8"), flags=re.DOTALL)
    return re.findall(r"^#{1,6} (.+)$", text, flags=re.MULTILINE)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def names_a_heading(text: str, found: list[str]) -> bool:
    return any(re.match(rf"{re.escape(heading)}(?!\w)", text) for heading in found)


@pytest.mark.parametrize("pattern", [ABSENT, NO_REASON], ids=["absent paper", "no reason"])
def test_nothing_cites_what_is_not_there(pattern: re.Pattern[str]) -> None:
    assert not [(path, match[0]) for path, text in texts() for match in pattern.finditer(text)]


def test_every_reference_to_a_document_names_a_heading_of_it() -> None:
    wrong = [
        (path, text[match.start() : match.end() + 40])
        for path, text in texts()
        for match in REFERENCE.finditer(text)
        if not names_a_heading(text[match.end() :], headings(match[1]))
    ]
    assert not wrong


def test_every_link_to_a_place_in_a_document_leads_to_a_heading() -> None:
    wrong = [
        (path.name, match[0])
        for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
        for match in LINK.finditer(path.read_text(encoding="utf-8"))
        if match[2]
        not in {
            anchor(heading)
            for heading in re.findall(
                r"^#{1,6} (.+)$",
                ((path.parent / match[1]) if match[1] else path).read_text(encoding="utf-8"),
                flags=re.MULTILINE,
            )
        }
    ]
    assert not wrong
