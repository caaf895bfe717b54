"""The page about the diagnosis lists every cause."""

from __future__ import annotations

import re
from pathlib import Path

from reportgen.results import Cause

PAGE = Path(__file__).resolve().parents[2] / "docs" / "diagnosis.md"


def test_every_cause_has_a_row_and_no_row_is_of_another_word() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Causes")[2].partition("## Evidence")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(Cause)
