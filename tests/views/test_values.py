"""Numbers and names as people read them."""

import pytest

from reportgen import text_safety
from reportgen.results import column
from reportgen.views import values


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (41.25, "%", "41.2 %"),
        (0, "%", "0.0 %"),
        (1_555_200, "", "1,555,200"),
        (0.31, "s", "310 ms"),
        (12.4, "s", "12.4 s"),
        (698, "s", "11 min 38 s"),
        (46_100_000, "us", "46.1 s"),
        (0, "s", "0 s"),
        (1_560_000, "bytes", "1.56 MB"),
        (98_400_000, "bytes/s", "98.4 MB/s"),
        (999_600, "bytes", "1 MB"),
        (0.9996, "s", "1 s"),
        (0.00099996, "s", "1 ms"),
        (3.1416, "", "3.142"),
        (12.5, "points", "12.5 points"),
        (None, "%", "–"),
        (True, "", "yes"),
        ("a name", "s", "a name"),
    ],
)
def test_a_value_is_written_with_its_unit(value, unit, text):
    assert values.format_value(value, unit) == text


def test_a_column_of_numbers_has_the_same_decimals_throughout():
    assert values.format_column([98.0, 2.1, None, 0.4]) == ["98.00", "2.10", "–", "0.40"]
    assert values.format_column([0.7961, 0.2]) == ["0.7961", "0.2000"]
    assert values.format_column([1200.0, 3.0]) == ["1,200", "3"]
    assert values.format_column([1200.5, 3.0]) == ["1,200.5", "3.0"]


def test_an_instant_is_utc_and_a_relative_one_counts_seconds():
    assert values.format_instant(1_783_071_021.53) == "2026-07-03 09:30:21.5"
    assert values.format_instant(12.5, is_unix=False) == "12.500 s"


def test_an_interval_says_zone_and_length_and_names_the_day_once():
    text = values.format_interval(1_783_071_021.5, 1_783_071_060.0, is_unix=True)
    assert text == "2026-07-03 09:30:21 – 09:31:00 UTC (38.5 s)"
    assert (
        values.format_interval(1_783_071_021.5, None, is_unix=True) == "2026-07-03 09:30:21.5 UTC"
    )
    assert values.format_interval(None, None, is_unix=True) == ""
    assert values.format_interval(1.0, 1.5, is_unix=False) == "1.000 s – 1.500 s (500 ms)"


@pytest.mark.parametrize(
    ("length_s", "said"),
    [
        (78.4, "09:30:08 – 09:31:26 UTC (1 min 18 s)"),
        (78.74, "09:30:08.0 – 09:31:26.7 UTC (1 min 19 s)"),
        (3_678.74, "09:30:08 – 10:31:26 UTC (1 h 01 min)"),
    ],
)
def test_whole_seconds_are_as_far_apart_as_the_length_says(length_s: float, said: str):
    text = values.format_interval(1_783_071_008.0, 1_783_071_008.0 + length_s, is_unix=True)
    assert text == f"2026-07-03 {said}"


def test_an_interval_below_a_second_is_written_in_milliseconds():
    text = values.format_interval(1_783_071_021.51, 1_783_071_021.54, is_unix=True)
    assert text == "2026-07-03 09:30:21.510 – 09:30:21.540 UTC (30 ms)"

    text = values.format_interval(1_783_071_021.51, 1_783_071_021.5101, is_unix=True)
    assert text == "2026-07-03 09:30:21.510 UTC (100 µs)"

    text = values.format_interval(1_783_071_021.51, None, is_unix=True, is_fine=True)
    assert text == "2026-07-03 09:30:21.510 UTC"


def test_an_instant_on_the_second_has_no_empty_tenth():
    assert values.format_interval(1_783_071_021.0, None, is_unix=True) == "2026-07-03 09:30:21 UTC"
    assert values.format_interval(2.0, None, is_unix=False) == "2.000 s"


def test_columns_of_unix_seconds_are_known_by_name_and_size():
    assert values.is_instant(column("start_s", "s", [1_783_071_000.0, None]))
    assert not values.is_instant(column("start_s", "s", [12.0]))
    assert not values.is_instant(column("duration_s", "s", [1_783_071_000.0]))
    assert not values.is_instant(column("end_s", "", ["later"]))


