"""The numbers of the timeline's file are what they were before they were packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.errors import FormatError
from reportgen.results import timeline_file
from reportgen.results.timeline_file import EVENTS, FLOWS, read_timeline
from tests.timeline.reading import read_file

_INT64 = st.integers(-(2**60), 2**60)


@given(st.lists(st.integers(0, 2**63 - 1), max_size=40))
def test_numbers_come_back(numbers: list[int]) -> None:
    packed = timeline_file.leb128(np.array(numbers, dtype=np.int64))
    assert timeline_file.from_leb128(packed).tolist() == numbers


@given(st.lists(_INT64, max_size=40), _INT64)
def test_differences_come_back(numbers: list[int], first: int) -> None:
    values = np.array(numbers, dtype=np.int64)
    changes = timeline_file.differences(values, first)
    assert timeline_file.summed(changes, first).tolist() == numbers


_STRIPS = st.lists(
    st.tuples(
        st.integers(-1000, 10**12),
        st.integers(0, 10**12),
        st.integers(0, 255),
        st.integers(0, 1),
        st.integers(0, 1),
        st.integers(0, 10**6),
    ),
    max_size=30,
)


@given(_STRIPS, st.integers(-1000, 1000))
def test_both_readers_read_what_was_written(
    rows: list[tuple[int, int, int, int, int, int]], begin: int
) -> None:
    rows.sort()
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    packed = timeline_file.pack_columns(
        [timeline_file.differences(columns[0], begin), *columns[1:]]
    )
    words, details = timeline_file.pack_texts(["a", "<b>"]), timeline_file.pack_texts(["", "é"])
    block = {"level": 0, "from": begin, "to": 10**13, "n": len(rows), "at": [0, len(packed)]}
    header: dict[str, Any] = {
        "names": [len(packed), len(words)],
        "details": [len(packed) + len(words), len(details)],
        "lanes": [{"blocks": [block]}],
    }
    content = b"".join(timeline_file.assemble(header, [packed, words, details]))

    file = read_timeline(content)
    ours = file.columns(block, EVENTS)
    assert [tuple(int(ours[name][at]) for name in EVENTS) for at in range(len(rows))] == rows
    assert read_file(content).strips(header["lanes"][0]) == [
        (start, length, row, ["a", "<b>"][name], ["", "é"][detail], flow)
        for start, length, row, name, detail, flow in rows
    ]


def test_arrows_come_back() -> None:
    columns = [[1, 1, 2], [3, 3, 4], [10, 10, 30], [5, 5, 5], [12, 20, 25]]
    flow, from_lane, start, to_lane, to_start = (np.array(column) for column in columns)
    packed = timeline_file.pack_columns(
        [
            flow,
            from_lane,
            timeline_file.differences(start, 4),
            to_lane,
            timeline_file.zigzag(to_start - start),
        ]
    )
    block = {"n": 3, "from": 4, "at": [0, len(packed)]}
    content = b"".join(timeline_file.assemble({}, [packed]))

    found = read_timeline(content).columns(block, FLOWS)

    assert [found[name].tolist() for name in FLOWS] == columns


@pytest.mark.parametrize(
    "content", [b"", b"RGTL0002\0\0\0\0", b"RGTL0001\xff\0\0\0{", b"\x1f\x8b"], ids=repr
)
def test_another_file_is_refused_by_its_first_bytes(content: bytes) -> None:
    with pytest.raises(FormatError, match="timeline of this report cannot be read"):
        read_timeline(content)
