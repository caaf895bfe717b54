"""Pies: which exhibits are one, what is in them, and what stands in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.gpu_time_budget import RULE
from reportgen.views.charts import shares
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import exhibit_block
from reportgen.views.inline import PieDrawing, pie_of
from tests.builders import known
from tests.views import reports

UNIX = ChartContext(rule_id="Rule", is_unix=True)


def drawn(parts: dict[str, float]) -> PieDrawing:
    """Return the pie of some parts."""
    return pie_of(reports.shares("s", "Parts", parts))


def operators(*columns: tuple[str, str, list[float]], kind: ExhibitKind) -> Exhibit:
    """Return a list of operators."""
    names = ("operator", "", [f"aten::op{at}" for at in range(len(columns[0][2]))])
    return exhibit("operators", kind, title="Operators", columns=[names, *columns])


def test_large_parts_carry_their_share_and_small_ones_are_in_the_legend() -> None:
    drawing = drawn({"forward": 60.0, "waiting for other ranks": 38.0, "others": 2.0})
    assert [sector.label for sector in drawing.sectors] == ["60.0 %", "38.0 %", ""]
    assert "others 2.0 %" in drawing.alt


@pytest.mark.parametrize(
    ("shares_pct", "written", "remark"),
    [
        (
            {"a": 79.86, "b": 7.86, "c": 11.86, "others": 0.42},
            [79.9, 7.9, 11.9, 0.4],
            "Each share is rounded; together they are 100.1 %.",
        ),
        ({"a": 50.06, "b": 49.94, "others": 0.0}, [50.1, 49.9, 0.0], ""),
        (
            {"idle": 56.338, "compute": 5.632, "overlap": 1.29, "comm": 36.615, "copy": 0.125},
            [56.3, 5.6, 1.3, 36.6, 0.1],
            "Each share is rounded; together they are 99.9 %.",
        ),
    ],
)
def test_shares_are_written_as_sentences_write_them_and_a_remark_names_another_sum_than_100(
    shares_pct: dict[str, float], written: list[float], remark: str
) -> None:
    values = list(shares_pct.values())
    columns: list[tuple[str, str, list[object]]] = [
        ("part", "", [*shares_pct]),
        ("time_us", "us", [*values]),
        ("pct", "%", [*values]),
    ]
    info = shares.info(exhibit("s", ExhibitKind.SHARES, title="S", columns=columns))
    assert [part.pct.text for part in info.parts] == [f"{value} %" for value in written]
    assert [float(part.pct.exact) for part in info.parts] == values
    assert info.remark == remark


def test_a_part_that_is_all_has_its_share_in_the_middle() -> None:
    (sector,) = drawn({"cpu_functions": 5.0, "gpu_functions": 0.0}).sectors
    assert (sector.x, sector.y, sector.label) == (0, 0, "100.0 %")


@pytest.mark.parametrize(("n_parts", "n_sectors"), [(2, 2), (8, 8), (9, 8), (30, 8)])
def test_of_more_than_eight_parts_the_smallest_are_one(n_parts: int, n_sectors: int) -> None:
    made = reports.shares("s", "x", {f"part {at}": 40.0 - at for at in range(n_parts)})
    found = shares.info(made)
    assert len(found.parts) == n_sectors
    assert len(found.folded) == (0 if n_parts <= 8 else n_parts - 7)
    assert sum(part.width_pct for part in found.parts) == pytest.approx(100, abs=0.5)


def test_what_a_rule_calls_others_joins_the_others() -> None:
    parts = {"others (161 operators)": 60.0, **{f"op {at}": 5.0 for at in range(8)}}
    found = shares.info(reports.shares("s", "x", parts))
    assert [part.name.text for part in found.parts] == [f"op {at}" for at in range(7)] + [
        "the rest"
    ]


def test_shares_are_pies_and_the_gpu_time_budget_is_a_bar() -> None:
    phases = exhibit_block(reports.shares("phases", "Phases", {"a": 1.0, "b": 2.0}), UNIX).html
    assert "rg-pie" in phases
    assert "rg-stack" not in phases
    named = reports.shares("budget", "Budget", {"busy_high": 1.0, "straggler": 2.0})
    bar = exhibit_block(replace(named, place=RULE.places["budget"]), UNIX).html
    assert "rg-stack" in bar
    assert "rg-pie" not in bar


@pytest.mark.parametrize("others", [{}, {"gpu_functions": 0.0}])
def test_one_part_is_listed_and_not_drawn(others: dict[str, float]) -> None:
    alone = reports.shares("budget", "Operators", {"cpu_functions": 16.3, **others})
    listed = operators(("pct", "%", [100.0]), kind=ExhibitKind.BARS)
    for exhibit_ in (alone, replace(alone, place=RULE.places["budget"]), listed):
        html = exhibit_block(exhibit_, UNIX).html
        assert "rg-pie" not in html
        assert "rg-stack" not in html
        assert "100.0 %" in html


def test_bars_in_percent_of_a_whole_are_the_legend_of_a_pie() -> None:
    bars_ = operators(
        ("pct", "%", [60.0, 39.9]), ("time_us", "us", [6.0, 4.0]), kind=ExhibitKind.BARS
    )
    html = exhibit_block(bars_, UNIX).html
    assert "rg-pie" in html
    assert "rg-bars rg-legend" in html
    assert html.count("rg-swatch") == 2
    assert "The pie shows" not in html


def test_operators_are_divided_by_their_self_time_which_does_not_overlap() -> None:
    made = operators(
        ("total_s", "s", [9.0, 8.0]), ("self_s", "s", [1.0, 3.0]), kind=ExhibitKind.BARS
    )
    whole = known(shares.whole_of(made))
    assert whole.name == "self_s"
    assert [part.width_pct for part in shares.parts_of_bars(made, whole)] == [25.0, 75.0]
    assert "The pie shows the shares of “self”." in exhibit_block(made, UNIX).html


@pytest.mark.parametrize(
    "columns",
    [
        [("pct", "%", [60.0, 30.0])],
        [("pct", "%", [110.0, -10.0])],
        [("last_pct", "%", [60.0, 40.0]), ("fair_pct", "%", [50.0, 50.0])],
        [("time_s", "s", [1.0, 2.0])],
        [("self_s", "s", [0.0, 0.0])],
    ],
)
def test_bars_that_are_no_whole_have_no_pie(columns: list[tuple[str, str, list[float]]]) -> None:
    made = operators(*columns, kind=ExhibitKind.BARS)
    assert shares.whole_of(made) is None
    assert "rg-pie" not in exhibit_block(made, UNIX).html


def test_the_operators_that_sagemaker_lists_are_a_pie() -> None:
    total = ("total_us", "us", [3.0, 1.0])
    listed = operators(total, ("aws_pct", "%", [75.0, 25.0]), kind=ExhibitKind.TABLE)
    assert "rg-pie" in exhibit_block(listed, UNIX).html
    of_ours = operators(
        total,
        ("self_pct", "%", [1.0, 99.0]),
        ("aws_pct", "%", [75.0, 25.0]),
        kind=ExhibitKind.TABLE,
    )
    part = operators(total, ("aws_pct", "%", [60.0, 25.0]), kind=ExhibitKind.TABLE)
    for table in (of_ours, part):
        assert shares.as_shares(table) is table
