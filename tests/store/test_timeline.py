"""The timeline of a saved report is loaded whole, or left out with a note that says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reportgen.store import TIMELINE_FILE, check_replaceable, load, save, with_timeline
from tests.report.test_codec import small_report

CONTENT = b"RGTL0001\x02\0\0\0{}"


def test_the_timeline_is_saved_and_loaded_with_its_checksum(tmp_path: Path) -> None:
    report = with_timeline(small_report(), CONTENT)

    save(report, tmp_path)

    assert (tmp_path / TIMELINE_FILE).read_bytes() == CONTENT
    loaded = load(tmp_path)
    assert loaded == report
    assert loaded.timeline is not None
    assert loaded.timeline.n_bytes == len(CONTENT)


def test_a_report_without_one_has_no_file_and_no_note(tmp_path: Path) -> None:
    save(small_report(), tmp_path)

    assert not (tmp_path / TIMELINE_FILE).exists()
    assert load(tmp_path) == small_report()


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b" ", b"", None])
def test_a_timeline_that_is_not_whole_is_left_out_with_a_note(
    content: bytes | None, tmp_path: Path
) -> None:
    save(with_timeline(small_report(), CONTENT), tmp_path)
    if content is None:
        (tmp_path / TIMELINE_FILE).unlink()
    else:
        (tmp_path / TIMELINE_FILE).write_bytes(content)

    report = load(tmp_path)

    assert report.timeline_data is None
    (note,) = (note for note in report.data_quality.notes if note.path == TIMELINE_FILE)
    assert "its file is missing or damaged" in note.text
    assert replace(report, data_quality=small_report().data_quality, timeline=None) == (
        small_report()
    )


def test_only_a_timeline_of_ours_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "profiler-report"
    save(with_timeline(small_report(), CONTENT), folder)
    check_replaceable(tmp_path, keeps_results=False, notebook_is_ours=True)

    (folder / TIMELINE_FILE).write_bytes(b"my own notes")

    with pytest.raises(Exception, match=TIMELINE_FILE):
        check_replaceable(tmp_path, keeps_results=False, notebook_is_ours=True)
