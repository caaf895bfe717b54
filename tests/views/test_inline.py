"""Pictures that are part of the page's text."""

from __future__ import annotations

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.views.inline import spreads_of
from tests.views import reports


def spreads(resource: str, unit: str | None, *, nodes: tuple[str, ...] = ("algo-1",)) -> Exhibit:
    units = [("unit", "", [unit] * len(nodes))] if unit else []
    return reports.table(
        ("node", "", list(nodes)),
        ("resource", "", [resource] * len(nodes)),
        *units,
        ("max", "", [2.0] * len(nodes)),
        ("p5", "", [None] * len(nodes)),
        exhibit_id="spreads",
        title="Spreads",
    )


def test_the_only_resource_of_one_or_more_nodes_is_named():
    table = spreads_of(spreads("host memory", "%"), most_rows=9)
    assert table.name_heads == ("resource",)
    assert table.rows[0].names[0].text == "host memory"
    assert (table.heads, table.rows[0].values) == (("max",), ("2.0",))
    table = spreads_of(spreads("host memory", "%", nodes=("algo-1", "algo-2")), most_rows=9)
    assert table.name_heads == ("resource", "node")
    assert [row.span for row in table.rows] == [2, 0]


def test_names_that_all_say_the_same_are_left_out():
    assert spreads_of(spreads("training", None), most_rows=9).name_heads == ()


def test_the_names_that_stand_together_come_first_and_are_written_once():
    columns: list[tuple[str, str, list[object]]] = [
        ("node", "", ["algo-1", "algo-2", "algo-1", "algo-2"]),
        ("metric", "", ["GPU", "GPU", "CPU", "CPU"]),
        ("max", "%", [1.0, 2.0, 3.0, 4.0]),
    ]
    table = spreads_of(exhibit("p", ExhibitKind.TABLE, title="P", columns=columns), most_rows=9)
    assert table.name_heads == ("metric", "node")
    assert [row.span for row in table.rows] == [2, 0, 2, 0]
