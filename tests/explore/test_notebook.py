"""What the notebooks show: tables in UTC and seconds, and what was not recorded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import reportgen
from reportgen.explore import charts, selections, statistics
from reportgen.explore.notebook import NOT_RECORDED, Notebook, readable
from tests.builders import START_S, write_system

TRAIN = "Step:ModeKeys.TRAIN"
ORIGIN_US = 1_577_880_000_000_000  # 2020-01-01 12:00


def sampled(folder: Path) -> Notebook:
    write_system(folder, {"gpu0": [0.0, 50.0, 100.0], "cpu0": [49.9] * 3}, start_s=START_S)
    return Notebook(reportgen.open(str(folder)))


def test_instants_are_in_utc_and_durations_in_seconds() -> None:
    frame = pd.DataFrame(
        {"start_time_us": [1_500_000], "end_time_us": [1_500_020], "mean_us_other": [2_500_000.0]}
    )
    (row,) = readable(frame, origin_us=ORIGIN_US).to_dict("records")

    assert row == {
        "start, UTC 2020-01-01": "12:00:01.500000",
        "mean_s_other": "2.5",
        "duration_s": "0.00002",
    }


def test_a_table_of_two_days_has_the_day_in_each_row() -> None:
    frame = pd.DataFrame({"timestamp_us": [0, 86_400_000_000], "value": [1.0, 12_345.6]})

    assert readable(frame, origin_us=ORIGIN_US).to_numpy().tolist() == [
        ["2020-01-01 12:00:00.000000", "1"],
        ["2020-01-02 12:00:00.000000", "12,346"],
    ]


def test_long_names_are_cut_so_that_tables_fit() -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    (shown,) = readable(pd.DataFrame({"function": [name]}), origin_us=0)["function"]

    assert (len(shown), shown[:9], shown[-8:]) == (32, name[:9], name[-8:])


def test_what_was_not_recorded_is_said_with_the_command_that_records_it(tmp_path: Path) -> None:
    show = sampled(tmp_path)
    slow, _ = selections.split_steps(show.framework)

    assert show.missing == (
        "events", "steps", "functions", "waits", "set-ups", "workers", "python profiles",
    )  # fmt: skip
    assert show.table(slow, of="gpu, steps", none="No step is slow.") == NOT_RECORDED["steps"]
    steps = charts.duration_histogram(show.framework, by="process", title="Steps")
    for again in (show.chart(steps, of="gpu, steps"), show.text("All is well.", of="steps")):
        assert again == "No steps were recorded."  # how to record them was said
    assert "reportgen record -- python train.py" in NOT_RECORDED["steps"]
    assert show.lacks("gpu, cpu") == ""
    assert show.lacks("functions, waits") == " ".join(
        NOT_RECORDED[kind] for kind in ("functions", "waits")
    )


def test_what_is_recorded_and_empty_is_no_missing_recording(tmp_path: Path) -> None:
    show = sampled(tmp_path)
    nothing = show.system[show.system["value"] > 100]

    assert show.table(nothing, of="gpu", none="No sample.") == "No sample."
    none = charts.utilization_histogram(nothing)
    assert show.chart(none, of="gpu", none="No sample.")._repr_markdown_() == "No sample."
    assert type(show.chart(charts.utilization_histogram(show.system))).__name__ == "Figure"
    assert show.text("All is well.", of="gpu") == "All is well."


@pytest.mark.parametrize("value", ["length_us", "samples"])
def test_a_pie_has_the_shares_of_the_sums_largest_first(value: str) -> None:
    rows = pd.DataFrame({"phase": ["a", "b", "a"], value: [1_000_000, 3_000_000, 2_000_000]})
    rows.loc[len(rows)] = ["c", 6_000_000]
    (pie,) = charts.shares(rows, by="phase", value=value, title="Phases").data
    factor = 1e6 if value == "length_us" else 1
    assert list(pie.labels) == ["c", "a", "b"]
    assert pie["values"].tolist() == [6e6 / factor, 3e6 / factor, 3e6 / factor]
    assert ("(s)" in pie.hovertemplate) == (value == "length_us")


def test_low_samples_are_counted_for_gpus_and_cores(tmp_path: Path) -> None:
    system = sampled(tmp_path).system
    two_gpus = pd.concat([system, system.replace({"system_metric": {"gpu0": "gpu1"}})])
    assert statistics.low_samples(two_gpus).iloc[-1].tolist() == ["all nodes", "all GPUs", 6, 2, 2]

    found = statistics.low_samples(system)

    assert found.to_numpy().tolist() == [
        ["algo-1", "all cores", 3, 0, 3], ["algo-1", "gpu0", 3, 1, 1],
    ]  # fmt: skip