def test_a_heading_leaves_the_unit_to_the_values():
    assert values.heading_of("busy_us") == "busy"
    assert values.heading_of("p95_pct") == "p95"
    assert values.heading_of("pct") == "share"
    assert values.heading_of("GPU memory") == "GPU memory"
    assert values.heading_of("io_wait_pct") == "I/O wait"
    assert values.heading_of("gpu_s") == "GPU time"
    assert values.heading_of("gpus_idle_ratio") == "GPUs idle"
    assert values.heading_of("gb_per_s") == "bandwidth"


@pytest.mark.parametrize(
    ("edges", "unit", "texts"),
    [
        ((100e3, 118e3), "us", ["100 ms", "118 ms"]),
        ((117.94, 118.02, 118.1), "ms", ["117.9 ms", "118.0 ms", "118.1 ms"]),
        ((53.9, 54.1), "us", ["53.9 µs", "54.1 µs"]),
        ((125.2, 125.4), "s", ["125.2 s", "125.4 s"]),
        ((None, 2.0), "s", ["–", "2 s"]),
    ],
)
def test_edges_of_bins_look_as_different_as_they_are(edges, unit, texts):
    assert values.format_edges(edges, unit) == texts


def test_a_long_name_keeps_both_ends_and_the_whole_is_at_hand():
    name = "void cutlass::Kernel<" + "x" * 300 + ">(Params)"
    shown = values.shorten(name)
    assert len(shown.text) == 96
    assert shown.text.startswith("void cutlass")
    assert shown.text.endswith(">(Params)")
    assert shown.full == name
    assert values.shorten("short").full == ""


def test_control_characters_and_marks_of_direction_become_visible():
    assert text_safety.clean("a\u202eb\x00c\u2066d") == "a\ufffdb\ufffdc\ufffdd"
    assert text_safety.clean("tab\tline\nend 👩‍🔬") == "tab\tline\nend 👩‍🔬"


def test_plotly_sees_no_markup_in_a_label():
    assert values.plot_label("<b>a</b>&") == "&lt;b&gt;a&lt;/b&gt;&amp;"


def test_labels_that_shorten_alike_stay_distinct():
    names = ["kernel" + "x" * 60 + "a", "kernel" + "x" * 60 + "a"]
    assert len(set(values.unique_labels(names))) == 2


def test_names_are_listed_with_the_rest_counted():
    assert (
        values.format_names([f"algo-{at}" for at in range(64)])
        == "algo-0, algo-1, algo-2 and 61 more"
    )
    assert values.format_names(["algo-1"]) == "algo-1"


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (1.0, "loaders", "1 loader"),
        (1, "steps", "1 step"),
        (1, "standard deviations", "1 standard deviation"),
        (1, "GPUs", "1 GPU"),
        (2, "loaders", "2 loaders"),
        (1.5, "steps", "1.5 steps"),
        (0, "steps", "0 steps"),
        (1, "times the median", "1 times the median"),
        (1, "Mbps", "1 Mbps"),
        (1, "loss", "1 loss"),
    ],
)
def test_one_of_what_is_counted_is_said_in_the_singular(value, unit, said):
    assert values.format_value(value, unit) == said


def test_a_duration_stays_on_one_line():
    held = values.prose("63.1 % of it (7 min 34 s) was lost, 3 h 51 min in all, 5 min 2 steps")
    assert held.replace("\u00a0", "_") == (
        "63.1_% of it (7_min_34_s) was lost, 3_h_51_min in all, 5_min 2 steps"
    )


@pytest.mark.parametrize("time_s", [1e300, -1e300, 253_402_300_799.99])
def test_what_lies_in_no_year_is_seconds_and_no_date(time_s):
    assert values.format_instant(time_s).endswith(" s")
    assert values.format_moment(time_s).endswith(" s")
    assert values.plotly_date(time_s * 1000) is None


def test_a_number_without_end_and_a_unit_of_100_000_letters_are_written_at_once() -> None:
    assert values.format_number(float("inf")) == "inf"
    assert values.format_value(1e308, "% " + "a" * 100_000).endswith("a" * 70)
    assert len(values.format_value(3, "a" * 100_000)) < 100
