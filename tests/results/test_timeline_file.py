"""The numbers of the timeline's file are what they were before they were packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.byte_planes import differences
from reportgen.compression import gzipped
from reportgen.errors import FormatError
from reportgen.results import timeline_file
from reportgen.results.timeline_file import read_timeline
from tests.timeline.reading import read_file

_HEADER: dict[str, Any] = {
    "start_ns": "0", "is_unix": False, "length_ns": 10, "names": [0, 0],
    "families": [0, 0], "details": [0, 0], "lanes": [], "windows": [], "arrows": [],
}  # fmt: skip
_LANE: dict[str, Any] = {
    "parent": None,
    "kind": "thread",
    "label": "",
    "node": "",
    "n_events": 0,
    "rows": 1,
}


def file_of(*blocks: bytes, **header: Any) -> bytes:
    """Return a file with a whole header, of which some keys are given."""
    return b"".join(timeline_file.assemble(_HEADER | header, blocks))


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
def test_a_reader_that_knows_the_document_reads_what_was_written(rows, begin) -> None:
    rows.sort()
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    packed = timeline_file.pack_columns([differences(columns[0] - begin), *columns[1:]])
    words, details = timeline_file.pack_texts(["a", "<b>"]), timeline_file.pack_texts(["", "é"])
    block = {"level": 0, "from": begin, "to": 10**13, "n": len(rows), "at": [0, len(packed)]}
    content = file_of(
        packed, words, details,
        names=[len(packed), len(words)],
        details=[len(packed) + len(words), len(details)],
        lanes=[_LANE | {"id": 0, "blocks": [block]}],
    )  # fmt: skip

    read_timeline(content)
    assert read_file(content).strips({"blocks": [block]}) == [
        (start, length, row, ["a", "<b>"][name], ["", "é"][detail], flow)
        for start, length, row, name, detail, flow in rows
    ]


@pytest.mark.parametrize(
    "content", [b"", b"RGTL0003\0\0\0\0", b"RGTL0002\xff\0\0\0{", b"\x1f\x8b"], ids=repr
)
def test_another_file_is_refused_by_its_first_bytes(content: bytes) -> None:
    with pytest.raises(FormatError, match="timeline of this report cannot be read"):
        read_timeline(content)


def _block(n: int, packed: bytes) -> dict[str, Any]:
    return {"level": 0, "from": 0, "to": 9, "n": n, "at": [0, len(packed)]}


def test_a_list_of_names_that_unpacks_without_end_is_refused() -> None:
    bomb = gzipped(b"[" + b" " * (100 << 20))
    with pytest.raises(FormatError, match="its names are damaged"):
        read_timeline(file_of(bomb, names=[0, len(bomb)])).texts("names")


@pytest.mark.parametrize(
    "lane",
    [
        {"id": 0, "parent": 0, "blocks": []},
        {"id": 0, "parent": 7, "blocks": []},
        {"id": 3, "parent": None, "blocks": []},
        {"id": 0, "parent": None, "blocks": [_block(10**12, b"")]},
        {"id": 0, "parent": None, "blocks": [_block(1 << 20, b""), _block(1 << 20, b"")]},
        {"id": 0, "parent": None, "blocks": [_block(-1, b"")]},
        {"id": 0, "parent": None},
    ],
    ids=["own parent", "parent after", "number", "rows", "all rows", "negative", "no blocks"],
)
def test_lanes_that_are_no_tree_or_declare_absurd_lengths_are_refused(lane: Any) -> None:
    with pytest.raises(FormatError, match="header is damaged") as caught:
        read_timeline(file_of(lanes=[_LANE | lane]))
    assert caught.value.hint


def test_lanes_one_in_another_without_end_are_refused() -> None:
    lanes = [_LANE | {"id": at, "parent": at - 1 if at else None, "blocks": []} for at in range(40)]
    with pytest.raises(FormatError, match="39 deep in one another"):
        read_timeline(file_of(lanes=lanes))
