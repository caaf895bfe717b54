"""The log of a run is read record by record, whatever has happened to it."""

from __future__ import annotations

import pytest

from reportgen.formats.wandb.records import Damage, fields_of, records_of
from tests.monitoring_files import BLOCK_BYTES, message, number, wandb_log

LONG = [bytes([65 + at]) * 20_000 for at in range(6)]


def read(content: bytes, *, piece: int = 10_000) -> tuple[list[bytes], Damage]:
    damage = Damage()
    pieces = (content[start : start + piece] for start in range(0, len(content), piece))
    return list(records_of(pieces, damage)), damage


def test_records_go_over_blocks_and_pieces() -> None:
    records = [b"first", *LONG, b"", b"last"]
    for piece in (1, 1000, BLOCK_BYTES, 1 << 20):
        assert read(wandb_log(records), piece=piece) == (records, Damage())


@pytest.mark.parametrize("left", range(8))
def test_a_block_ends_with_less_room_than_a_header(left: int) -> None:
    records = [bytes(BLOCK_BYTES - 7 - 7 - left), b"next"]
    assert read(wandb_log(records))[0] == records


def test_space_that_was_reserved_and_not_used_is_no_record() -> None:
    assert read(wandb_log([b"only"]) + bytes(3 * BLOCK_BYTES)) == ([b"only"], Damage())


def test_a_file_that_breaks_off_ends_with_its_last_whole_record() -> None:
    assert read(wandb_log([b"whole", b"broken off"])[:-4]) == ([b"whole"], Damage(bytes_lost=13))


def test_a_damaged_block_costs_its_records_and_no_others() -> None:
    content = bytearray(wandb_log([b"a", *LONG, b"z"]))
    content[BLOCK_BYTES + 100] ^= 1
    records, damage = read(bytes(content))
    assert records == [b"a", LONG[0], LONG[4], LONG[5], b"z"]
    assert damage == Damage(n_blocks=1)


def test_a_message_gives_its_fields_and_never_more_than_it_holds() -> None:
    data = number(1, 300) + message(2, b"text") + b"\x1d1234" + b"\x21" + b"12345678"
    found = [
        (field, start if end < 0 else data[start:end]) for field, start, end in fields_of(data)
    ]
    assert found == [(1, 300), (2, b"text"), (3, b"1234"), (4, b"12345678")]
    assert next(fields_of(b"\x08" + b"\xff" * 9 + b"\x7f"))[1] == 2**64 - 1
    for damaged in (b"\x12\x7fshort", b"\x0b", b"\x80" * 20, b"\x12"):
        with pytest.raises((ValueError, IndexError)):
            list(fields_of(damaged))
