"""The file is whole where it fits, else coarse and in full around what matters; never too large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reportgen.results.timeline_file import Family
from reportgen.timeline import FindingMark, stage, timeline_of, write
from reportgen.timeline.lanes import CounterTrack, Lane, LaneKind, LaneSteps, PartLanes, strips_of
from reportgen.timeline.shown import MOST_LANES
from reportgen.timeline.write import BUDGET_BYTES
from tests.timeline.reading import ReadFile, read_file

ORIGIN_NS = 1_783_071_000_000_000_000
STEP_NS = 1_000_000


def part(rank: int = 0, *, n_steps: int = 20, per_step: int = 10, n_lanes: int = 2) -> PartLanes:
    """A rank with steps of 1 ms, of which the 7th takes twice as long, and lanes of events."""
    lengths = np.full(n_steps, STEP_NS)
    lengths[7 % n_steps] *= 2
    ends = np.cumsum(lengths)
    events = np.linspace(0, ends[-1] - 10, n_steps * per_step).astype(np.int64)
    lane = strips_of(events, np.full(events.size, 20_000), np.arange(events.size) % 3)
    steps = strips_of(ends - lengths, lengths, np.full(n_steps, 3))
    counter = CounterTrack(
        time_ns=events, value=np.arange(events.size, dtype=np.float64), unit="bytes"
    )
    return PartLanes(
        node=f"rank {rank}",
        origin_ns=ORIGIN_NS + rank * 1000,
        is_unix=True,
        lanes=(
            Lane(kind=LaneKind.RANK, label=f"rank {rank}"),
            Lane(kind=LaneKind.STEPS, label="steps", parent=0, strips=steps),
            Lane(kind=LaneKind.HOST, label="host", parent=0),
            *(
                Lane(kind=LaneKind.THREAD, label=f"thread {at}", parent=2, strips=lane)
                for at in range(n_lanes)
            ),
            Lane(kind=LaneKind.COUNTER, label="memory", parent=2, track=counter),
        ),
        names=("a", "b", "c", "step"),
        families=(Family.OPERATORS,) * 3 + (Family.ANNOTATIONS,),
        steps=LaneSteps(number=np.arange(n_steps), start_ns=ends - lengths, end_ns=ends),
    )


def made(
    parts: Sequence[PartLanes],
    folder: Path,
    *marks: FindingMark,
    budget_bytes: int | None = BUDGET_BYTES,
) -> tuple[ReadFile, int]:
    """Return the file of some parts, and its size."""
    folders = []
    for number, lanes in enumerate(parts):
        folders.append(folder / str(number))
        stage(lanes, folders[-1], n_parts=len(parts))
    content = b"".join(timeline_of(folders, marks, budget_bytes=budget_bytes))
    return read_file(content), len(content)


def lane_of(file: ReadFile, label: str) -> dict[str, Any]:
    return next(lane for lane in file.header["lanes"] if lane["label"] == label)


def test_what_fits_is_whole(tmp_path: Path) -> None:
    file, _ = made([part()], tmp_path)

    (window,) = file.header["windows"]
    assert (window["start"], window["end"]) == (0, file.header["length_ns"])
    assert file.header["resolution_ns"] is None
    assert file.header["start_ns"] == str(ORIGIN_NS)
    assert len(file.strips(lane_of(file, "thread 0"))) == 200
    values = file.values(lane_of(file, "memory"))
    assert values == [(time, float(at)) for at, (time, _) in enumerate(values)]
    assert lane_of(file, "memory")["most"] == 199.0


def test_what_does_not_fit_is_coarse_and_in_full_around_the_steps_that_matter(tmp_path: Path):
    file, size = made([part(n_steps=400, per_step=50)], tmp_path, budget_bytes=30_000)

    assert size <= 30_000
    whys = [window["why"] for window in file.header["windows"]]
    assert any("median step" in why for why in whys)
    assert any("slowest step: 7" in why for why in whys)
    runs = file.strips(lane_of(file, "thread 0"), 1)
    assert sum(int(count) for *_, count, _ in runs) == 20_000
    assert sum(busy for *_, busy in runs) == 20_000 * 20_000
    slow = next(window for window in file.header["windows"] if "slowest" in window["why"])
    assert slow["start"] < 7 * STEP_NS < 9 * STEP_NS < slow["end"]


def test_a_finding_has_its_window_and_its_strip(tmp_path: Path) -> None:
    at_ns = ORIGIN_NS + 200 * STEP_NS
    mark = FindingMark(title="<b>late</b>", said_by="X X-1", start_ns=at_ns, end_ns=at_ns + STEP_NS)
    file, _ = made([part(n_steps=400, per_step=50)], tmp_path, mark, budget_bytes=30_000)

    first = file.header["lanes"][0]
    assert (first["kind"], first["parent"], first["node"]) == ("findings", None, "")
    assert file.strips(first) == [(200 * STEP_NS, STEP_NS, 0, "<b>late</b>", "X X-1", 0)]
    window = next(item for item in file.header["windows"] if "late" in item["why"])
    assert window["start"] <= 200 * STEP_NS < 201 * STEP_NS <= window["end"]


def test_a_finding_outside_of_what_was_recorded_is_left_out(tmp_path: Path) -> None:
    mark = FindingMark(title="early", said_by="X X-1", start_ns=5, end_ns=9)
    file, _ = made([part()], tmp_path, mark)
    assert file.header["lanes"][0]["kind"] == "rank"


def test_windows_are_in_order_and_apart(tmp_path: Path) -> None:
    marks = [
        FindingMark(
            title=f"f{at}", said_by="X", start_ns=ORIGIN_NS + at, end_ns=ORIGIN_NS + at + STEP_NS
        )
        for at in range(0, 20 * STEP_NS, STEP_NS // 2)
    ]
    file, _ = made([part(n_steps=400, per_step=50)], tmp_path, *marks, budget_bytes=40_000)
    ends = [(window["start"], window["end"]) for window in file.header["windows"]]
    assert ends == sorted(ends)
    assert all(start < end for start, end in ends)
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))


def test_a_window_of_one_rank_names_it(tmp_path: Path) -> None:
    parts = [part(rank, n_steps=100, per_step=60) for rank in range(16)]
    file, size = made(parts, tmp_path, budget_bytes=40_000)
    assert size <= 40_000
    for window in file.header["windows"]:
        for lane in file.header["lanes"]:
            shown = [
                start for start, *_ in file.strips(lane) if window["start"] <= start < window["end"]
            ] if lane["kind"] == "thread" else []  # fmt: skip
            is_meant = lane["node"] in window.get("nodes", [lane["node"]])
            assert bool(shown) == (is_meant and lane["kind"] == "thread")


@pytest.mark.parametrize("n_parts", [48, 60])
def test_many_ranks_have_bounded_files_and_say_what_is_left_out(n_parts, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "MOST_PARTS", 50)
    parts = [part(rank, n_steps=10, per_step=3, n_lanes=40) for rank in range(n_parts)]
    file, size = made(parts, tmp_path)

    lanes = file.header["lanes"]
    assert size <= BUDGET_BYTES
    assert len(lanes) <= MOST_LANES
    assert len([lane for lane in lanes if lane["label"].endswith(" threads")]) == min(n_parts, 50)
    assert sum(lane["n_events"] for lane in lanes if lane["node"] == "rank 1") == 10 + 40 * 30
    assert lane_of(file, "rank 1, 1 counter left out")["kind"] == "rank"
    assert ("left_out" in file.header) == (n_parts > 50)


def test_streams_are_below_the_threads_of_a_joined_lane(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(write, "lanes_of_each", lambda _: 3)
    rank = part(n_lanes=3)
    kinds = [LaneKind.STREAM, LaneKind.THREAD, LaneKind.STREAM]
    lanes = [
        replace(lane, kind=kinds.pop()) if lane.kind is LaneKind.THREAD else lane
        for lane in rank.lanes
    ]
    file, _ = made([replace(rank, lanes=tuple(lanes))], tmp_path, budget_bytes=BUDGET_BYTES // 200)

    shown = file.header["lanes"]
    assert [lane["label"] for lane in shown][1:] == ["steps", "1 thread and 2 streams"]
    assert shown[2]["kind"] == "thread"


def test_clocks_that_do_not_agree_begin_at_zero_each(tmp_path: Path) -> None:
    file, _ = made([part(0), replace(part(1), origin_ns=ORIGIN_NS + 10**15)], tmp_path)

    assert file.header["is_unix"] is False
    assert file.header["start_ns"] == "0"
    threads = [lane for lane in file.header["lanes"] if lane["label"] == "thread 0"]
    assert [file.strips(lane)[0][0] for lane in threads] == [0, 0]


def test_ranks_of_several_hosts_are_below_their_host(tmp_path: Path) -> None:
    hosts = ["host-b", "host-a", "host-b", "host-a"]
    file, _ = made([replace(part(at), host=host) for at, host in enumerate(hosts)], tmp_path)

    lanes = file.header["lanes"]
    groups = [lane for lane in lanes if lane["kind"] == "node"]
    assert [lane["label"] for lane in groups] == ["host-b", "host-a"]
    ranks = [(lane["label"], lane["parent"]) for lane in lanes if lane["kind"] == "rank"]
    first, second = (lane["id"] for lane in groups)
    assert ranks == [("rank 0", first), ("rank 2", first), ("rank 1", second), ("rank 3", second)]
    assert [lane["id"] for lane in lanes] == list(range(len(lanes)))
    assert all(lane["parent"] is None or lane["parent"] < lane["id"] for lane in lanes)
