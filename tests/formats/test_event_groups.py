"""Timelines that are read together are what they are one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats import (
    Tally,
    Vocabulary,
    event_groups,
    read_event_file,
    read_event_files,
)
from tests.formats.test_event_lines import BASE, NAMED, OTHER, REGULAR, RENAMED, event, lines
from tests.formats.timeline_words import in_words

CONTENTS = {**REGULAR, **OTHER}


def read(contents: list[tuple[str, bytes]], *, together: bool) -> tuple[list[Any], Any]:
    vocabulary, tally = Vocabulary(), Tally()
    if together:
        found = read_event_files(contents, tally, vocabulary=vocabulary)
    else:
        found = [
            read_event_file(content, key, tally, vocabulary=vocabulary) for key, content in contents
        ]
    arguments = vocabulary.arguments.table()
    return [in_words(events, vocabulary, arguments) for events in found], tally.notes()


def assert_same(contents: list[bytes]) -> None:
    named = [(f"{index}.json", content) for index, content in enumerate(contents)]
    assert read(named, together=True) == read(named, together=False)


@given(st.lists(st.sampled_from(sorted(REGULAR)), min_size=2, max_size=5))
def test_regular_files_are_what_they_are_one_by_one(chosen: list[str]) -> None:
    assert_same([REGULAR[name] for name in chosen])


@given(st.lists(st.sampled_from(sorted(CONTENTS)), min_size=2, max_size=5))
def test_any_files_are_what_they_are_one_by_one(chosen: list[str]) -> None:
    assert_same([CONTENTS[name] for name in chosen])


def test_a_phase_and_a_base_hold_in_their_own_file_only() -> None:
    contents = [
        lines(BASE, NAMED, event()),
        lines(event()),
        lines(RENAMED, BASE.replace("1783", "1784"), event()),
    ]
    found, _ = read(
        [(str(index), content) for index, content in enumerate(contents)], together=True
    )
    assert [file["phase"] for file in found] == [["Forward"], ["process 1"], ["Backward"]]
    assert [file["base_ns"] for file in found] == [1783071 * 10**12, None, 1784071 * 10**12]
    assert [file["last_ns"] for file in found] == [
        1783071 * 10**12 + 12_000, 12_000, 1784071 * 10**12 + 12_000,
    ]  # fmt: skip


def test_files_as_nearly_all_are_need_no_reading_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(event_groups, "read_event_file")
    contents = [("a", lines(BASE, NAMED, event(), NAMED, event(9))), ("b", lines(BASE, event()))]
    found, _ = read(contents, together=True)
    assert [len(file["name"]) for file in found] == [2, 1]
