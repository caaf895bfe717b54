from __future__ import annotations

import pickle
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from reportgen.packed_records import BLOCK_ROWS, Packed, Packer, pack


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    key: str
    size_bytes: int


FILES = tuple(_File(key=f"system/{n:06}.json", size_bytes=n) for n in range(2 * BLOCK_ROWS + 3))
TEXTS = st.text(alphabet=st.characters(blacklist_categories=())) | st.just("\udcff")


def test_a_few_records_are_a_tuple() -> None:
    assert pack(iter(FILES[:3]), _File) == FILES[:3]


def test_many_records_come_back_in_their_order() -> None:
    packed = pack(FILES, _File)
    assert isinstance(packed, Packed)
    assert tuple(packed) == FILES
    assert len(packed) == len(FILES)


def test_records_are_found_by_place_and_slice() -> None:
    packed = pack(FILES, _File)
    assert packed[BLOCK_ROWS] == FILES[BLOCK_ROWS]
    assert packed[-1] == FILES[-1]
    assert packed[: BLOCK_ROWS + 2] == FILES[: BLOCK_ROWS + 2]


def test_as_many_records_as_fit_into_blocks_come_back() -> None:
    packed = pack(FILES[: 2 * BLOCK_ROWS], _File)
    assert tuple(packed) == FILES[: 2 * BLOCK_ROWS]


def test_equal_records_are_equal_and_have_one_text() -> None:
    again = pack(
        [_File(key="".join(file.key), size_bytes=file.size_bytes) for file in FILES], _File
    )
    assert again == pack(FILES, _File)
    assert repr(again) == repr(pack(FILES, _File))


def test_packed_records_travel() -> None:
    packed = pack(FILES, _File)
    assert pickle.loads(pickle.dumps(packed)) == packed


def test_minute_files_take_a_few_bytes_each() -> None:
    packed = pack(FILES, _File)
    assert isinstance(packed, Packed)
    assert sum(map(len, packed.blocks)) < 12 * len(FILES)


@given(st.lists(st.tuples(TEXTS, st.integers(min_value=0, max_value=1 << 80)), max_size=20))
def test_any_text_and_number_comes_back(rows: list[tuple[str, int]]) -> None:
    files = [_File(key=key, size_bytes=n) for key, n in rows]
    packer = Packer(_File)
    for file in files * BLOCK_ROWS:
        packer.add(file)
    assert list(packer.packed()) == files * BLOCK_ROWS
