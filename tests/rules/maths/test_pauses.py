"""Stretches of which nothing is known, by hand-made times."""

from __future__ import annotations

import pytest

from reportgen.profile import NodeProfile
from reportgen.rules.maths.pauses import overlap_ns, sampling_pauses, unrecorded_ns
from tests.builders import START_S, ns, span_table
from tests.rules.framework_jobs import node, sampled_again


def paused(pause_s: float, *rows: tuple[float, float]) -> NodeProfile:
    """Return a node with a sample each second that pauses after 100 s; ``rows`` are events."""
    events = [("Forward", "Net", START_S + begin, START_S + end) for begin, end in rows]
    return sampled_again(node(events, cores=1), after_s=100, pause_s=pause_s)


def seconds_of(part: NodeProfile) -> list[tuple[float, float]]:
    starts, ends = unrecorded_ns(part.system, part.spans)
    return [
        ((start - ns(START_S)) / 1e9, (end - ns(START_S)) / 1e9)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("pause_s", "n_pauses"), [(179, 0), (180, 1)])
def test_samples_that_are_absent_for_more_than_three_minutes_pause(
    pause_s: float, n_pauses: int
) -> None:
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
    part = paused(1000)
    stretches = unrecorded_ns(part.system, span_table([]))
    first_ns, last_ns = ns(START_S + 90), ns(START_S + 200)
    assert overlap_ns(*stretches, first_ns=first_ns, last_ns=last_ns) == ns(100)
