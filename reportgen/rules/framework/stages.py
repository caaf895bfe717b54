"""The way of a batch through training: how much of the loop each stage takes, and what tells.

A stage that nothing recorded speaks of is unknown, never 0. Forward passes and operators are often
recorded for some steps only; then their share is of those steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import (
    PASS_PHASES,
    SpanClass,
    classes_of,
    exchanges_data,
    is_function,
)
from reportgen.facts.groups import rows_by_code, sums_by_code
from reportgen.facts.intervals import covered_ns, merge_intervals, overlaps_any
from reportgen.facts.loader import INITIALIZE, LoaderRows, loader_rows
from reportgen.profile import SpanTable

WHOLE_FROM_RATIO = 0.9
"""What was recorded in this share of the steps was recorded in all of them. Source: ours."""

Mask = NDArray[np.bool_]
Instants = NDArray[np.int64]
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Stage(StrEnum):
    """Where a batch is, in its order."""

    READ = "read"
    PREPROCESS = "preprocess"
    WAIT = "wait for a batch"
    TRANSFER = "transfer"
    FORWARD = "forward"
    BACKWARD = "backward"
    COMMUNICATION = "communication"
    IN_STEPS = "others within steps"
    OUTPUT = "output"
    BETWEEN = "others between steps"


WORDS: Mapping[Stage, frozenset[str]] = {
    Stage.READ: frozenset(
        ["read", "reader", "tfrecord", "record", "textline", "file", "download", "interleave"]
    ),
    Stage.PREPROCESS: frozenset(
        [
            "map",
            "batch",
            "shuffle",
            "decode",
            "resize",
            "crop",
            "transform",
            "augment",
            "collate",
            "preprocess",
            "tokenize",
        ]
    ),
    Stage.OUTPUT: frozenset(
        ["save", "checkpoint", "callback", "callbacks", "log", "logging", "summary", "write"]
    ),
    Stage.TRANSFER: frozenset(
        [
            "memcpy",
            "htod",
            "dtoh",
            "copy",
            "to",
            "pin",
        ]
    ),
}
"""What names speak of a stage, in lower case; of the loader's, the loop's own and of operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTime:
    """One stage, over workers.

    Attributes:
        time_ns: union of its events within what was observed.
        observed_ns: the loop, or the steps in which such events were recorded.
        n_steps: how many steps were observed, of ``n_all_steps``.
        name_ns: names of its events, by summed duration.
    """

    stage: Stage
    time_ns: int
    observed_ns: int
    n_steps: int
    n_all_steps: int
    name_ns: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was observed of one worker: disjoint windows and how many steps they hold."""

    first_ns: Instants
    last_ns: Instants
    n_steps: int


def stages_of(spans: SpanTable) -> tuple[StageTime, ...]:
    """Return the stages that were recorded on one node; nothing without steps."""
    steps = spans.steps()
    masks = _masks(spans)
    found = []
    for worker, rows in rows_by_code(steps.worker):
        is_own = spans.worker == worker
        found += _worker_stages(
            spans.where(is_own),
            steps.where(rows),
            {stage: mask[is_own] for stage, mask in masks.items()},
        )
    return merge_stages(found)


def merge_stages(parts: Sequence[StageTime]) -> tuple[StageTime, ...]:
    """Return one row per stage that is there, in their order."""
    merged = []
    for stage in Stage:
        its = [part for part in parts if part.stage is stage]
        if its:
            names: dict[str, int] = {}
            for part in its:
                for name, time_ns in part.name_ns.items():
                    names[name] = names.get(name, 0) + time_ns
            merged.append(
                StageTime(
                    stage=stage,
                    time_ns=sum(part.time_ns for part in its),
                    observed_ns=sum(part.observed_ns for part in its),
                    n_steps=sum(part.n_steps for part in its),
                    n_all_steps=sum(part.n_all_steps for part in its),
                    name_ns=names,
                )
            )
    return tuple(merged)


def _masks(spans: SpanTable) -> dict[Stage, Mask]:
    """Return which events speak of each stage that has events of its own."""
    classes, loader = classes_of(spans), loader_rows(spans)
    is_operator = np.isin(classes, (SpanClass.CPU, SpanClass.GPU))
    forward = spans.in_phases(phase for pair in PASS_PHASES for phase in pair[0])
    backward = spans.in_phases(phase for pair in PASS_PHASES for phase in pair[1])
    is_plain = (classes == SpanClass.GENERAL) & ~(forward | backward | _is_loading(spans, loader))
    return {
        Stage.READ: is_plain & _speaks_of(spans, Stage.READ),
        Stage.PREPROCESS: is_plain & _speaks_of(spans, Stage.PREPROCESS),
        Stage.WAIT: loader.fetch | (loader.next_call & ~loader.fetch.any()),
        Stage.TRANSFER: is_operator & _speaks_of(spans, Stage.TRANSFER),
        Stage.FORWARD: forward,
        Stage.BACKWARD: backward,
        Stage.COMMUNICATION: exchanges_data(spans) & (classes != SpanClass.STEP),
        Stage.OUTPUT: is_plain & _speaks_of(spans, Stage.OUTPUT),
    }


def _is_loading(spans: SpanTable, loader: LoaderRows) -> Mask:
    return np.asarray(loader.fetch | loader.process | spans.in_phases((INITIALIZE,)))


def _speaks_of(spans: SpanTable, stage: Stage) -> Mask:
    codes = [
        code
        for code, name in enumerate(spans.names)
        if WORDS[stage].intersection(token.lower() for token in _TOKEN.findall(name))
    ]
    return np.isin(spans.name, codes)


def _worker_stages(
    spans: SpanTable, steps: SpanTable, masks: Mapping[Stage, Mask]
) -> list[StageTime]:
    whole = _Seen(
        first_ns=steps.start_ns.min(keepdims=True),
        last_ns=steps.end_ns.max(keepdims=True),
        n_steps=steps.n_spans,
    )
    classes = classes_of(spans)
    is_operator = np.isin(classes, (SpanClass.CPU, SpanClass.GPU))
    by_passes = _seen(spans.where(masks[Stage.FORWARD] | masks[Stage.BACKWARD]), steps, whole)
    by_operators = _seen(spans.where(is_operator), steps, whole)
    found = []
    for stage, mask in masks.items():
        if not mask.any():
            continue
        seen = whole
        if stage in (Stage.FORWARD, Stage.BACKWARD):
            seen = by_passes
        elif bool(is_operator[mask].all()):
            seen = by_operators
        found.append(_time(stage, spans.where(mask), seen, steps.n_spans))
    return found + _rest(spans, steps, whole, by_passes)


def _seen(events: SpanTable, steps: SpanTable, whole: _Seen) -> _Seen:
    """Return the loop when events are in nearly all steps, else the steps that they are in."""
    is_in = overlaps_any(steps.start_ns, steps.end_ns, events.start_ns, events.end_ns)
    n_steps = int(is_in.sum())
    if n_steps >= WHOLE_FROM_RATIO * steps.n_spans:
        return whole
    first_ns, last_ns = merge_intervals(steps.start_ns[is_in], steps.end_ns[is_in])
    return _Seen(first_ns=first_ns, last_ns=last_ns, n_steps=n_steps)


def _time(stage: Stage, events: SpanTable, seen: _Seen, n_all_steps: int) -> StageTime:
    sums = sums_by_code(events.name, events.duration_ns, len(events.names))
    return StageTime(
        stage=stage,
        time_ns=covered_ns(events.start_ns, events.end_ns, seen.first_ns, seen.last_ns),
        observed_ns=int((seen.last_ns - seen.first_ns).sum()),
        n_steps=seen.n_steps,
        n_all_steps=n_all_steps,
        name_ns={events.names[code]: int(sums[code]) for code in np.unique(events.name).tolist()},
    )


def _rest(spans: SpanTable, steps: SpanTable, whole: _Seen, by_passes: _Seen) -> list[StageTime]:
    """Return the time without a recorded function: within steps, and between them."""
    functions = spans.where(is_function(spans))
    busy = merge_intervals(functions.start_ns, functions.end_ns)
    in_steps = merge_intervals(steps.start_ns, steps.end_ns)
    either = merge_intervals(
        np.concatenate((busy[0], in_steps[0])), np.concatenate((busy[1], in_steps[1]))
    )
    loop_ns = int((whole.last_ns - whole.first_ns).sum())
    between_ns = loop_ns - covered_ns(*either, whole.first_ns, whole.last_ns)
    found = [_unnamed(Stage.BETWEEN, between_ns, loop_ns, whole, steps.n_spans)]
    if by_passes.n_steps:
        is_seen = overlaps_any(*in_steps, by_passes.first_ns, by_passes.last_ns)
        windows = (in_steps[0][is_seen], in_steps[1][is_seen])
        unseen_ns = int((windows[1] - windows[0]).sum()) - covered_ns(*busy, *windows)
        observed_ns = int((by_passes.last_ns - by_passes.first_ns).sum())
        found.append(_unnamed(Stage.IN_STEPS, unseen_ns, observed_ns, by_passes, steps.n_spans))
    return found


def _unnamed(
    stage: Stage, time_ns: int, observed_ns: int, seen: _Seen, n_all_steps: int
) -> StageTime:
    return StageTime(
        stage=stage,
        time_ns=time_ns,
        observed_ns=observed_ns,
        n_steps=seen.n_steps,
        n_all_steps=n_all_steps,
        name_ns={},
    )
