"""A node's timelines to its table of events."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from reportgen import intake
from reportgen.profile import Clock, NodeProfile, Quality, SpanTable
from reportgen.profile.spans import ARRAY_COLUMNS
from tests.builders import (
    START_S,
    Row,
    counted,
    span_table,
    system_line,
    timeline_lines,
    write_end_marker,
    write_minute,
    write_system,
    write_timeline,
)

TRAIN = "Step:ModeKeys.TRAIN"
ROWS: list[Row] = [
    (TRAIN, TRAIN, START_S + 1, START_S + 2, {"step": 0, "os_pid": 27}),
    ("Forward", "Net", START_S + 1, START_S + 1.5, {"step": 0, "os_pid": 27}),
    (TRAIN, TRAIN, START_S + 3, START_S + 4, {"step": 1, "os_pid": 27}),
    ("DataLoaderIter", "GetNext", START_S + 2, START_S + 3, {"worker_id": 0, "os_pid": 67}),
    ("DataLoaderIterInitialize", "__init__", START_S, START_S + 0.5,
     {"num_workers": 8, "pin_memory": True}),
]  # fmt: skip


def read(job: Path, index: int = 0) -> NodeProfile:
    return intake.read_node(intake.discover(str(job)).parts[index])


def assert_same(one: SpanTable, other: SpanTable) -> None:
    for column in ARRAY_COLUMNS:
        values, expected = getattr(one, column), getattr(other, column)
        assert values.dtype == expected.dtype, column
        np.testing.assert_array_equal(values, expected, err_msg=column)
    assert (one.names, one.phases) == (other.names, other.phases)
    assert (one.workers, one.sources) == (other.workers, other.sources)


def test_a_written_timeline_reads_back_as_the_table_it_was_written_from(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines(ROWS))
    profile = read(tmp_path)
    assert profile.node == "algo-1"
    assert profile.system.n_ticks == 0
    assert_same(profile.spans, span_table(ROWS))


def test_the_order_of_lines_and_files_does_not_matter(tmp_path: Path) -> None:
    lines = timeline_lines(ROWS)
    header, events = lines[: -len(ROWS)], lines[-len(ROWS) :]
    random.Random(3).shuffle(events)
    write_timeline(tmp_path, [*header, *events[:2]], end_s=START_S + 90)
    write_timeline(tmp_path, [*header, *events[2:]], end_s=START_S + 60)
    assert_same(read(tmp_path).spans, span_table(ROWS))


def test_workers_and_writers_of_a_node_are_told_apart(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines(ROWS[:1]))
    write_timeline(tmp_path, timeline_lines(ROWS[:1]), node_id="28-algo-1")
    write_timeline(tmp_path, timeline_lines(ROWS[3:4]), suffix="model_timeline")
    spans = read(tmp_path).spans
    assert spans.workers == ("algo-1-27", "algo-1-28")
    assert spans.sources == ("model_timeline", "pythontimeline")
    assert [spans.workers[code] for code in spans.worker] == ["algo-1-27", "algo-1-28", "algo-1-27"]


def test_exact_duplicates_are_dropped_and_counted(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines([*ROWS, ROWS[0]]))
    write_timeline(tmp_path, timeline_lines(ROWS), end_s=START_S + 61)
    profile = read(tmp_path)
    assert_same(profile.spans, span_table(ROWS))
    assert counted(profile, Quality.EVENTS_DROPPED) == len(ROWS) + 1


def test_files_of_one_job_have_their_own_bases(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines(ROWS[:2], base_s=START_S))
    write_timeline(tmp_path, timeline_lines(ROWS[2:], base_s=START_S - 500), end_s=START_S + 61)
    assert_same(read(tmp_path).spans, span_table(ROWS))


def test_an_unfinished_timeline_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "profiler-output" / "framework"
    folder.mkdir(parents=True)
    text = "[\n" + ",\n".join(timeline_lines(ROWS)) + ",\n"
    (folder / "27-algo-1_pythontimeline.tmp").write_text(text)
    assert_same(read(tmp_path).spans, span_table(ROWS))


def test_an_empty_timeline_is_skipped_and_counted(tmp_path: Path) -> None:
    write_timeline(tmp_path, b"")
    profile = read(tmp_path)
    assert profile.spans.n_spans == 0
    assert counted(profile, Quality.FILES_SKIPPED) == 1
    assert counted(profile, Quality.FILES_READ) == 0


def test_without_samples_the_files_names_say_how_long_the_job_was(tmp_path: Path) -> None:
    life: Row = ("DataLoaderWorker", "w", START_S, START_S + 3000, {})
    long: Row = ("cpu_functions", "4", START_S + 8, START_S + 812_355, {})
    write_timeline(tmp_path, timeline_lines([life, long]), end_s=START_S + 3000)
    assert read(tmp_path).spans.phases == ("DataLoaderWorker",)


@pytest.mark.parametrize("time_s", [START_S - 3e6, START_S + 3e6, 4.9e9])
def test_events_of_another_time_than_the_samples_are_dropped(tmp_path: Path, time_s: float) -> None:
    write_system(tmp_path, {"gpu0": [1.0] * 120})
    write_timeline(tmp_path, timeline_lines([*ROWS, (TRAIN, TRAIN, time_s, time_s + 1, {})]))
    profile = read(tmp_path)
    assert profile.spans.n_spans == len(ROWS)
    assert counted(profile, Quality.EVENTS_DROPPED) == 1


def test_events_without_a_base_cannot_be_placed_beside_samples(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [1.0] * 120})
    write_timeline(tmp_path, timeline_lines([(TRAIN, TRAIN, 5.0, 6.0, {})], base_s=None))
    profile = read(tmp_path)
    assert profile.spans.n_spans == 0
    assert counted(profile, Quality.EVENTS_DROPPED) == 1


def test_a_job_without_any_base_keeps_its_relative_times(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines([(TRAIN, TRAIN, 5.0, 6.0, {})], base_s=None))
    job = intake.discover(str(tmp_path))
    assert job.info.clock is Clock.RELATIVE
    assert intake.read_node(job.parts[0]).spans.start_ns.tolist() == [5_000_000_000]


def test_one_base_makes_the_clock_a_wall_clock(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines(ROWS))
    write_timeline(
        tmp_path, timeline_lines([(TRAIN, TRAIN, 5.0, 6.0, {})], base_s=None), node_id="1-algo-2"
    )
    job = intake.discover(str(tmp_path))
    assert job.info.clock is Clock.UNIX
    assert [intake.read_node(part).spans.n_spans for part in job.parts] == [len(ROWS), 0]


def test_what_did_not_end_is_counted_and_left_out(tmp_path: Path) -> None:
    begin = '{"name": "open", "ph": "B", "pid": 1, "ts": 5}'
    write_timeline(tmp_path, [*timeline_lines(ROWS[:1]), begin])
    write_end_marker(tmp_path, room="framework")
    profile = read(tmp_path)
    assert profile.spans.n_spans == 1
    assert counted(profile, Quality.EVENTS_UNMATCHED) == 1


def mark(ph: str, time_s: float, name: str = "", **more: object) -> str:
    ts = round((time_s - START_S) * 1e6)
    return json.dumps({"name": name, "ph": ph, "pid": 0, "ts": ts} | more)


def write_marks(job: Path, *lines: str, end_s: float, phase: str = "gradient", **more: str) -> None:
    base = json.dumps({"start_time_since_epoch_in_micros": round(START_S * 1e6)})
    header = [
        f'{{"name": "process_name", "ph": "M", "pid": 0, "args": {args}}}'
        for args in (base, json.dumps({"name": phase}))
    ]
    more = {"suffix": "horovod_timeline"} | more
    write_timeline(job, [*header, *lines], end_s=end_s, **more)


def spans_of(profile: NodeProfile) -> list[tuple[str, float, float]]:
    spans = profile.spans
    times = zip(
        spans.name, spans.start_ns / 1e9 - START_S, spans.end_ns / 1e9 - START_S, strict=True
    )
    return [(spans.names[name], round(start, 3), round(end, 3)) for name, start, end in times]


def test_a_begin_is_closed_by_an_end_in_the_next_file_of_its_writer(tmp_path: Path) -> None:
    write_marks(tmp_path, mark("B", START_S + 59, "NEGOTIATE"), end_s=START_S + 60)
    write_marks(tmp_path, mark("E", START_S + 61), end_s=START_S + 120)
    profile = read(tmp_path)
    assert spans_of(profile) == [("NEGOTIATE", 59.0, 61.0)]
    assert counted(profile, Quality.EVENTS_UNMATCHED) == 0


def test_names_of_dropped_events_are_not_in_the_vocabulary(tmp_path: Path) -> None:
    write_minute(tmp_path, [system_line("gpu0", 1, START_S)])
    write_timeline(tmp_path, timeline_lines([*ROWS[:1], ("Bad", "bad", 4.9e9, 4.9e9, {})]))
    spans = read(tmp_path).spans
    assert (spans.names, spans.phases) == ((TRAIN,), (TRAIN,))


def test_names_of_ranges_lose_the_folders_of_people(tmp_path: Path) -> None:
    name = "/home/ada/job/train.py: load"
    write_timeline(tmp_path, timeline_lines([*ROWS, ("Range", name, START_S, START_S + 1, {})]))
    names = read(tmp_path).spans.names
    assert "train.py: load" in names
    assert not any("ada" in it for it in names)
