"""Detected intervals have one shape: where, what, from when to when; the longest stay."""

from __future__ import annotations

from reportgen.rules.saying.intervals import MOST_INTERVALS, Interval, intervals_exhibit


def interval(start_s: float, end_s: float, *, node: str = "algo-1", device: str = "") -> Interval:
    return Interval(node=node, device=device, what="idle", start_s=start_s, end_s=end_s)


def columns(*intervals: Interval, n_all: int | None = None) -> dict[str, tuple[object, ...]]:
    made = intervals_exhibit(intervals, title="When", n_all=n_all)
    return {column.name: column.values for column in made.columns}


def test_they_stand_in_order_of_time_whatever_their_order_was() -> None:
    found = columns(interval(5, 6), interval(1, 2))
    assert found["start_s"] == (1, 5)
    assert found["end_s"] == (2, 6)


def test_a_lane_is_a_worker_a_device_of_a_node_or_a_node() -> None:
    found = columns(
        interval(1, 2, device="algo-1-27"), interval(2, 3, device="gpu0"), interval(3, 4)
    )
    assert found["lane"] == ("algo-1-27", "algo-1 gpu0", "algo-1")
    assert found["device"] == ("algo-1-27", "gpu0", None)
    assert found["node"] == ("algo-1",) * 3


def test_the_longest_stay_and_the_caption_says_of_how_many() -> None:
    short = [interval(at, at + 0.1) for at in range(MOST_INTERVALS + 5)]
    made = intervals_exhibit([*short, interval(1000, 1009)], title="When", caption="Idle.")
    assert made.n_rows == MOST_INTERVALS
    assert made.caption == "Idle. The 200 longest of 206."
    assert made.columns[3].values[-1] == 1009


def test_what_was_left_out_before_is_counted_too() -> None:
    made = intervals_exhibit([interval(0, 1)], title="When", n_all=1_234)
    assert made.caption == "The 1 longest of 1,234."
    assert intervals_exhibit([interval(0, 1)], title="When").caption == ""
