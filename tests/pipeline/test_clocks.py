"""How well the clocks of nodes agree, told from the ends of steps."""

from __future__ import annotations

import random

from reportgen.pipeline.clocks import MOST_STEPS, notes_on_clocks, step_ends
from reportgen.profile import NodeId, SpanTable
from tests.builders import START_S, Row, span_table

TRAIN = "Step:ModeKeys.TRAIN"


def steps(*, n: int = 100, late_s: float = 0.0, jitter_s: float = 0.0, first: int = 0) -> SpanTable:
    rng = random.Random(1)
    rows: list[Row] = []
    for step in range(first, first + n):
        end_s = START_S + step + 1 + late_s + rng.uniform(-jitter_s, jitter_s)
        rows.append((TRAIN, TRAIN, START_S + step, end_s, {"step": step}))
    return span_table(rows)


def said(*nodes: SpanTable) -> list[str]:
    ends = [(NodeId(f"node-{n}"), step_ends(spans)) for n, spans in enumerate(nodes, start=1)]
    return [note.text for note in notes_on_clocks(ends)]


def test_one_node_needs_no_comparison() -> None:
    assert said(steps()) == []


def test_clocks_that_differ_are_said_with_the_bound() -> None:
    (text,) = said(steps(), steps(late_s=0.02))

    assert text == (
        "The steps of node-1 and node-2 end together: their clocks differ by 20 ms, known to "
        "± 0 µs; times of the two agree within 20 ms."
    )


def test_each_node_is_compared_with_the_first_one() -> None:
    texts = said(steps(), steps(late_s=0.02), steps(late_s=-0.01, jitter_s=0.001))

    assert [text.partition(" end")[0] for text in texts] == [
        "The steps of node-1 and node-2",
        "The steps of node-1 and node-3",
    ]
    assert "differ by 9." in texts[1] or "differ by 10." in texts[1]


def test_steps_that_do_not_end_together_say_nothing_about_clocks() -> None:
    (text,) = said(steps(), steps(jitter_s=0.4))

    assert text.endswith("Times of the two are not aligned.")
    assert "do not end together" in text


def test_too_few_common_steps_say_nothing() -> None:
    (text,) = said(steps(n=20), steps(n=20, first=11))

    assert "too few steps in common" in text


def test_of_many_steps_the_same_ones_are_kept_on_all_nodes() -> None:
    one, other = step_ends(steps(n=9_000)), step_ends(steps(n=9_000, first=3))

    assert one.number.size <= MOST_STEPS
    assert set(one.number[10:-10]) <= set(other.number)
