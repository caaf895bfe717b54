"""Tables: whole while short, folded while long, condensed where they are curves."""

from collections.abc import Sequence

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.views.summary_table import CONDENSED_ROWS, data_of
from reportgen.views.tables import FIRST_ROWS, MOST_CELLS, headings_of, table_of
from reportgen.views.values import Shown
from tests.views import reports

FILE = "Rule.json"


def _texts(rows: Sequence[Sequence[Shown]]) -> list[list[str]]:
    return [[shown.text for shown in row] for row in rows]


def _table(n_rows: int) -> Exhibit:
    return reports.table(("step", "", list(range(n_rows))), ("duration_s", "s", [0.25] * n_rows))


def test_fifteen_rows_are_shown_and_the_sixteenth_folds_all_but_ten():
    assert len(table_of(_table(15), is_unix=True, file=FILE).rows) == 15
    longer = table_of(_table(16), is_unix=True, file=FILE)
    assert (len(longer.rows), len(longer.folded)) == (FIRST_ROWS, 6)


def test_rows_beyond_the_limit_are_counted_and_the_file_is_named():
    table = table_of(_table(2_345), is_unix=True, file=FILE)
    assert len(table.rows) + len(table.folded) == MOST_CELLS // 2
    assert table.remark == "1,145 more rows are in Rule.json, under “t”."


def test_units_are_in_the_cells_and_not_in_the_headings():
    table = table_of(_table(1), is_unix=True, file=FILE)
    assert [head.text for head in table.heads] == ["step", "duration"]
    assert _texts(table.rows) == [["0", "250 ms"]]
    assert table.column_classes == "n1 n2"


def test_a_column_of_units_gives_its_row_the_unit():
    table = table_of(reports.usage_table(), is_unix=True, file=FILE)
    assert [head.text for head in table.heads][:3] == ["node", "metric", "max"]
    assert _texts(table.rows)[0] == [
        "algo-1",
        "GPU",
        "98.0 %",
        "92.4 %",
        "74.0 %",
        "41.2 %",
        "0.0 %",
    ]
    assert _texts(table.rows)[5][2] == "98.4 MB/s"


def test_unix_seconds_are_utc_and_relative_ones_stay_numbers():
    steps = reports.steps_table(1)
    (row,) = _texts(table_of(steps, is_unix=True, file=FILE).rows)
    assert row[2] == "09:30:00.0"
    heads = table_of(steps, is_unix=True, file=FILE).heads
    assert (heads[2].text, heads[2].note) == ("start", "2026-07-03 UTC")


def test_instants_of_several_days_say_theirs():
    made = reports.table(("start_s", "s", [1_783_071_000.0, 1_783_171_000.0]))
    table = table_of(made, is_unix=True, file=FILE)
    assert table.heads[0].note == "UTC"
    assert _texts(table.rows) == [["2026-07-03 09:30:00.0"], ["2026-07-04 13:16:40.0"]]


def test_instants_within_a_few_seconds_show_more_than_a_tenth():
    made = reports.table(("start_s", "s", [1_783_071_000.41, 1_783_071_000.43]))
    table = table_of(made, is_unix=True, file=FILE)
    assert _texts(table.rows) == [["09:30:00.410000"], ["09:30:00.430000"]]


def test_columns_that_differ_by_unit_alone_say_it():
    made = reports.table(("self_us", "us", [1]), ("self_pct", "%", [2]), ("pct_of_all", "%", [3]))
    heads = table_of(made, is_unix=True, file=FILE).heads
    assert [head.text for head in heads] == ["self time", "self %", "share of all"]


def test_cells_hold_the_exact_value_where_they_say_less():
    made = reports.table(
        ("duration_s", "s", [0.1234567, None]),
        ("n_samples", "", [1_234, 5]),
        ("p95", "%", [41.23, 100.0]),
    )
    table = table_of(made, is_unix=True, file=FILE)
    assert [[item.exact for item in row] for row in table.rows] == [
        ["0.1234567", "1234", "41.23"],
        ["", "5", "100"],
    ]
    assert [head.name for head in table.heads] == ["duration_s", "n_samples", "p95 (%)"]


def test_absent_values_are_dashes_and_never_zeros():
    made = exhibit("t", ExhibitKind.TABLE, title="T", columns=[("p95_pct", "%", [None, 0.0])])
    assert _texts(table_of(made, is_unix=True, file=FILE).rows) == [["–"], ["0.0 %"]]


