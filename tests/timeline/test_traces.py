"""The timeline of every trace at hand holds what the trace holds: counted twice, in two ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reportgen.intake import discover, read
from reportgen.timeline import lanes_of, stage, timeline_of
from sample_data.kernel_trace import FOLDER
from sample_data.record_trace import FILE as RECORDED
from tests.shared_data import SHARED_DATA
from tests.timeline.reading import CountedTrace, ReadFile, Strip, count_trace, read_file

_SHARED = sorted(SHARED_DATA.glob("kineto/**/*.json.gz")) + sorted(
    SHARED_DATA.glob("kineto/**/*.json")
)
TRACES = [
    *sorted(FOLDER.glob("*.gz")),
    RECORDED,
    *(p for p in _SHARED if "expected" not in p.parts),
]

# Fixtures of the module: the tests of a trace come one after the other and share its readings.


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(scope="module")
def expected(path: Path) -> CountedTrace:
    return count_trace(path)


@pytest.fixture(scope="module")
def staged(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the staged lanes of the trace."""
    folder = tmp_path_factory.mktemp("lanes") / "staged"
    (part,) = discover(str(path)).parts
    stage(lanes_of(read(part)), folder)
    return folder


@pytest.fixture(scope="module")
def whole(staged: Path) -> ReadFile:
    return timeline(staged, budget_bytes=None)


@pytest.fixture(scope="module")
def strips(whole: ReadFile) -> dict[int, list[Strip]]:
    """Return the strips of each lane of the whole file by the lane's id."""
    lanes = [lane for lane in whole.header["lanes"] if lane["kind"] != "counter"]
    return {lane["id"]: whole.strips(lane) for lane in lanes}


def timeline(folder: Path, **options: Any) -> ReadFile:
    return read_file(b"".join(timeline_of([folder], [], **options)))


def full_label(lane: dict[str, Any], lanes: Sequence[dict[str, Any]]) -> str:
    """Return the label of a lane as ``count_trace`` writes it."""
    label = lane["label"].partition(" of process")[0]
    parent = lanes[lane["parent"]]["label"].partition(" · ")[0]
    return f"{parent}/{label}" if lane["kind"] == "stream" else label


def counts(file: ReadFile) -> Counter[str]:
    lanes = file.header["lanes"]
    found: Counter[str] = Counter()
    for lane in lanes:
        is_told = lane["label"].startswith("steps, from")
        if lane["kind"] not in {"node", "rank", "host", "gpu", "counter"} and not is_told:
            found[full_label(lane, lanes)] += lane["n_events"]
    return found


def test_each_lane_has_the_events_of_the_trace(whole, strips, expected) -> None:
    assert counts(whole) == expected.by_lane
    for lane in whole.header["lanes"]:
        if lane["kind"] == "counter":
            assert len(whole.values(lane)) == lane["n_events"]
        else:
            strip = strips[lane["id"]]
            assert len(strip) == lane["n_events"]
            assert lane["rows"] == max((row + 1 for _, _, row, *_ in strip), default=0)


def test_arrows_are_the_correlation_pairs(whole, strips, expected) -> None:
    lanes, arrows = whole.header["lanes"], whole.arrows()

    found = Counter(
        (full_label(lanes[from_lane], lanes), full_label(lanes[to_lane], lanes))
        for _, from_lane, _, to_lane, _, _ in arrows
    )

    assert found == expected.pairs
    ends = {
        (flow, lane["id"], start)
        for lane in lanes
        if lane["kind"] in {"thread", "stream"}
        for start, _, _, _, _, flow in strips[lane["id"]]
        if flow
    }
    assert {(flow, lane, start) for flow, lane, start, *_ in arrows} <= ends
    assert {(flow, lane, start) for flow, _, _, lane, start, _ in arrows} <= ends


def test_a_window_counts_what_the_trace_counts(path: Path, staged: Path, expected: CountedTrace):
    file = timeline(staged, budget_bytes=40_000)
    lanes = file.header["lanes"]
    (part,) = discover(str(path)).parts
    trace: Any = read(part)
    first_us = (int(file.header["start_ns"]) - trace.base_ns) / 1000

    for window in file.header["windows"]:
        low, high = window["start"] / 1000 + first_us, window["end"] / 1000 + first_us
        counted = Counter(lane for lane, ts in expected.events if low <= ts < high)
        found: Counter[str] = Counter()
        for lane in lanes:
            if lane["kind"] not in {"node", "rank", "host", "gpu", "counter"}:
                for start, *_ in file.strips(lane):
                    is_here = window["start"] <= start < window["end"]
                    found[full_label(lane, lanes)] += is_here
        from_steps = {label for label in found if label.startswith("steps, from")}
        for label in (counted.keys() | found.keys()) - from_steps:
            # At the borders, µs since 1970 as float64 are a quarter of a µs apart.
            assert abs(found[label] - counted[label]) <= 2
