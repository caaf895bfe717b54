"""A recording as ``reportgen record`` leaves it, of two nodes, and changes to one of its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.builders import START_S
from tests.fuzz import samples
from tests.fuzz.damage import minute_bytes
from tests.fuzz.mutations import mutate_bytes, mutate_json, mutate_values

_NODES = ("node-1", "node-2")
_AHEAD_NS = 40_000_000
"""How far the clock of the second node is ahead."""
_STEPS = range(30)
_HOUR = "2026070309"
_START_S = int(START_S)


def write_recording(folder: Path, chance: Random) -> Path:
    """Write a recording one file of which, sometimes a few, is not as the recorder wrote it."""
    files = recording_files()
    changed = chance.sample(sorted(files), chance.choice([1, 1, 1, 3]))
    job = folder / "recording"
    for name, content in files.items():
        target = job / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_changed(content, chance) if name in changed else content)
    (folder / "rules.toml").write_text(samples.SETTINGS, encoding="utf-8")
    return job


def _changed(content: bytes, chance: Random) -> bytes:
    """Return the bytes, or one JSON line of them, changed at random."""
    change: Callable[[bytes, Random], bytes] = chance.choice(
        [mutate_bytes, mutate_json, mutate_values, mutate_values]
    )
    lines = content.split(b"\n")
    places = [place for place, line in enumerate(lines) if line[:1] == b"{"]
    if change is mutate_bytes or not places:
        return mutate_bytes(content, chance)
    number = chance.choice(places)
    line = lines[number]
    lines[number] = change(line.rstrip(b","), chance) + b"," * line.endswith(b",")
    return b"\n".join(lines)


@cache
def recording_files() -> Mapping[str, bytes]:
    files = {"system/training_job_end.ts": b""}
    for number, node in enumerate(_NODES):
        ahead_ns = number * _AHEAD_NS
        card = "recorder.json" if number == 0 else f"recorder.{node}.json"
        run = {"format": 1, "node": node, "pid": 7, "is_other_job": False, "exit_code": 0}
        claim = {"identity": "9792e41f4e446bbc", "wall_ns": 10**18, "monotonic_ns": 10**12}
        fault = {"kind": "hook", "hook": "torch", "error": "ValueError", "line": "a.py:1"}
        cards: dict[str, object] = {
            card: _node_card(node),
            f"recorder/ranks/{number}-{node}-7.json": _rank_card(node, number, ahead_ns),
            f"recorder/runs/{node}-7-1.json": run,
            f"recorder/nodes/{node}.json": claim,
            f"recorder/faults/{number}-{node}-7.jsonl": fault,
        }
        files |= {name: json.dumps(content).encode() for name, content in cards.items()}
        files |= _of_node(node, number, ahead_ns)
    return files


def _of_node(node: str, rank: int, ahead_ns: int) -> dict[str, bytes]:
    """Return the samples of a node and the events of its rank, an hour's folder each."""
    minutes: dict[str, list[str]] = {}
    for path, lines in samples.job().minutes.items():
        name = f"system/incremental/{_HOUR}/{Path(path).name.split('.')[0]}.{node}.json"
        minutes[name] = [line.replace('"algo-1"', f'"{node}"') for line in lines]
    files = {name: minute_bytes(lines) for name, lines in minutes.items()}
    head = {"start_time_since_epoch_in_micros": _START_S * 1_000_000}
    events: list[Any] = [_named(0, head)]
    phases = (samples.TRAIN, "DataLoaderIter", "annotation")
    events += [_named(at, {"name": phase}) for at, phase in enumerate(phases, 1)]
    for step in _STEPS:
        begin_us = (45_000_000 + step * 1_000_000) + ahead_ns // 1_000
        args = {"pid": 7, "step_num": str(step)}
        for phase, name in enumerate((samples.TRAIN, "range::GetNext", "forward"), 1):
            events.append(
                {"name": name, "pid": phase, "ph": "X", "ts": begin_us, "dur": 400_000 // phase,
                 "args": args if phase < len(phases) else {**args, "tid": 7}}
            )  # fmt: skip
    end_us = _START_S * 1_000_000 + 80_000_000
    folder = f"framework/pevents/{_HOUR}/p7"
    name = f"{folder}/{end_us:016d}_{rank}-{node}_pythontimeline.json"
    return {**files, name: ("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n").encode()}


def _named(number: int, args: Mapping[str, object]) -> Mapping[str, object]:
    return {"name": "process_name", "ph": "M", "pid": number, "args": args}


def _node_card(node: str) -> Mapping[str, object]:
    gpu = {"index": 0, "name": "Fake GPU", "memory_bytes": 80 << 30, "is_used": True}
    return {
        "format": 1, "node": node, "versions": {"reportgen": "1.0.0", "driver": None},
        "begun_ns": _START_S * 10**9, "until_ns": (_START_S + 80) * 10**9,
        "interval_s": 0.5, "n_cores": 16, "quota_cores": 4.0, "memory_limit_bytes": 8 * 10**9,
        "gpus": [gpu, {**gpu, "index": 1, "is_used": False}], "missing": ["gpm"], "lost_ticks": 0,
        "own_cost": {"ticks": 4, "cpu_s": 0.1, "core_pct": 0.3, "memory_bytes": 30_000_000},
    }  # fmt: skip


def _rank_card(node: str, rank: int, ahead_ns: int) -> Mapping[str, object]:
    base_ns = (_START_S + 46) * 10**9 + ahead_ns
    return {
        "format": 1, "pid": 7, "node": node, "rank": rank, "world_size": 2, "local_rank": 0,
        "step_source": "optimizer", "n_steps": len(_STEPS), "samples_per_step": 32,
        "frameworks": {"torch": "2.4"}, "lost_events": 0, "gpu_uuids": ["GPU-1"],
        "step_ends": [[step, base_ns + step * 10**9] for step in _STEPS],
        "trace": {"paused": [[base_ns + 5 * 10**9, base_ns + 6 * 10**9]]},
        "waits": {"n": 40, "wall_ns": 4 * 10**9, "cpu_ns": 10**9, "queued_ns": 10**8},
        "loaders": {"n": 40, "wall_ns": 8 * 10**9, "cpu_ns": 7 * 10**9, "queued_ns": None},
        "ended": True,
    }  # fmt: skip
