"""Files of any content: what was written is what is read, whichever reader reads it."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reportgen.formats import Diagnostics
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.formats.sagemaker.system_lines import read_lines
from reportgen.formats.sagemaker.system_metrics import read_block, read_small_block
from reportgen.formats.series_codes import SeriesCodes
from reportgen.formats.trace_events.file_events import read_event_file
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Quality
from reportgen.storage import open_location

BASE_US = 1_783_071_000_000_000
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
values = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
samples = st.fixed_dictionaries(
    {"Type": words, "Name": words, "Value": values, "Timestamp": st.floats(0, 4e9)},
    optional={"Dimension": words | st.just(""), "NodeId": st.just("algo-1"), "Extra": words},
)

Known = tuple[str, str, str, float, float]


def known(sample: dict[str, Any]) -> Known:
    """Return what a sample says, by the rules of the format (docs/formats.md, System metrics)."""
    names = (sample["Type"], sample["Name"], sample.get("Dimension", ""))
    return (*names, float(sample["Value"]), float(sample["Timestamp"]))


def read_by_duckdb(content: bytes) -> tuple[list[Known], Diagnostics]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "1783071000.algo-1.json"
        path.write_bytes(content)
        file = SystemFile(
            location=open_location(name),
            key=path.name,
            size_bytes=len(content),
            node="algo-1",
            minute_s=1_783_071_000,
        )
        codes, problems = SeriesCodes(), Diagnostics()
        with duckdb.connect() as connection:
            (rows,) = read_block(connection, [file], codes, problems)
        small_codes, small_tally = SeriesCodes(), Diagnostics()
        (small,) = read_small_block([file], small_codes, small_tally)
    assert small_tally.count(Quality.LINES_BROKEN) == problems.count(Quality.LINES_BROKEN)
    assert sorted(small.value.tolist(), key=str) == sorted(rows.value.tolist(), key=str)
    columns = zip(rows.code.tolist(), rows.value.tolist(), rows.time_s.tolist(), strict=True)
    found = [(codes.series[code], value, time_s) for code, value, time_s in columns]
    return [(s.type, s.name, s.dimension, value, time_s) for s, value, time_s in found], problems


@settings(max_examples=30)
@given(st.lists(samples, min_size=1, max_size=12), st.booleans(), st.data())
def test_any_samples_are_read_as_they_were_written(written, is_ascii, data) -> None:
    lines = [json.dumps(sample, ensure_ascii=is_ascii) for sample in written]
    n_broken = data.draw(st.integers(0, 2))
    for _ in range(n_broken):
        lines.insert(data.draw(st.integers(0, len(lines))), '{"Type": "cpu", "Val')
    end = data.draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    content = end.join(lines).encode() + data.draw(st.sampled_from([b"", b"\n"]))

    found, problems = read_by_duckdb(content)
    slow = read_lines(content)

    expected = sorted(map(known, written))
    assert sorted(found) == expected
    assert (
        sorted(
            (*(item.series.type, item.series.name, item.series.dimension), item.value, item.time_s)
            for item in slow.samples
        )
        == expected
    )
    assert problems.count(Quality.LINES_BROKEN) == len(slow.broken_lines) == n_broken


@settings(max_examples=30)
@given(st.binary(max_size=200), st.integers(0, 3))
def test_good_lines_survive_any_bytes_between_them(junk: bytes, place: int) -> None:
    good = [
        {"Type": "cpu", "Name": f"cpu{n}", "Dimension": "d", "Value": n, "Timestamp": 5 + n}
        for n in range(3)
    ]
    lines = [json.dumps(item).encode() for item in good]
    found, _ = read_by_duckdb(b"\n".join([b"", *lines[:place], junk, *lines[place:], b""]))

    assert set(map(known, good)) <= set(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A begin mark that waits for its end."""

    name: str
    start_us: int


def slowly_read(events: Sequence[dict[str, Any]]) -> tuple[list[tuple[str, str, int, int]], int]:
    """Return (phase, name, start, end) in microseconds and the marks without a partner."""
    found: list[tuple[str, str, int, int]] = []
    stacks: dict[tuple[int, int], list[Opened]] = {}
    n_alone = 0
    for event in events:
        phase, start = f"phase {event['pid']}", BASE_US + event["ts"]
        stack = stacks.setdefault((event["pid"], event["tid"]), [])
        if event["ph"] == "X":
            found.append((phase, event["name"], start, start + event["dur"]))
        elif event["ph"] == "i":
            found.append((phase, event["name"], start, start))
        elif event["ph"] == "B":
            stack.append(Opened(name=event["name"], start_us=start))
        elif stack:
            begun = stack.pop()
            found.append((phase, begun.name, begun.start_us, start))
        else:
            n_alone += 1
    return sorted(found), n_alone + sum(map(len, stacks.values()))


timed = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.sampled_from(["X", "X", "X", "i", "B", "E"]),
            "name": words,
            "pid": st.integers(1, 2),
            "tid": st.integers(0, 1),
            "dur": st.integers(0, 10**6),
            "pause": st.integers(0, 10**6),
        }
    ),
    max_size=20,
)


@pytest.mark.parametrize("layout", ["lines", "one line", "unfinished", "indented"])
@settings(max_examples=40)
@given(drawn=timed)
def test_any_events_are_read_as_they_were_written(drawn: list[dict[str, Any]], layout: str) -> None:
    events, now_us = [], 0
    for item in drawn:
        now_us += item["pause"]
        kept = {key: item[key] for key in ("ph", "name", "pid", "tid")}
        events.append(kept | {"ts": now_us} | ({"dur": item["dur"]} if item["ph"] == "X" else {}))
    heads: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"phase {pid}"}}
        for pid in (1, 2)
    ]
    heads[0]["args"]["start_time_since_epoch_in_micros"] = BASE_US
    whole = [*heads, *events]
    lines = [json.dumps(item) for item in whole]
    content = {
        "lines": "[\n" + ",\n".join(lines) + "\n]\n",
        "one line": "[" + ", ".join(lines) + "]",
        "unfinished": "[\n" + ",\n".join(lines) + ",\n",
        "indented": json.dumps(whole, indent=1),
    }[layout]

    vocabulary, problems = Vocabulary(), Diagnostics()
    read = read_event_file(content.encode(), "t.json", problems, vocabulary=vocabulary)
    names, phases = tuple(vocabulary.names), tuple(vocabulary.phases)

    columns = zip(read.phase.tolist(), read.name.tolist(), read.start_ns, read.end_ns, strict=True)
    found = sorted(
        (phases[phase], names[name], int(start) // 1000, int(end) // 1000)
        for phase, name, start, end in columns
    )
    expected, n_alone = slowly_read(events)
    assert found == expected
    assert (read.loose.n_marks if read.loose else 0) == n_alone
    assert problems.count(Quality.LINES_BROKEN) == 0
    assert not any(math.isnan(value) for value in read.start_ns)
