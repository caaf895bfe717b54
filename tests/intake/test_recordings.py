"""What the cards of a recording say, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen import intake
from reportgen.profile import JobProfile, NodeProfile
from reportgen.recorded_job import RecordedWork
from tests.builders import (
    START_S,
    known,
    note_texts,
    system_line,
    timeline_lines,
    write_end_marker,
    write_minute,
    write_timeline,
)

CARD: dict[str, Any] = {
    "format": 1,
    "node": "node-1",
    "versions": {"reportgen": "0.1.0", "driver": None},
    "interval_s": 0.5,
    "n_cores": 16,
    "quota_cores": 4.0,
    "memory_limit_bytes": 8_000_000_000,
    "gpus": [
        {"index": 0, "name": "Fake GPU", "memory_bytes": 80, "is_used": False},
        {"index": 1, "name": "Fake GPU", "memory_bytes": 80, "is_used": True},
    ],
    "missing": [],
    "lost_ticks": 0,
    "own_cost": {"ticks": 4, "core_pct": 0.3, "memory_bytes": 30_000_000},
}
RANK = {"node": "node-1", "pid": 7, "step_source": "optimizer", "frameworks": {"torch": "2.4"}}


def job(folder: Path, files: dict[str, object]) -> JobProfile:
    lines = [
        system_line(name, 50, START_S + tick / 2)
        for tick in range(4)
        for name in ("gpu0", "gpu1", "cpu0")
    ]
    write_minute(folder, [line.replace("algo-1", "node-1") for line in lines], node="node-1")
    write_end_marker(folder)
    for name, content in files.items():
        path = folder / "profiler-output" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text)
    return intake.discover(str(folder))


def node(found: JobProfile) -> NodeProfile:
    return intake.read_node(found.parts[0])


def test_a_job_of_another_recorder_has_no_recording(tmp_path: Path) -> None:
    assert job(tmp_path, {}).recording is None


def test_the_cards_say_how_the_job_was_recorded(tmp_path: Path) -> None:
    found = job(tmp_path, {"recorder.json": CARD, "recorder/ranks/0-node-1-7.json": RANK})

    assert found.recording is not None
    (card,) = found.recording.nodes
    assert (card.node, card.n_cores, card.quota_cores) == ("node-1", 16, 4.0)
    assert (card.core_pct, card.versions) == (0.3, {"reportgen": "0.1.0"})
    assert found.recording.step_sources == ("optimizer",)
    assert found.recording.frameworks == {"torch": "2.4"}
    assert found.notes == ()
    assert node(found).recorded == card


def test_the_work_of_the_ranks_of_a_node_is_that_of_the_node(tmp_path: Path) -> None:
    waits = {"n": 40, "wall_ns": 1_000, "cpu_ns": 700, "queued_ns": None}
    loaders = {"n": 50, "wall_ns": 2_000, "cpu_ns": 9_999, "queued_ns": -1}
    found = job(
        tmp_path,
        {
            "recorder.json": CARD,
            "recorder/ranks/0-node-1-7.json": {**RANK, "waits": waits},
            "recorder/ranks/1-node-1-8.json": {**RANK, "loaders": loaders},
            "recorder/ranks/2-node-2-9.json": {**RANK, "node": "node-2", "waits": waits},
        },
    )

    recorded = known(node(found).recorded)
    assert recorded.work == (
        RecordedWork(has_processes=False, n=40, wall_ns=1_000, cpu_ns=700),
        RecordedWork(has_processes=True, n=50, wall_ns=2_000, cpu_ns=2_000),
    )


@pytest.mark.parametrize(
    ("source", "frameworks", "backend", "end_s"),
    [
        ("trainer", ("keras", "jax"), None, 1.0),
        ("trainer", ("keras", "jax", "torch"), "jax", 1.0),
        ("trainer", ("keras", "jax", "torch"), None, 0.2),
        ("trainer", ("keras", "jax", "torch"), "torch", 0.2),
        ("explicit", ("jax",), None, 0.2),
    ],
)
def test_steps_of_keras_on_jax_last_until_the_next_one_begins(
    tmp_path: Path, source: str, frameworks: tuple[str, ...], backend: str | None, end_s: float
) -> None:
    """They return before the work is done."""
    rows = [("Step:ModeKeys.TRAIN", "s", START_S + at, START_S + at + 0.2) for at in range(3)]
    write_timeline(tmp_path, timeline_lines(rows), node_id="7-node-1")
    versions = dict.fromkeys(frameworks, "1.0")
    card = RANK | {"step_source": source, "frameworks": versions, "keras_backend": backend}
    found = node(job(tmp_path, {"recorder.json": CARD, "recorder/ranks/7.json": card}))

    assert (found.spans.steps().duration_ns / 1e9).tolist() == [end_s, end_s, 0.2]


def test_ranks_without_a_world_train_alone(tmp_path: Path) -> None:
    cards = {
        "0-node-1-7": {**RANK, "rank": 0, "world_size": 2},
        "1-node-1-8": {**RANK, "rank": 1},
        "9-node-1-9": {**RANK, "pid": 9},
        "3-node-1-10": {**RANK, "rank": 3, "world_size": 1},
        "11-node-2-11": {**RANK, "pid": 11, "node": "node-2"},
    }
    files = {f"recorder/ranks/{name}.json": card for name, card in cards.items()}
    recorded = known(node(job(tmp_path, {"recorder.json": CARD, **files})).recorded)
    assert set(recorded.alone) == {"node-1-9", "node-1-3"}


def test_a_card_with_a_time_beyond_all_clocks_is_not_read(tmp_path: Path) -> None:
    rank = {**RANK, "trace": {"paused": [[1, 2**63]]}}
    found = job(tmp_path, {"recorder.json": CARD, "recorder/ranks/0-node-1-7.json": rank})

    assert known(found.recording).step_sources == ()
    assert node(found).recorded is not None


def test_gpus_that_the_job_does_not_use_are_left_out(tmp_path: Path) -> None:
    system = node(job(tmp_path, {"recorder.json": CARD})).system

    assert {series.name for series in system.series} == {"cpu0", "gpu1"}
    assert system.n_samples == 8


def test_while_no_rank_names_its_gpus_all_of_them_count(tmp_path: Path) -> None:
    gpus = [{**gpu, "is_used": None} for gpu in CARD["gpus"]]
    system = node(job(tmp_path, {"recorder.json": {**CARD, "gpus": gpus}})).system

    assert {series.name for series in system.series} == {"cpu0", "gpu0", "gpu1"}


def test_several_nodes_are_in_numeric_order(tmp_path: Path) -> None:
    files = {f"recorder.node-{n}.json": {**CARD, "node": f"node-{n}"} for n in (10, 2)}
    found = job(tmp_path, {"recorder.json": CARD, **files})

    assert [card.node for card in known(found.recording).nodes] == ["node-1", "node-2", "node-10"]


def test_what_is_missing_or_was_lost_is_remarked(tmp_path: Path) -> None:
    card = {**CARD, "missing": ["GPUs (no driver)", "disk (OSError)"], "lost_ticks": 1_200}
    rank = {**RANK, "lost_events": 5}
    found = job(tmp_path, {"recorder.json": card, "recorder/ranks/0-node-1-7.json": rank})

    assert note_texts(found) == [
        "Not recorded on node-1: GPUs (no driver); disk (OSError).",
        "1,200 ticks of node-1 could not be written.",
        "5 events could not be written and are missing.",
    ]


def test_faults_of_hooks_are_remarked_once_with_their_count(tmp_path: Path) -> None:
    fault = {"kind": "fault", "hook": "torch.optimizer", "error": "TypeError"}
    broken = ["{broken", '{"x":' + "[" * 5_000]
    lines = "\n".join([json.dumps(fault)] * 2 + broken + [json.dumps({"kind": "not_seen"})])
    found = job(tmp_path, {"recorder.json": CARD, "recorder/faults/0-node-1-7.jsonl": lines})

    assert note_texts(found) == [
        (
            "The hook torch.optimizer failed (TypeError) and was switched off; its later data are "
            "missing, 2 times."
        ),
        "An interpreter ignored PYTHONPATH; its steps were not seen.",
    ]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            {"kind": "open_range", "hook": "evaluation"},
            "The annotation 'evaluation' began and never ended; it is not shown.",
        ),
        (
            {"kind": "not_seen", "hook": "steps inside a CUDA graph"},
            "Not seen: steps inside a CUDA graph.",
        ),
        (
            {"kind": "other_machine"},
            "A process ran on a machine without a recorder; nothing was recorded there.",
        ),
    ],
)
def test_each_kind_of_remark_has_its_sentence(fault, said, tmp_path: Path) -> None:
    found = job(
        tmp_path, {"recorder.json": CARD, "recorder/faults/0-node-1-7.jsonl": json.dumps(fault)}
    )

    assert note_texts(found) == [said]


def test_a_folder_of_two_jobs_is_remarked(tmp_path: Path) -> None:
    runs = {f"recorder/runs/node-1-{n}.json": {"is_other_job": n == 2} for n in (1, 2)}

    assert note_texts(job(tmp_path, {"recorder.json": CARD, **runs})) == [
        "Two different jobs were recorded into this folder; they are mixed here."
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"node": 3}', '{"node": "n", "gpus": 7}'])
def test_a_card_that_cannot_be_read_is_as_none(text: str, tmp_path: Path) -> None:
    assert job(tmp_path, {"recorder.json": text}).recording is None
