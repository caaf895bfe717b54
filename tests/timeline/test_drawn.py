"""Clocks of parts on one axis, and the ends of arrows."""

from __future__ import annotations

import numpy as np

from reportgen.timeline.chrome_json import ArrowEnds, Clocks
from reportgen.timeline.lanes import Arrows, Lane, LaneKind, PartLanes, strips_of


def part(node: str, origin_ns: int, *, is_unix: bool) -> PartLanes:
    return PartLanes(node=node, origin_ns=origin_ns, is_unix=is_unix, lanes=())


def test_a_part_without_a_wall_clock_begins_with_the_first() -> None:
    clocks = Clocks()
    zeros = [
        clocks.zero_of(part("a", 500, is_unix=True)),
        clocks.zero_of(part("b", 700, is_unix=True)),
        clocks.zero_of(part("c", 0, is_unix=False)),
    ]
    assert zeros == [500, 700, 500]
    assert clocks.unlike == ["c"]


def test_arrows_never_lead_back_in_time() -> None:
    flow = np.array([1, 2, 3, 3], dtype=np.int32)
    arrows = Arrows(
        flow=flow,
        from_lane=np.zeros(4, dtype=np.int32),
        from_start_ns=np.array([10, 20, 30, 30]),
        to_lane=np.ones(4, dtype=np.int32),
        to_start_ns=np.array([15, 19, 29, 40]),
    )
    ends = ArrowEnds(arrows)
    names = np.zeros(4, dtype=np.int32)
    calls = strips_of(np.array([10, 20, 30, 35]), np.full(4, 1), names, flow=np.array([1, 2, 3, 0]))
    ops = strips_of(np.array([15, 19, 29, 40]), np.full(4, 1), names, flow=flow)
    thread = Lane(kind=LaneKind.THREAD, label="thread", strips=calls)
    stream = Lane(kind=LaneKind.STREAM, label="stream", strips=ops)
    of_calls, of_ops = ends.of(thread, calls), ends.of(stream, ops)
    assert of_calls[0].tolist() == [1, 2, 3, 0]
    assert of_calls[1].tolist()[:3] == [True, False, True]
    assert of_ops[0].tolist() == [1, 2, 0, 3]
    assert of_ops[1].tolist()[:2] == [False, True]
    assert ends.n_left_out == 1
