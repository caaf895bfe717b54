"""The timeline of a saved report is loaded whole, or left out with a note that says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reportgen.results.timeline_file import assemble, pack_texts
from reportgen.store import (
    TIMELINE_FILE,
    check_replaceable,
    copy_results,
    load,
    save,
    with_timeline,
)
from tests.builders import known
from tests.report.test_codec import small_report

CONTENT = b"RGTL0001\x02\0\0\0{}"


def test_the_timeline_is_saved_and_loaded_with_its_checksum(tmp_path: Path) -> None:
    report = with_timeline(small_report(), CONTENT)

    save(report, tmp_path)

    assert (tmp_path / TIMELINE_FILE).read_bytes() == CONTENT
    loaded = load(tmp_path)
    assert loaded == report
    assert known(loaded.timeline).n_bytes == len(CONTENT)


def test_a_report_without_one_has_no_file_and_no_note(tmp_path: Path) -> None:
    save(small_report(), tmp_path)

    assert not (tmp_path / TIMELINE_FILE).exists()
    assert load(tmp_path) == small_report()


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b" ", b"", None])
def test_a_timeline_that_is_not_whole_is_left_out_with_a_note(content, tmp_path: Path) -> None:
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


def timeline_of(label: str, names: list[str]) -> bytes:
    """Return a timeline of one lane without events."""
    places, blocks, at = {}, [], 0
    for what, texts in (("names", names), ("families", []), ("details", [])):
        blocks.append(pack_texts(texts))
        places[what] = (at, len(blocks[-1]))
        at += len(blocks[-1])
    lane: dict[str, object] = {
        "id": 0, "parent": None, "kind": "thread", "label": label, "node": "", "n_events": 0,
        "rows": 0, "blocks": [],
    }  # fmt: skip
    header = {
        "start_ns": "0", "is_unix": False, "length_ns": 1, **places, "lanes": [lane], "windows": [],
    }  # fmt: skip
    return b"".join(assemble(header, blocks))


@pytest.mark.parametrize(
    ("content", "is_shown"),
    [
        (timeline_of("thread 1", ["aten::mm"]), True),
        (timeline_of("thread 1", ["aten::mm", f"get hf_{'x' * 20}"]), False),
        (timeline_of("get https://host/a?X-Amz-Signature=0f3b", []), False),
    ],
)
def test_a_timeline_of_somebody_else_passes_no_secret_on(content, is_shown, tmp_path: Path) -> None:
    save(with_timeline(small_report(), content), tmp_path)

    report = load(tmp_path)

    assert (report.timeline_data == content) is is_shown
    notes = [note.text for note in report.data_quality.notes if note.path == TIMELINE_FILE]
    assert ["password, key or token" in note for note in notes] == [True] * (not is_shown)


def test_results_of_somebody_else_are_copied_without_their_secrets(tmp_path: Path) -> None:
    save(small_report(), tmp_path / "saved")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "saved").glob("*.json")}
    (tmp_path / "saved" / "Mine.json").write_text('{"said": "password=of-ada"}')

    copy_results(tmp_path / "saved", tmp_path / "new")

    copied = {path.name: path.read_bytes() for path in (tmp_path / "new").glob("*.json")}
    assert copied == kept | {"Mine.json": '{"said": "password=…"}'.encode()}


def test_only_a_timeline_of_ours_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "profiler-report"
    save(with_timeline(small_report(), CONTENT), folder)
    check_replaceable(tmp_path, keeps_results=False, notebook_is_ours=True)

    (folder / TIMELINE_FILE).write_bytes(b"my own notes")

    with pytest.raises(Exception, match=TIMELINE_FILE):
        check_replaceable(tmp_path, keeps_results=False, notebook_is_ours=True)
