from __future__ import annotations

import pytest

from reportgen.results import ColumnType, ExhibitKind, Role, Severity
from reportgen.rules.kit import (
    Message,
    col,
    columns_of,
    derived,
    merge,
    ranking,
    row,
    table,
)
from reportgen.units import NS_PER_US


@row
class Queue:
    node: str
    rank: int = col()
    device: str | None = col()
    spent_ns: int = col("us", name="spent_us", per=NS_PER_US)
    share_pct: float = col("%", digits=1, role=Role.GPU)


QUEUES = [Queue(node="a", rank=0, device=None, spent_ns=1_500, share_pct=12.34)]


def test_the_declared_fields_of_a_row_are_the_columns_of_its_table() -> None:
    built = table("queues", QUEUES, Queue, title="Queues", caption="By rank.")

    assert built.kind is ExhibitKind.TABLE
    assert [(item.name, item.unit, item.values) for item in built.columns] == [
        ("rank", "", (0,)),
        ("device", "", (None,)),
        ("spent_us", "us", (1.5,)),
        ("share_pct", "%", (12.3,)),
    ]
    assert built.columns[3].role is Role.GPU


def test_the_types_of_columns_are_declared_whatever_the_values() -> None:
    declared = [ColumnType.INT, ColumnType.TEXT, ColumnType.FLOAT, ColumnType.FLOAT]

    assert [item.type for item in columns_of(QUEUES, Queue)] == declared
    assert [item.type for item in columns_of([], Queue)] == declared


@row
class Share:
    done: int = col()
    rest: int = derived(lambda item: 10 - item.done)
    total: int


def test_a_derived_column_is_computed_from_its_row_and_never_passed() -> None:
    one = Share(done=3, total=10)

    assert [(item.name, item.values) for item in columns_of([one], Share)] == [
        ("done", (3,)),
        ("rest", (7,)),
    ]
    assert one == Share(done=3, total=10) == merge([one, Share(done=4, total=10)])


@row
class Waited:
    rank: int = col()
    waited_ns: int = col("us", name="waited_us", per=NS_PER_US, reduce=sum)


def test_a_column_may_say_how_it_merges() -> None:
    assert merge([Waited(rank=3, waited_ns=1_000), Waited(rank=3, waited_ns=500)]) == Waited(
        rank=3, waited_ns=1_500
    )


FULL = Message(
    id="QUEUE-1",
    title="The queue is full {measured:pct} of the time",
    text="{spent:ns} of {node}, limit {threshold:pct}, in {n:count step}.",
    advice="Look at {node}.",
    exhibit="queues",
)


def test_a_message_becomes_a_finding_with_its_numbers() -> None:
    found = FULL.finding(measured=12.34567, threshold=10, spent=2_000_000, node="algo-1", n=1)

    assert found.title == "The queue is full 12.3 % of the time"
    assert found.text == "2 ms of algo-1, limit 10.0 %, in 1 step."
    assert found.advice == "Look at algo-1."
    assert (found.measured, found.threshold, found.unit) == (12.3457, 10.0, "%")
    assert (found.severity, found.exhibit, found.estimate) == (Severity.INFO, "queues", None)


def test_a_message_without_one_of_its_numbers_is_an_error() -> None:
    with pytest.raises(KeyError, match="spent"):
        FULL.finding(measured=1.0, threshold=1.0, node="algo-1", n=1)


def test_a_ranking_adds_up_what_it_does_not_show() -> None:
    built = ranking(
        "top",
        [("a", 3_000), ("b", 2_000), ("c", 1_000), ("d", 2_000)],
        title="Top",
        caption="By time.",
        name="operator",
        amount=("time_us", "us"),
        most=2,
        others="operator",
        per=NS_PER_US,
        roles=[Role.GPU] * 4,
    )

    assert [item.values for item in built.columns] == [
        ("a", "b", "others (2 operators)"),
        (3.0, 2.0, 3.0),
        (37.5, 25.0, 37.5),
    ]
    assert built.caption == "By time. Showing 2 of 4; the table has all."
    assert built.row_roles == (Role.GPU, Role.GPU, Role.OTHER)


def test_a_ranking_that_shows_all_counts_nothing_up() -> None:
    built = ranking("top", [("a", 1)], title="Top", amount=("n", ""), most=2)

    assert (built.n_rows, built.caption, built.row_roles) == (1, "", ())
