"""The operators in which the nodes of CUDA graphs were recorded (``--cuda-graph-trace=node``).

A graph runs outside of the operators whose work it holds: its launch names none of them. The
operator open on the thread that made a node, at that time, is the operator of all its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from reportgen.formats.columns import ABSENT, Columns
from reportgen.formats.nsight.reading import ProcessReading
from reportgen.profile.trace_tables import SliceKind

_FIRST_ID = 1 << 40
"""Ids of operators begin here: no correlation has such a number."""
_MOST_CLONES = 16
"""A graph is copied when it is made ready to run, and copies of copies are rare."""

Moment = tuple[float, int]


def tie_graphs(reading: ProcessReading) -> None:
    """Give operations of graphs the operator in which their node was made; else they have none."""
    ops, slices = (reading.columns.tables[name] for name in ("gpu_ops", "slices"))
    nodes = ops.tail("external_id", 0)
    if not (nodes != ABSENT).any():
        return
    made = _made(reading, set(np.unique(nodes[nodes != ABSENT]).tolist()))
    gpu, host = ops.take(), slices.take()
    operator = _operators_at(made.values(), host) if host else {}
    if operator:
        rows = np.array(sorted(set(operator.values())))
        host["external_id"][rows] = _FIRST_ID + rows
    id_of = {node: _FIRST_ID + operator[at] for node, at in made.items() if at in operator}
    different, index = np.unique(gpu["external_id"], return_inverse=True)
    found = np.array([id_of.get(node, ABSENT) for node in different.tolist()], dtype=np.int64)
    gpu["external_id"] = found[index]
    ops.add(**gpu)
    if host:
        slices.add(**host)


def _made(reading: ProcessReading, wanted: set[int]) -> dict[int, Moment]:
    made: dict[int, Moment] = {}
    original: dict[int, int] = {}
    names = ("start", "globalTid", "graphNodeId", "originalGraphNodeId")
    for batch in reading.batches("CUDA_GRAPH_NODE_EVENTS", names):
        starts_us = reading.after_base_us(reading.times_ns(batch["start"])).tolist()
        threads = reading.threads(batch["globalTid"]).tolist()
        node_ids = reading.numbers(batch["graphNodeId"]).tolist()
        originals = reading.numbers(batch["originalGraphNodeId"]).tolist()
        for node, first, *at in zip(node_ids, originals, starts_us, threads, strict=True):
            made.setdefault(node, (at[0], at[1]))
            if first not in {ABSENT, 0, node}:
                original[node] = first
    return {node: made[first] for node in wanted if (first := _first(node, original)) in made}


def _first(node: int, original: Mapping[int, int]) -> int:
    for _ in range(_MOST_CLONES):
        if node not in original:
            break
        node = original[node]
    return node


def _operators_at(moments: Iterable[Moment], host: Columns) -> dict[Moment, int]:
    found: dict[Moment, int] = {}
    is_operator = host["kind"] == SliceKind.OPERATOR
    by_thread: dict[int, list[float]] = {}
    for at_us, thread in set(moments):
        by_thread.setdefault(thread, []).append(at_us)
    for thread, times_us in by_thread.items():
        rows = np.flatnonzero(is_operator & (host["thread"] == thread))
        start_us = host["start_us"][rows]
        end_us = start_us + host["duration_us"][rows]
        for at_us in times_us:
            around = np.flatnonzero((start_us <= at_us) & (end_us > at_us))
            if around.size:
                innermost = around[np.lexsort((end_us[around], -start_us[around]))[0]]
                found[at_us, thread] = int(rows[innermost])
    return found
