"""What ran at some moments: by hand, and against a slow recount."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reportgen.explore import compare, functions_at, phases_at
from reportgen.explore.causes import describe_cause
from reportgen.profile import SpanTable
from tests.builders import span_table

START_S = 1_000.0


def at(*times_s: float):
    return (np.array([round((START_S + t) * 1e9) for t in times_s], dtype=np.int64),)


def within(*intervals_s: tuple[float, float]):
    edges = np.array(intervals_s, dtype=float).reshape(-1, 2)
    ns = np.rint((START_S + edges) * 1e9).astype(np.int64)
    return ns[:, 0], ns[:, 1]


def spans(*rows: tuple[str, str, float, float]) -> SpanTable:
    return span_table(
        [(phase, name, START_S + start_s, START_S + end_s) for phase, name, start_s, end_s in rows]
    )


THREE = spans(
    ("Loader", "GetNext", 0.0, 4.0),
    ("Loader", "GetNext", 6.0, 7.0),
    ("Forward", "conv", 3.0, 5.0),
    ("Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN", 0.0, 8.0),
)


def test_steps_are_phases_and_no_functions() -> None:
    found = phases_at(THREE, *at(1.0))

    assert found["process"].tolist() == ["Step:ModeKeys.TRAIN"]
    assert found["total_us"].tolist() == [8e6]


def test_without_events_or_moments_the_tables_are_empty() -> None:
    assert functions_at(spans(), *at(1.0)).empty
    assert functions_at(THREE, *at()).empty
    assert functions_at(THREE, *within()).empty


def _many(name: str, n_events: int, duration_s: float, start_s: float):
    return [
        ("Loader", name, start_s + index * 0.5, start_s + index * 0.5 + duration_s)
        for index in range(n_events)
    ]


def test_the_function_whose_share_rose_most_is_the_cause() -> None:
    table = spans(
        *_many("GetNext", 12, 0.4, 0.0),
        *_many("log", 12, 0.1, 0.0),
        *_many("conv", 12, 0.3, 0.0),
        *_many("GetNext", 12, 0.1, 100.0),
        *_many("log", 12, 0.1, 100.0),
        *_many("conv", 12, 0.3, 100.0),
    )
    slow = functions_at(table, *within((0.0, 50.0)))
    usual = functions_at(table, *within((99.0, 150.0)))
    said = describe_cause(slow, usual, at="in slow steps", against="in normal ones")
    joined = compare(slow, usual)

    assert joined["function"].tolist() == ["GetNext", "log", "conv"]
    assert joined["factor"].tolist() == pytest.approx([4.0, 1.0, 1.0])
    assert joined["increase_points"].tolist() == pytest.approx([30.0, -7.5, -22.5])
    assert said == (
        "GetNext takes 50.0 % of the time of all functions in slow steps and 20.0 % in normal "
        "ones: 2.5 times as much."
    )


@pytest.mark.parametrize(
    ("n_events", "n_others", "duration_s", "is_named"),
    [(10, 10, 0.3, True), (9, 10, 0.3, False), (10, 9, 0.3, False), (10, 10, 0.299, False)],
)
def test_no_cause_is_named_on_thin_evidence(n_events, n_others, duration_s, is_named) -> None:
    # The share is 0.3 / (0.3 + 0.1) = 75 % against 50 %: exactly 1.5 times as much.
    table = spans(
        *_many("GetNext", n_events, duration_s, 0.0),
        *_many("conv", n_events, 0.1, 0.0),
        *_many("GetNext", n_others // 2 + n_others % 2, 0.1, 100.0),
        *_many("conv", n_others // 2 + n_others % 2, 0.1, 100.0),
    )
    slow = functions_at(table, *within((0.0, 50.0)))
    usual = functions_at(table, *within((99.0, 150.0)))
    if n_others % 2:
        usual = usual.assign(count=[n_others // 2, n_others // 2 + 1])

    assert describe_cause(slow, usual, at="a", against="b").startswith("GetNext takes") is is_named


def test_the_life_of_a_loader_process_is_no_function() -> None:
    table = spans(("DataLoaderWorker", "worker", 0, 9), ("Forward", "conv", 1, 2))

    assert functions_at(table, *within((0.0, 9.0)))["function"].tolist() == ["conv"]


def test_a_function_that_ran_on_one_side_only_stays_in_the_comparison() -> None:
    joined = compare(functions_at(THREE, *at(6.5)), functions_at(THREE, *at(4.5)))

    assert joined["function"].tolist() == ["GetNext", "conv"]
    assert joined["factor"].isna().all()


_EDGES = st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda item: (item[0], sum(item)))


@settings(max_examples=120, deadline=None)
@given(st.lists(_EDGES, max_size=12), st.lists(_EDGES, max_size=6), st.booleans())
def test_sums_equal_a_slow_recount(events, intervals, as_moments) -> None:
    names = [f"f{index % 3}" for index in range(len(events))]
    table = spans(*(("P", name, *event) for name, event in zip(names, events, strict=True)))
    moments = at(*(edge[0] for edge in intervals)) if as_moments else within(*intervals)
    found = functions_at(table, *moments).set_index("function")

    expected: dict[str, list[tuple[int, int]]] = {}
    for name, (start, end) in zip(names, events, strict=True):
        tests = [(t, t) for t, _ in intervals] if as_moments else intervals
        if any(start <= last and first <= end for first, last in tests):
            expected.setdefault(name, []).append((start, end))
    assert set(found.index) == set(expected)
    for name, rows in expected.items():
        assert found.loc[name, "count"] == len(rows)
        assert found.loc[name, "total_us"] == pytest.approx(1e6 * sum(b - a for a, b in rows))
        if not as_moments:
            inside = sum(
                sum(any(a <= u and u + 1 <= b for a, b in intervals) for u in range(start, end))
                for start, end in rows
            )
            assert found.loc[name, "inside_us"] == pytest.approx(1e6 * inside)
