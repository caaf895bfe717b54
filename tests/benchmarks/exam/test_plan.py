"""Which jobs an exam has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.exam.causes import PLANTABLE, VISIBILITY, Input
from benchmarks.exam.plan import DEFAULT_JOBS, FAMILIES, is_held_back, orders_of
from benchmarks.exam.tables import put_between, sight_table


def test_a_seed_orders_the_same_jobs_again():
    assert orders_of(4, 60) == orders_of(4, 60)
    assert orders_of(4, 60) != orders_of(5, 60)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_more_than_a_third_of_the_jobs_are_healthy(seed):
    orders = orders_of(seed)
    assert len(orders) == DEFAULT_JOBS >= 240
    assert sum(not order.causes for order in orders) >= 0.35 * len(orders)


def test_every_cause_is_planted_alone_and_some_in_pairs():
    orders = orders_of(1)
    alone = Counter(order.causes[0] for order in orders if len(order.causes) == 1)
    assert set(alone) == set(PLANTABLE)
    assert min(alone.values()) >= 7
    assert sum(len(order.causes) == 2 for order in orders) >= 20


def test_each_family_makes_healthy_and_faulty_jobs():
    for family in FAMILIES:
        mine = [order for order in orders_of(1) if order.family == family]
        assert len(mine) >= DEFAULT_JOBS // 3
        assert {bool(order.causes) for order in mine} == {True, False}


def test_every_third_seed_is_held_back():
    assert [seed for seed in range(9) if is_held_back(seed)] == [2, 5, 8]


def test_it_is_argued_what_each_input_can_tell_about_each_cause():
    assert {cause for cause, _ in VISIBILITY} == set(PLANTABLE)
    for cause in PLANTABLE:
        for kind in Input:
            assert VISIBILITY[cause, kind].because.endswith(".")


def test_the_page_holds_the_current_table_of_what_inputs_can_tell():
    page = Path(__file__).parents[3] / "docs" / "diagnosis.md"
    assert sight_table() in page.read_text(encoding="utf-8")


def test_text_is_put_between_the_markers_and_nowhere_else():
    page = "a <!-- x: begin --> old <!-- x: end --> b"
    assert put_between(page, "x", "new") == "a <!-- x: begin -->\n\nnew\n<!-- x: end --> b"
    with pytest.raises(ValueError, match="y: begin"):
        put_between(page, "y", "new")
