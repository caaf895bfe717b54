"""Random damage: whatever happened to the bytes, reading ends in a table and notes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from reportgen.profile import Quality
from tests.builders import (
    START_S,
    Row,
    read_job,
    system_line,
    timeline_lines,
    values_of,
    write_minute,
    write_timeline,
)

pytestmark = pytest.mark.usefixtures("each_reader")

TRAIN = "Step:ModeKeys.TRAIN"
ROWS: list[Row] = [
    (TRAIN, TRAIN, START_S + step, START_S + step + 0.5, {"step": step}) for step in range(20)
]
TOKENS = [
    b"\n", b"[", b"]", b"{", b"}", b",", b'"', b"null", b"NaN", b"-1e400", b"9" * 30, b"\\ud800",
    b"\xff\xfe", b"[[[[", b'{"a":', b"\x00", b"true",
]  # fmt: skip


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return content with some tokens put in, stretches removed or repeated, or an end missing."""
    for _ in range(chance.choice([1, 3, 20])):
        place = chance.randrange(len(content) + 1)
        stretch = content[place : place + chance.randrange(200)]
        head, tail = content[:place], content[place:]
        content = chance.choice(
            [
                head + chance.choice(TOKENS) + tail,
                head + tail[len(stretch) :],
                content + stretch,
                head + bytes([chance.randrange(256)]) + tail[1:],
                head if chance.random() < 0.2 else content,
            ]
        )
    return content


@pytest.mark.parametrize("seed", range(24))
def test_damage_never_ends_in_an_exception_or_an_impossible_table(tmp_path: Path, seed) -> None:
    chance = random.Random(seed)
    lines = [
        system_line(name, tick, START_S + tick / 2)
        for tick in range(30)
        for name in ("gpu0", "cpu0", "memory", "receive")
    ]
    write_minute(tmp_path, damaged("\n".join(lines).encode(), chance))
    text = "[\n" + ",\n".join(timeline_lines(ROWS)) + "\n]\n"
    write_timeline(tmp_path, damaged(text.encode(), chance))
    profile = read_job(tmp_path)
    system, spans = profile.system, profile.spans
    assert (np.diff(system.tick_ns) > 0).all()
    assert not np.isinf(values_of(system)).any()
    assert system.n_samples == np.count_nonzero(~np.isnan(values_of(system)))
    assert (spans.end_ns >= spans.start_ns).all()
    assert (np.diff(spans.start_ns) >= 0).all()
    words = [*spans.names, *spans.phases, *(item.name for item in system.series)]
    assert all(word.encode() or word == "" for word in words)
    assert all(note.text.encode() for note in profile.notes)


@pytest.mark.parametrize("byte", [b"e", b"[", b"\x00"])
def test_a_file_of_one_byte_is_a_broken_line(tmp_path: Path, byte: bytes) -> None:
    """DuckDB gives no row for it, where a longer file of one broken line gives an empty one."""
    write_minute(tmp_path, byte)
    write_minute(tmp_path, [system_line("gpu0", 5, START_S + 61)], minute_s=START_S + 60)
    counts = {name: n for note in read_job(tmp_path).notes for name, n in note.counts.items()}
    assert counts.get(Quality.LINES_BROKEN, 0) == (byte != b"[")
