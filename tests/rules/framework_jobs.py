"""Framework events in rows, and results taken apart: what tests of these rules share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen.profile import NodeProfile, SystemTable
from reportgen.results import Finding, RuleResult
from tests.builders import START_S, node_profile, ns, system_table

TRAIN = "Step:ModeKeys.TRAIN"
EVAL = "Step:ModeKeys.EVAL"


def step_rows(
    durations_s: Sequence[float],
    *,
    every_s: float = 1.0,
    phase: str = TRAIN,
    worker: str = "algo-1-27",
    start_s: float = START_S,
    first: int = 0,
) -> list[tuple[Any, ...]]:
    """Return one step after the other, a new one every ``every_s``."""
    return [
        (
            phase,
            phase,
            start_s + index * every_s,
            start_s + index * every_s + duration_s,
            {"step": first + index, "worker": worker},
        )
        for index, duration_s in enumerate(durations_s)
    ]


def steps_alone(part: NodeProfile, *, later_s: float = 0.0) -> list[tuple[Any, ...]]:
    """Return the training steps of a node without its other events, so much later."""
    steps = part.spans.steps()
    return [
        (TRAIN, TRAIN, begin / 1e9 + later_s, end / 1e9 + later_s, {"step": step})
        for begin, end, step in np.stack([steps.start_ns, steps.end_ns, steps.step], 1).tolist()
    ]


def node(
    rows: Sequence[tuple[Any, ...]],
    *,
    name: str = "algo-1",
    cores: int = 0,
    gpus: int = 0,
    start_s: float = START_S,
    duration_s: float = 600.0,
) -> NodeProfile:
    """Return a node with these events and, when it has devices, quiet system metrics."""
    system: SystemTable | None = None
    if cores or gpus:
        ticks = round(duration_s) + 1
        columns = {f"cpu{index}": [10.0] * ticks for index in range(cores)}
        columns |= {f"gpu{index}": [90.0] * ticks for index in range(gpus)}
        system = system_table(columns, start_s=start_s, interval_s=1.0)
    return node_profile(system=system, rows=rows, worker=f"{name}-27", node=name)


def sampled_again(part: NodeProfile, *, after_s: float, pause_s: float) -> NodeProfile:
    """Return a node whose samples pause once, as when its job was interrupted and resumed."""
    ticks = part.system.tick_ns
    moved = ticks + np.where(ticks > ns(START_S + after_s), ns(pause_s), 0)
    return replace(part, system=replace(part.system, tick_ns=moved, last_ns=int(moved[-1])))


def finding(result: RuleResult, finding_id: str) -> Finding | None:
    """Return the finding with this id, or ``None``."""
    return next((item for item in result.findings if item.id == finding_id), None)


def rows_of(result: RuleResult, exhibit_id: str) -> list[dict[str, Any]]:
    """Return the rows of an exhibit by column name."""
    found = result.exhibit(exhibit_id)
    assert found is not None, exhibit_id
    return [
        {column.name: column.values[index] for column in found.columns}
        for index in range(found.n_rows)
    ]
