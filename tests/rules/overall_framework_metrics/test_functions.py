"""When functions ran: time per function and bucket, added up by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.intervals import union_of
from reportgen.profile import Clock, NodeProfile
from reportgen.results import Exhibit
from reportgen.rules.overall_framework_metrics.measure import bucket_times, functions_of
from reportgen.rules.overall_framework_metrics.tables import (
    MOST_BUCKETS,
    MOST_FUNCTIONS,
    OTHER_FUNCTIONS,
    exhibit_of_functions,
)
from tests.builders import START_S
from tests.rules.framework_jobs import TRAIN, node

GET_NEXT = "DataLoaderIter"


def exhibit_of(*nodes: list[tuple[Any, ...]]) -> Exhibit:
    """Return the exhibit of nodes named algo-1, algo-2 …"""
    (made,) = drawn(*(node(rows, name=f"algo-{at + 1}") for at, rows in enumerate(nodes)))
    return made


def drawn(*parts: NodeProfile) -> list[Exhibit]:
    """Return the exhibit of some nodes, if there is one."""
    return list(exhibit_of_functions([item for part in parts for item in functions_of(part)]))


def totals_s(made: Exhibit) -> dict[str, float]:
    """Return the sum of each row over all buckets."""
    labels, _, seconds = (column.values for column in made.columns[:3])
    totals: dict[str, float] = {}
    for label, value in zip(labels, seconds, strict=True):
        assert isinstance(value, float)
        totals[str(label)] = totals.get(str(label), 0.0) + value
    return {label: round(value, 6) for label, value in totals.items()}


def at(start_s: float, end_s: float) -> tuple[float, float]:
    """Return an interval after the start of built jobs."""
    return START_S + start_s, START_S + end_s


def test_workers_add_up_where_threads_of_one_worker_count_once() -> None:
    made = exhibit_of(
        [
            (GET_NEXT, "GetNext", *at(0, 2), {"worker": "algo-1-27", "tid": 1}),
            (GET_NEXT, "GetNext", *at(0, 2), {"worker": "algo-1-27", "tid": 2}),
            (GET_NEXT, "GetNext", *at(0, 2), {"worker": "algo-1-28"}),
        ]
    )
    assert totals_s(made) == {"GetNext": 4.0}


def test_a_range_of_buckets_tells_what_ran_in_it() -> None:
    made = exhibit_of(
        [
            (GET_NEXT, "GetNext", *at(100, 110)),
            ("Forward", "ResNet", *at(0, 90)),
            ("Forward", "ResNet", *at(900, 1000)),
        ]
    )
    labels, starts, seconds, widths = (column.values for column in made.columns)
    width_s = widths[0]
    assert isinstance(width_s, float)
    inside = [
        (str(label), value)
        for label, start, value in zip(labels, starts, seconds, strict=True)
        if isinstance(start, float) and start + width_s >= START_S + 95 and start <= START_S + 115
    ]
    assert {label for label, _ in inside} == {"GetNext"}
    assert sum(float(str(value)) for _, value in inside) == pytest.approx(10.0)


def test_steps_and_lives_of_loader_processes_are_no_functions() -> None:
    made = exhibit_of(
        [
            (TRAIN, TRAIN, *at(0, 9)),
            ("DataLoaderWorker", "DataLoaderWorker", *at(0, 9)),
            ("Forward", "ResNet", *at(0, 4)),
            ("Backward(post-forward)", "ResNet", *at(4, 9)),
        ]
    )
    assert totals_s(made) == {"ResNet (Backward(post-forward))": 5.0, "ResNet (Forward)": 4.0}


def test_no_function_is_no_exhibit() -> None:
    assert drawn(node([])) == []
    assert drawn(node([("Forward", "ResNet", *at(3, 3)), (TRAIN, TRAIN, *at(0, 9))])) == []


def test_many_functions_are_the_longest_and_one_row_for_the_rest() -> None:
    rows = [("Forward", f"layer{n:03}", *at(n, n + 1 + n / 100)) for n in range(100)]
    totals = totals_s(exhibit_of(rows))
    assert len(totals) == MOST_FUNCTIONS + 1
    assert "layer099" in totals
    assert "layer000" not in totals
    assert totals[OTHER_FUNCTIONS] == pytest.approx(
        70.69, abs=1e-6
    )  # 0 … 70.69: they touch each other


def test_nodes_are_added_up() -> None:
    rows = [(GET_NEXT, "GetNext", *at(0, 2)), ("Forward", "ResNet", *at(2, 3))]
    assert totals_s(exhibit_of(rows, rows)) == {"GetNext": 4.0, "ResNet": 2.0}


def relative(name: str, end_s: float) -> NodeProfile:
    part = node([(GET_NEXT, "GetNext", 0.0, end_s)], name=name)
    return replace(part, job=replace(part.job, clock=Clock.RELATIVE))


def test_times_of_a_clock_of_its_own_are_not_laid_beside_others() -> None:
    (made,) = drawn(node([(GET_NEXT, "GetNext", *at(0, 2))]), relative("traced", 60.0))
    assert totals_s(made) == {"GetNext": 2.0}
    assert made.caption.endswith("Nodes with a separate clock are left out.")
    (made,) = drawn(relative("a", 1.0), relative("b", 60.0), relative("c", 2.0))
    assert totals_s(made) == {"GetNext": 60.0}


def test_the_exhibit_stays_small_for_long_jobs_of_nodes_that_begin_apart() -> None:
    nodes = [
        [
            ("Forward", "ResNet", *at(n * 10_000 + k, n * 10_000 + k + 0.5))
            for k in range(0, 9000, 7)
        ]
        for n in range(8)
    ]
    made = exhibit_of(*nodes)
    starts = {value for value in made.columns[1].values if isinstance(value, float)}
    assert len(starts) <= MOST_BUCKETS
    assert sum(totals_s(made).values()) == pytest.approx(8 * 1286 * 0.5, abs=0.01)


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 80)), min_size=1, max_size=20),
    st.integers(1, 64),
)
def test_buckets_hold_what_counting_every_instant_finds(spans, width_ns) -> None:
    start_ns = np.array([start for start, _ in spans], dtype=np.int64)
    end_ns = start_ns + np.array([length for _, length in spans], dtype=np.int64)
    found = bucket_times(union_of(start_ns, end_ns), width_ns)
    covered = {
        instant
        for start, end in zip(start_ns.tolist(), end_ns.tolist(), strict=True)
        for instant in range(start, end)
    }
    counted: dict[int, int] = {}
    for instant in covered:
        counted[instant // width_ns] = counted.get(instant // width_ns, 0) + 1
    assert found == counted
