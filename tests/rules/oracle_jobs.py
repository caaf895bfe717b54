"""The jobs on which AWS's rules were run: read by a few plain lines, and AWS's results.

The reading is independent of the package on purpose, and as simple as these well-formed files
allow: whole files, one JSON object a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from reportgen.profile import NodeProfile, SpanTable, SystemTable
from reportgen.profile.system import empty_system
from tests.builders import node_profile, system_table
from tests.shared_data import SHARED_DATA

NS_PER_US = 1_000
ARGS = ("tid", "worker_id", "num_workers", "pin_memory", "bytes_fetched")


@cache
def parts_of(job: str) -> tuple[NodeProfile, ...]:
    """Return all nodes of a job with their events and the outlines of their system metrics."""
    raw = folder_of(job) / "profiler-output"
    samples: dict[str, list[dict[str, Any]]] = {}
    for sample in _lines(raw.glob("system/**/*.json")):
        samples.setdefault(sample["NodeId"], []).append(sample)
    rows: dict[str, list[tuple[Any, ...]]] = {node: [] for node in samples}
    for path in sorted(raw.glob("framework/**/*.json")):
        pid, _, node = path.name.split("_")[1].partition("-")
        rows[node] += _event_rows(path, worker=f"{node}-{pid}")
    return tuple(
        node_profile(system=_outline(samples[node]), rows=rows[node], node=node)
        for node in sorted(samples)
    )


def until_aws_end(job: str) -> tuple[NodeProfile, ...]:
    """Return the job as AWS saw it: samples up to the last window's end, events that reach in."""
    end_ns = _scans(job)[-1]["end"] * NS_PER_US
    return tuple(
        replace(
            part,
            spans=part.spans.where(part.spans.start_ns <= end_ns),
            system=replace(part.system, last_ns=_last_until(job, str(part.node), end_ns)),
        )
        for part in parts_of(job)
    )


def folder_of(job: str) -> Path:
    """Return where a job lies with AWS's results."""
    return SHARED_DATA / "oracle" / job


@cache
def aws_result(job: str, rule: str, *, variant: str | None = None) -> Any:
    """Return AWS's JSON of a rule, as expected or of a variant."""
    folder = folder_of(job) / (f"variants/{variant}" if variant else "expected")
    return json.loads((folder / f"{rule}.json").read_text())


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every leaf; an empty object or list is a leaf."""
    if isinstance(tree, dict | list) and tree:
        named = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in named:
            yield from leaves(value, f"{path}/{key}")
    else:
        yield path, tree


def steps_of(parts: tuple[NodeProfile, ...]) -> Iterator[SpanTable]:
    """Yield the steps of each node."""
    for part in parts:
        yield part.spans.steps()


@cache
def _scans(job: str) -> list[dict[str, Any]]:
    scans: list[dict[str, Any]] = json.loads((folder_of(job) / "scans.json").read_text())
    return scans


@cache
def _last_until(job: str, node: str, end_ns: int) -> int:
    samples = _lines((folder_of(job) / "profiler-output").glob("system/**/*.json"))
    stamps = (_stamp_ns(sample) for sample in samples if sample["NodeId"] == node)
    return max(stamp_ns for stamp_ns in stamps if stamp_ns <= end_ns)


def _lines(paths: Iterator[Path]) -> Iterator[dict[str, Any]]:
    for path in sorted(paths):
        for line in path.read_text().splitlines():
            bare = line.strip().rstrip(",")
            if bare not in {"", "[", "]"}:
                yield json.loads(bare)


def _stamp_ns(sample: dict[str, Any]) -> int:
    return int(round(sample["Timestamp"] * 1_000_000) * NS_PER_US)


def _outline(samples: list[dict[str, Any]]) -> SystemTable:
    names = {sample["Name"] for sample in samples if sample["Type"] in {"cpu", "gpu"}}
    if not names:
        return empty_system()
    stamps = [_stamp_ns(sample) for sample in samples]
    table = system_table({name: [0.0] for name in sorted(names)})
    return replace(table, first_ns=min(stamps), last_ns=max(stamps))


def _event_rows(path: Path, *, worker: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows of one file; an end without a beginning, and the reverse, are left out."""
    source = path.stem.split("_", 2)[2]
    base_us, phases, opened = 0, {}, dict[int, list[dict[str, Any]]]()
    for event in _lines(iter([path])):
        args = event.get("args", {})
        if event["ph"] == "M":
            base_us = args.get("start_time_since_epoch_in_micros", base_us)
            if "name" in args:
                phases[event["pid"]] = args["name"]
        elif event["ph"] == "B":
            opened.setdefault(event["pid"], []).append(event)
        elif event["ph"] == "X":
            yield _row(event, base_us, event["dur"], phases[event["pid"]], worker, source)
        elif event["ph"] == "E" and opened.get(event["pid"]):
            begin = opened[event["pid"]].pop()
            length_us = event["ts"] - begin["ts"]
            yield _row(begin, base_us, length_us, phases[event["pid"]], worker, source)


def _row(
    event: dict[str, Any], base_us: int, length_us: int, phase: str, worker: str, source: str
) -> tuple[Any, ...]:
    args = event.get("args", {})
    begin_us = base_us + event["ts"]
    more: dict[str, Any] = {name: int(args[name]) for name in ARGS if name in args}
    more |= {"worker": worker, "source": source}
    if "step_num" in args:
        more["step"] = int(args["step_num"])
    if "pid" in args:
        more["os_pid"] = args["pid"]
    return (phase, event["name"], begin_us / 1e6, (begin_us + length_us) / 1e6, more)
