"""Hours of events that are packed read like the files they were made of."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import numpy as np

from reportgen import intake
from reportgen.profile import SpanTable
from reportgen.record.packing import pack_event_hour
from tests.builders import START_S, Row, timeline_lines, write_timeline

TRAIN = "Step:ModeKeys.TRAIN"
NODE = "node-1"


def rows(first: int) -> list[Row]:
    """Three steps; the first file has forward passes as well, so its phases have other numbers."""
    steps: list[Row] = [
        (TRAIN, TRAIN, START_S + step, START_S + step + 0.5, {"step": step})
        for step in range(first, first + 3)
    ]
    forward: list[Row] = [("Forward", "Net", START_S + first, START_S + first + 0.2)]
    return [*forward, *steps] if first == 0 else steps


def written(job: Path) -> Path:
    """Write three files of one process; return the folder of their hour."""
    hour = job / "framework" / "pevents" / "2026070309"
    (hour / "p4711").mkdir(parents=True)
    for first in (0, 3, 6):
        lines = timeline_lines(rows(first))
        path = write_timeline(job, lines, end_s=START_S + first + 3, node_id=f"0-{NODE}")
        path.replace(hour / "p4711" / path.name)
    shutil.rmtree(job / "profiler-output")
    return hour


def spans(job: Path) -> SpanTable:
    (part,) = intake.discover(str(job)).parts
    return intake.read_node(part).spans


def names(hour: Path) -> list[str]:
    return sorted(path.name for path in (hour / "p4711").iterdir())


def test_packed_events_are_the_same_events(tmp_path: Path) -> None:
    written(tmp_path / "plain")
    hour = written(tmp_path / "packed")
    pack_event_hour(hour, NODE)
    (name,) = names(hour)
    plain, packed = spans(tmp_path / "plain"), spans(tmp_path / "packed")

    assert name.endswith(f"_0-{NODE}_pythontimeline.json.gz")
    assert packed.n_spans == 10
    for column in ("start_ns", "end_ns", "step"):
        np.testing.assert_array_equal(getattr(packed, column), getattr(plain, column))
    assert [packed.phases[code] for code in packed.phase] == [
        plain.phases[code] for code in plain.phase
    ]


def test_an_unfinished_file_and_those_of_other_nodes_stay(tmp_path: Path) -> None:
    hour = written(tmp_path)
    open_file = hour / "p4711" / f"0-{NODE}_pythontimeline.json.tmp"
    open_file.write_text("[\n")
    before = names(hour)
    pack_event_hour(hour, "node-2")

    assert names(hour) == before
    pack_event_hour(hour, NODE)

    assert len(names(hour)) == 2
    assert open_file.exists()


def test_files_that_a_kill_left_beside_their_packed_file_go_at_the_next_packing(
    tmp_path: Path,
) -> None:
    hour = written(tmp_path)
    shutil.copytree(hour / "p4711", tmp_path / "copy")
    pack_event_hour(hour, NODE)
    for path in (tmp_path / "copy").iterdir():
        shutil.copy(path, hour / "p4711" / path.name)
    shutil.rmtree(tmp_path / "copy")
    pack_event_hour(hour, NODE)

    assert spans(tmp_path).n_spans == 10


def test_a_packed_file_is_for_our_eyes_only(tmp_path: Path) -> None:
    hour = written(tmp_path)
    pack_event_hour(hour, NODE)
    (path,) = (hour / "p4711").iterdir()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
