from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.intervals import clip
from reportgen.facts.samples import (
    mean_of,
    minutes_of,
    present_values,
    sampling_pauses,
    silence_of,
    sum_of,
    training_loop_ns,
    window_percentiles,
)
from reportgen.profile import NodeProfile, SeriesKind
from tests.builders import START_S, ns, span_table, system_table
from tests.rules.framework_jobs import node, sampled_again

NAN = np.nan


USE = {"gpu0": [10.0, None, None], "gpu1": [20.0, 30.0, None]}


def test_absent_values_do_not_count_in_a_mean() -> None:
    found = mean_of(system_table(USE), SeriesKind.GPU_UTILIZATION)

    np.testing.assert_array_equal(found, [15.0, 30.0, NAN])


def test_absent_values_do_not_count_in_a_sum_over_kinds() -> None:
    system = system_table({"receive": [10.0, None, None], "transmit": [20.0, 30.0, None]})

    found = sum_of(system, SeriesKind.RECEIVE_ALGORITHM, SeriesKind.TRANSMIT_ALGORITHM)

    np.testing.assert_array_equal(found, [30.0, 30.0, NAN])


def test_a_node_without_such_a_series_has_nothing_at_any_tick() -> None:
    system = system_table(USE)

    np.testing.assert_array_equal(mean_of(system, SeriesKind.IO_WAIT), [NAN] * 3)
    np.testing.assert_array_equal(sum_of(system, SeriesKind.IO_WAIT), [NAN] * 3)


def test_absent_values_are_left_out() -> None:
    assert present_values(np.array([1.0, np.nan, 3.0])).tolist() == [1.0, 3.0]


MINUTE = 60_000_000_000


def test_minutes_are_those_of_the_wall_clock_and_only_those_with_data() -> None:
    time_ns = np.array([50, 59, 60, 61, 200]) * 1_000_000_000

    minutes = minutes_of(time_ns)

    assert (minutes.start_ns // MINUTE).tolist() == [0, 1, 3]
    assert minutes.stop.tolist() == [2, 4, 5]


def slow_percentile(values: list[float], point_pct: float) -> float:
    """Interpolate between the two order statistics around a place, in fractions."""
    ordered = sorted(values)
    place = Fraction(point_pct) / 100 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    low, high = Fraction(ordered[below]), Fraction(ordered[above])
    return float(low + (high - low) * (place - below))


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30),
    st.integers(1, 12),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_windows_are_those_of_a_slow_loop(values: list[float], window: int, stops: list[int]):
    stops = [min(stop, len(values)) for stop in stops]

    found = window_percentiles(
        np.array(values), np.array(stops, dtype=np.int64), window=window, points_pct=(5, 50, 95)
    )

    for row, stop in zip(found, stops, strict=True):
        seen = values[max(stop - window, 0) : stop]
        if not seen:
            assert np.isnan(row).all()
            continue
        expected = [slow_percentile(seen, point) for point in (5, 50, 95)]
        # numpy interpolates in doubles: a few units in the last place of values up to 100.
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (("TRAIN", "EVAL", "GLOBAL", "TRAIN"), (0, 3)),
        (("EVAL", "TRAIN", "TRAIN", "PREDICT"), (1, 2)),
        (("EVAL", "GLOBAL", "GLOBAL", "EVAL"), (1, 2)),
        (("EVAL", "PREDICT"), (0, 1)),
    ],
)
def test_the_loop_is_from_the_first_start_to_the_last_end_of_training_steps(phases, expected):
    steps = [
        (f"Step:ModeKeys.{phase}", "step", START_S + 10 * place, START_S + 10 * place + 3)
        for place, phase in enumerate(phases)
    ]
    spans = span_table([*steps, ("DataLoaderIter", "it", START_S - 5, START_S + 90)])
    first, last = expected

    assert training_loop_ns(spans) == (ns(START_S + 10 * first), ns(START_S + 10 * last + 3))


def test_without_steps_there_is_no_loop() -> None:
    assert training_loop_ns(span_table([("DataLoaderIter", "it", START_S, START_S + 1)])) is None


def paused(pause_s: float, *rows: tuple[float, float]) -> NodeProfile:
    """Return a node with a sample each second that pauses after 100 s; ``rows`` are events."""
    events = [("Forward", "Net", START_S + begin, START_S + end) for begin, end in rows]
    return sampled_again(node(events, cores=1), after_s=100, pause_s=pause_s)


def seconds_of(part: NodeProfile) -> list[tuple[float, float]]:
    found = silence_of(part.system, part.spans)
    return [
        ((start - ns(START_S)) / 1e9, (end - ns(START_S)) / 1e9)
        for start, end in zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("pause_s", "n_pauses"), [(179, 0), (180, 1)])
def test_samples_that_are_absent_for_more_than_three_minutes_pause(pause_s, n_pauses) -> None:
    starts, ends = sampling_pauses(paused(pause_s).system)
    assert starts.size == ends.size == n_pauses


def test_without_events_a_pause_is_unrecorded_as_a_whole() -> None:
    assert seconds_of(paused(1000)) == [(100, 1101)]
    assert seconds_of(paused(1000, (0, 100), (1101, 1200))) == [(100, 1101)]


def test_events_in_a_pause_were_recorded_with_short_times_between_them() -> None:
    assert seconds_of(paused(1000, (100, 400), (500, 650), (900, 1300))) == [(650, 900)]
    assert seconds_of(paused(1000, (50, 1200))) == []


def test_a_node_without_samples_never_pauses() -> None:
    assert seconds_of(node([("Forward", "Net", START_S, START_S + 1)])) == []


def test_only_what_lies_in_the_range_overlaps() -> None:
    stretches = silence_of(paused(1000).system, span_table([]))
    first_ns, last_ns = ns(START_S + 90), ns(START_S + 200)
    assert clip(stretches, first_ns, last_ns).length_ns == ns(100)
