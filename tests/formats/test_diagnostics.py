"""Trouble in sentences."""

from __future__ import annotations

from reportgen.formats import Diagnostics, printable
from reportgen.profile import Quality, SourceNote


def test_trouble_is_summed_per_file_and_names_the_first_five_places() -> None:
    problems = Diagnostics()
    for line in range(1, 8):
        problems.add(Quality.LINES_BROKEN, "a.json", detail=f"line {line}")
    (note,) = problems.notes()
    assert note == SourceNote(
        text="7 lines cannot be read and were skipped (line 1, line 2, line 3, line 4, line 5, …).",
        path="a.json",
        counts={Quality.LINES_BROKEN: 7},
    )


def test_beyond_twenty_files_one_sentence_holds_the_rest() -> None:
    problems = Diagnostics()
    for index in range(25):
        problems.add(Quality.BYTES_LOST, f"{index:02}.json", 10)
    notes = problems.notes()
    assert len(notes) == 21
    assert notes[-1].text.endswith("50 B lost, in 5 more files.")
    assert sum(note.counts[Quality.BYTES_LOST] for note in notes) == 250


def test_a_remark_is_said_once() -> None:
    problems = Diagnostics()
    problems.remark("UTF-16.", path="a")
    problems.remark("UTF-16.", path="a")
    assert problems.notes() == (SourceNote(text="UTF-16.", path="a"),)


def test_names_that_are_no_text_can_be_written() -> None:
    assert printable("a\udcffb").encode() == b"a\\udcffb"


def test_names_too_long_for_a_name_are_cut_and_stay_apart() -> None:
    one, other = printable("\ud800" + "x" * 5_000_000), printable("\ud800" + "x" * 4_999_999)
    assert len(one) == len(other) == 1_000
    assert one != other
    assert printable(one) == one
    assert printable("x" * 1_000) == "x" * 1_000