def test_a_condensed_curve_keeps_its_lowest_and_highest_value():
    """A dip and a peak of one bucket each, in 660."""
    mean = [50.0] * 660
    low, high = list(mean), list(mean)
    low[333], high[500] = 1.5, 99.5
    made = reports.drawn(
        ExhibitKind.BAND,
        ("time_s", "s", reports.times()),
        ("gpu0_min", "%", low),
        ("gpu0_mean", "%", mean),
        ("gpu0_max", "%", high),
        exhibit_id="gpu",
    )
    table = data_of(made, is_unix=True, file=FILE)
    rows = _texts(table.rows)
    assert len(rows) == CONDENSED_ROWS
    assert [row[1] for row in rows].count("1.5 %") == 1
    assert [row[3] for row in rows].count("99.5 %") == 1
    assert table.remark == "Reduced from 660 points. Rule.json has all of them, under “gpu”."


def test_many_curves_are_a_row_each_with_the_time_of_their_extremes():
    made = reports.band("gpu", "T", {f"gpu{at}": (40, 20) for at in range(8)})
    table = data_of(made, is_unix=True, file=FILE)
    assert len(table.rows) == 8
    assert [head.text for head in table.heads] == [
        "curve",
        "lowest",
        "when lowest",
        "highest",
        "when highest",
    ]


def test_a_heat_map_is_a_row_per_device():
    table = data_of(reports.heatmap(4), is_unix=True, file=FILE)
    assert [row[0] for row in _texts(table.rows)] == [f"algo-1 gpu{at}" for at in range(4)]


def test_a_short_series_is_shown_point_by_point():
    made = reports.drawn(
        ExhibitKind.SERIES, ("time_s", "s", [1_783_071_000.0]), ("cpu", "%", [12.34])
    )
    assert _texts(data_of(made, is_unix=True, file=FILE).rows) == [["09:30:00.0", "12.3 %"]]


def test_starts_of_kernel_traces_are_instants_to_the_microsecond() -> None:
    steps = reports.table(
        ("step", "", [1, 2]),
        ("start_us", "us", [1_783_071_021_250_001.0, 1_783_071_021_300_002.0]),
        exhibit_id="steps",
        title="Steps",
    )
    table = table_of(steps, is_unix=True, file=FILE)

    assert _texts(table.rows) == [["1", "09:30:21.250001"], ["2", "09:30:21.300002"]]
    assert table.heads[1].note == "2026-07-03 UTC"


def test_a_text_beside_a_number_of_its_name_is_no_count() -> None:
    columns = reports.table(("window", "", ["gpu"]), ("window_us", "us", [1.0])).columns
    assert headings_of(columns) == ["window", "window time"]


def test_a_column_without_any_value_is_left_out():
    found = reports.table(
        ("step", "", [1, 2]), ("usd", "USD", [None, None]), ("pct", "%", [None, 5.0])
    )
    table = table_of(found, is_unix=True, file=FILE)
    assert [head.text for head in table.heads] == ["step", "share"]
    assert _texts(table.rows) == [["1", "–"], ["2", "5.0 %"]]


def test_moments_of_a_clock_without_a_date_are_seconds_and_not_lengths():
    table = reports.table(
        ("start_us", "us", [4_417_382_123_456.5]),
        ("end_s", "s", [4_417_382.25]),
        ("time_us", "us", [1_500.0]),
    )
    (row,) = _texts(table_of(table, is_unix=True, file=FILE).rows)
    assert row == ["4,417,382.123456 s", "4,417,382.250 s", "1.5 ms"]


def test_empty_bins_of_a_histogram_are_left_out_of_its_table_and_said():
    made = reports.histogram("h", "T", {"gpu": 50.0})
    counts = made.columns[2].values
    table = data_of(made, is_unix=True, file=FILE)
    shown = _texts([*table.rows, *table.folded])
    assert [row[2] for row in shown] == [f"{count:,}" for count in counts if count]
    assert 0 < len(shown) < len(counts)
    assert table.remark == "Empty bins are left out."


def test_a_short_name_stands_in_place_of_the_first_column_with_the_whole_name_behind_it():
    made = reports.drawn(
        ExhibitKind.TABLE,
        ("name", "", ["void at::native::kernel<float>(int)", "gemm"]),
        ("short_name", "", ["kernel", "gemm"]),
        ("sum_us", "us", [20.0, 5.0]),
    )
    table = table_of(made, is_unix=True, file=FILE)
    assert [head.text for head in table.heads] == ["name", "sum"]
    assert [(row[0].text, row[0].full) for row in table.rows] == [
        ("kernel", "void at::native::kernel<float>(int)"),
        ("gemm", ""),
    ]
