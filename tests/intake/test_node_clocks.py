"""Nodes whose clocks differ: what is known of it, and the times that come out."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reportgen import intake
from reportgen.intake.samples import read_samples
from reportgen.profile import JobProfile, NodeProfile
from reportgen.results import RuleResult
from reportgen.rules.long_pause import NOT_ALIGNED, RULE
from tests.builders import START_S, known, note_texts, system_line, write_end_marker, write_minute
from tests.rules.samples import run

START_NS = int(START_S * 1e9)
STEP_NS = 1_000_000_000
BOTH = pytest.mark.parametrize("late_s", [0.3, -0.3, 20.0])


def job(folder: Path, late_s: float, **cards: dict[str, Any]) -> JobProfile:
    """Write two nodes that did the same at the same time; the clock of the second one is ahead."""
    for number, ahead_s in ((1, 0.0), (2, late_s)):
        node, start_s = f"node-{number}", START_S + 10 + ahead_s
        lines = [
            system_line("gpu0", use, start_s + tick / 2).replace("algo-1", node)
            for tick, use in enumerate(use_of_gpu())
        ]
        minutes: dict[int, list[str]] = {}
        for line in lines:
            minutes.setdefault(int(json.loads(line)["Timestamp"] // 60) * 60, []).append(line)
        for minute_s, item in minutes.items():
            write_minute(folder, item, minute_s=minute_s, node=node)
    write_end_marker(folder)
    for name in ("node-1", "node-2"):
        card = {"node": name, "interval_s": 0.5, **cards.get(name.replace("-", "_"), {})}
        ranks = card.pop("ranks", [])
        out = folder / "profiler-output"
        end = "" if name == "node-1" else f".{name}"
        (out / f"recorder{end}.json").write_text(json.dumps(card))
        (out / "recorder" / "ranks").mkdir(parents=True, exist_ok=True)
        for pid, rank in enumerate(ranks):
            text = json.dumps({"node": name, "world_size": 2, **rank})
            (out / "recorder" / "ranks" / f"{rank['rank']}-{name}-{pid}.json").write_text(text)
    return intake.discover(str(folder))


def use_of_gpu() -> Sequence[float]:
    """Return ten minutes of work with a pause of 90 seconds in the middle."""
    return [0.0 if 500 <= tick < 680 else 90.0 for tick in range(1_200)]


def ends(ahead_s: float, *, first: int = 0, n: int = 60, jitter_s: float = 0.0) -> list[list[int]]:
    rng = random.Random(1)
    return [
        [step, START_NS + step * STEP_NS + int((ahead_s + rng.uniform(-1, 1) * jitter_s) * 1e9)]
        for step in range(first, first + n)
    ]


def rank(number: int, step_ends: list[list[int]], **more: Any) -> dict[str, Any]:
    return {"ranks": [{"rank": number, "step_ends": step_ends, **more}]}


def synchronized(folder: Path, late_s: float, **more: Any) -> JobProfile:
    return job(folder, late_s, node_1=rank(0, ends(0)), node_2=rank(1, ends(late_s, **more)))


def first_times(found: JobProfile) -> list[int]:
    return [node.system.first_ns or 0 for node in nodes(found)]


def long_pause(found: JobProfile) -> RuleResult:
    return run(RULE, *nodes(found))


def nodes(found: JobProfile) -> list[NodeProfile]:
    parts = [intake.read_node(part) for part in found.parts]
    return [part for part in parts if isinstance(part, NodeProfile)]


@BOTH
def test_steps_that_end_together_align_the_nodes(tmp_path: Path, late_s: float) -> None:
    found = synchronized(tmp_path, late_s, jitter_s=0.001)

    one, other = first_times(found)
    assert abs(one - other) < 1_000_000
    assert 0 < (known(found.recording).nodes[1].clock_bound_ns or 0) < 2_000_000
    side = "ahead of" if late_s > 0 else "behind"
    (text,) = note_texts(found)
    assert text.startswith("The clock of node-2 was ")
    assert f" {side} that of node-1, known to ± " in text
    assert text.endswith("by the ends of their steps; the times of node-2 were moved.")


@BOTH
def test_without_such_ranks_nothing_is_moved_and_nothing_compared(tmp_path: Path, late_s: float):
    found = job(tmp_path, late_s)

    one, other = first_times(found)
    assert other - one == int(late_s * 1e9)
    (text,) = note_texts(found)
    assert "not aligned; no finding compares them at an instant" in text
    result = long_pause(found)
    assert known(result.reason).text == NOT_ALIGNED
    assert result.findings == ()


def test_a_pause_of_all_nodes_is_found_where_they_are_aligned(tmp_path: Path) -> None:
    (finding,) = long_pause(synchronized(tmp_path, 120.0)).findings
    assert finding.where.end_s is not None
    assert finding.where.start_s is not None
    assert finding.where.end_s - finding.where.start_s == pytest.approx(90, abs=1)


def test_clocks_that_may_agree_move_nothing(tmp_path: Path) -> None:
    found = synchronized(tmp_path, 0.001, jitter_s=0.02)

    one, other = first_times(found)
    assert other - one == 1_000_000
    (text,) = note_texts(found)
    assert text.startswith("The clocks of node-1 and node-2 agree within ")


@pytest.mark.parametrize(
    "theirs",
    [
        rank(1, ends(0.3, jitter_s=0.4)),
        rank(1, ends(0.3, first=55)),
        rank(1, ends(0.3), world_size=1),
        {},
    ],
    ids=["scattered", "too few in common", "alone", "no rank"],
)
def test_ranks_that_do_not_train_together_align_nothing(theirs, tmp_path: Path) -> None:
    found = job(tmp_path, 0.3, node_1=rank(0, ends(0)), node_2=theirs)

    assert "could not be compared" in note_texts(found)[0]


def test_of_a_rank_that_was_started_again_the_last_run_counts(tmp_path: Path) -> None:
    theirs = {"ranks": [{"rank": 1, "step_ends": item} for item in (ends(-500, n=90), ends(0.3))]}
    found = job(tmp_path, 0.3, node_1=rank(0, ends(0)), node_2=theirs)

    assert "was 300 ms ahead of" in note_texts(found)[0]


def test_single_samples_and_events_are_moved_as_well(tmp_path: Path) -> None:
    found = synchronized(tmp_path, 0.3)

    one, other = (read_samples(part).time_us.tolist() for part in found.parts)
    assert one == other


def test_one_node_needs_no_comparison(tmp_path: Path) -> None:
    found = job(tmp_path, 0.0)
    (tmp_path / "profiler-output" / "recorder.node-2.json").unlink()

    assert note_texts(intake.discover(str(tmp_path))) == []
    assert found.recording is not None
