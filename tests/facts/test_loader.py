"""Which events load data, how long the loop waited, and how many loaders were at work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reportgen.facts.intervals import NOTHING, union_of
from reportgen.facts.loader import (
    busy_seconds,
    loader_rows,
    loads_as_usual,
    long_waits_of,
    waiting_of,
    waits_of,
)
from reportgen.merging import max_by_key
from reportgen.profile import SpanTable
from tests.builders import START_S, node_profile, ns, span_table
from tests.rules.framework_jobs import step_rows


def fetches(*times: tuple[float, float], pid: int = 70) -> list[tuple[Any, ...]]:
    return [
        ("DataLoaderIter", "It::GetNext", START_S + begin, START_S + end, {"os_pid": pid})
        for begin, end in times
    ]


def table(rows: list[tuple[Any, ...]]) -> SpanTable:
    return span_table(rows, worker="algo-1-27")


def test_waits_are_fetches_and_operators_only_where_nothing_was_fetched() -> None:
    called = ("cpu_functions", "It.__next__", START_S, START_S + 1)
    both = table([called, *fetches((0, 0.5))])

    assert waits_of(both).n_spans == 1
    assert waits_of(both).duration_ns.tolist() == [500_000_000]
    assert waits_of(table([called])).duration_ns.tolist() == [1_000_000_000]
    assert loader_rows(both) is loader_rows(both)


def test_waiting_is_cut_to_the_loop_and_counts_overlaps_once() -> None:
    rows = [*step_rows([1.0] * 3, every_s=3.0), *fetches((-5, 0.5), (1, 2), (1.5, 2), (7, 9))]
    (found,) = waiting_of(table(rows), unrecorded=NOTHING)

    assert (found.loop_ns, found.n_waits, found.n_steps) == (7_000_000_000, 3, 3)
    assert (found.waited_ns, found.early_ns) == (1_500_000_000, 1_250_000_000)
    assert found.ratio == pytest.approx(1.5 / 7)


def test_what_nobody_recorded_is_no_part_of_the_loop_but_a_wait_in_it_is() -> None:
    rows = [*step_rows([1.0] * 3, every_s=3.0), *fetches((1, 2), (5, 6))]
    unknown = union_of(*(np.array([ns(START_S + at)]) for at in (4, 6)))
    (found,) = waiting_of(table(rows), unrecorded=unknown)

    assert (found.loop_ns, found.waited_ns) == (6_000_000_000, 2_000_000_000)


def test_a_process_counts_once_in_a_second_and_nodes_are_not_added_up() -> None:
    one = busy_seconds(table([*fetches((0.1, 0.2), (0.3, 0.4)), *fetches((0.5, 2.0), pid=71)]))
    other = busy_seconds(table(fetches((0.1, 0.2), (1.1, 1.2))))
    start_s = int(START_S)

    assert (one, other) == ({start_s: 2}, {start_s: 1, start_s + 1: 1})
    assert max_by_key([one, other]) == max_by_key([other, one]) == {start_s: 2, start_s + 1: 1}


def test_a_wait_is_out_of_the_ordinary_where_it_exceeds_those_for_first_batches() -> None:
    # A step a second. The epoch from step 5 on opens with 0.4 s; two later waits last 0.3 and 0.6.
    waits = {4: 0.4, 7: 0.3, 8: 0.6}
    rows = step_rows([0.3] * 10)
    rows += fetches(*((at + 0.35, at + 0.35 + wait_s) for at, wait_s in waits.items()))
    rows.append(("DataLoaderIterInitialize", "It.__init__", START_S + 4.33, START_S + 4.34))
    starts = [round((START_S + at + 0.3) * 1e9) for at in (4, 7, 8, 2)]
    ends = [at + 700_000_000 for at in starts]

    usual = loads_as_usual(table(rows), np.array(starts), np.array(ends))
    assert usual.tolist() == [True, False, False, False]
    often = [*rows, *fetches(*((at + 0.35, at + 0.7) for at in (1, 3, 5, 6)))]
    assert loads_as_usual(table(often), np.array(starts), np.array(ends))[2], "it takes that often"
    ends[1] = starts[1] + 500_000_000
    assert loads_as_usual(table(rows), np.array(starts), np.array(ends))[1]


def test_the_steps_that_go_with_waits_are_those_of_a_worker_that_has_any() -> None:
    rows = [
        ("DataLoaderIter", "It::GetNext", START_S, START_S + 0.5, {"worker": "algo-1-26"}),
        *step_rows([0.3] * 4, worker="algo-1-27"),
    ]
    assert long_waits_of(node_profile(rows=rows)).start_ns.size == 4
