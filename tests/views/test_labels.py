"""Labels below a bar never meet."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reportgen.views.labels import NARROWEST_PX, WIDE_PX, LabelPlace, place_labels

WIDTHS = st.lists(st.floats(0.01, 60.0), min_size=1, max_size=9)


def test_labels_with_room_hang_on_the_first_line():
    assert [place.line for place in place_labels([5.0, 40.0, 70.0], [12, 12, 12])] == [0, 0, 0]


def test_a_label_at_the_end_of_the_bar_runs_left():
    (place,) = place_labels([98.0], [20])
    assert place == LabelPlace(line=0, runs_left=True)


def test_tiny_parts_at_the_end_hang_below_each_other():
    places = place_labels([18.0, 60.0, 93.0, 96.0, 99.0], [26, 26, 24, 24, 24])
    assert [place.line for place in places[2:]] == [0, 1, 2]
    assert all(place.runs_left for place in places[2:])


def test_a_wide_bar_needs_fewer_lines():
    at_pct, lengths = [5.0, 24.0, 43.0, 62.0], [18] * 4
    usual = place_labels(at_pct, lengths)
    assert max(place.line for place in usual) > 0
    assert {place.line for place in place_labels(at_pct, lengths, bar_px=WIDE_PX)} == {0}


@settings(deadline=None)
@given(parts=WIDTHS, length=st.integers(8, 30), bar_px=st.sampled_from([NARROWEST_PX, WIDE_PX]))
def test_neither_texts_nor_leaders_meet(parts, length, bar_px):
    total = sum(parts)
    at_pct = [100 * (sum(parts[:at]) + part / 2) / total for at, part in enumerate(parts)]
    places = place_labels(at_pct, [length] * len(parts), bar_px=bar_px)
    width = 100 * (length * 7.4 + 18) / bar_px
    boxes = [
        (at - width if place.runs_left else at, at if place.runs_left else at + width)
        for at, place in zip(at_pct, places, strict=True)
    ]
    for one, (start, end) in enumerate(boxes):
        for other, at in enumerate(at_pct):
            if one == other:
                continue
            if places[one].line == places[other].line:
                assert end <= boxes[other][0] + 1e-9 or boxes[other][1] <= start + 1e-9
            elif places[other].line > places[one].line:
                assert not start + 1e-9 < at < end - 1e-9
