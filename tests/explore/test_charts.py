"""Charts of notebooks: the info holds the numbers, the figure only has to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reportgen
from reportgen.explore import Job, charts, compare, functions_at, in_intervals
from tests.builders import START_S, timeline_lines, write_system, write_timeline

TRAIN = "Step:ModeKeys.TRAIN"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder: Path = tmp_path_factory.mktemp("job")
    gpu = [0.0, 1.9, 2.0, 99.0, 100.0] * 24
    write_system(folder, {"gpu0": gpu, "gpu10": gpu, "cpu0": [50.0] * 120}, start_s=START_S)
    rows: list[Any] = [
        (TRAIN, TRAIN, START_S + 5 * k, START_S + 5 * k + (1.0 if k < 9 else 4.0), {"step": k})
        for k in range(10)
    ]
    rows += [("Loader", "GetNext", START_S + 5 * k + 2, START_S + 5 * k + 3) for k in range(10)]
    write_timeline(folder, timeline_lines(rows))
    return reportgen.open(str(folder))


def columns(exhibit) -> dict[str, tuple[Any, ...]]:
    return {column.name: column.values for column in exhibit.columns}


def test_the_heat_map_has_a_row_per_device_in_numeric_order(job: Job) -> None:
    info = charts.heatmap_info(job.system_metrics(), origin_us=job.origin_us)
    found = columns(info)

    rows = list(dict.fromkeys(found["row"]))
    assert rows == ["algo-1 gpu0", "algo-1 gpu10", "algo-1 cpu0"]
    assert found["time_s"][0] == START_S
    assert found["utilization_pct"][:3] == pytest.approx((0.95, 50.5, 50.0))  # two samples a cell
    assert charts.figure(info).data[0].z["shape"].startswith("3, ")


def test_the_histogram_counts_every_sample_and_the_last_bin_holds_100(job: Job) -> None:
    info = charts.utilization_histogram_info(job.system_metrics(), by="system_metric")
    found = columns(info)

    assert sum(found["gpu0"]) == sum(found["gpu10"]) == 120
    assert (found["gpu0"][0], found["gpu0"][1], found["gpu0"][49]) == (48, 24, 48)
    assert charts.figure(info).data


def test_the_step_histogram_reaches_to_the_longest_step(job: Job) -> None:
    found = columns(charts.step_histogram_info(job.framework_metrics()))

    assert found["bin_end"][-1] == 4_000.0
    assert (sum(found[TRAIN]), found[TRAIN][-1]) == (10, 1)


def test_the_window_shows_series_events_and_step_markers(job: Job) -> None:
    info = charts.window_info(
        job, since=START_S + 10, until=START_S + 20, dimensions=["GPUUtilization"]
    )

    assert [line.name for line in info.lines] == ["algo-1 gpu0", "algo-1 gpu10", "algo-1-27 steps"]
    assert [line.panel for line in info.lines] == [*["GPUUtilization"] * 2, "step duration"]
    assert info.lines[2].x == [(START_S + 5 * k) * 1e3 for k in (2, 3, 4)]
    assert info.lines[2].y == [1_000.0] * 3
    assert info.lines[2].texts == ["step 2", "step 3", "step 4"]
    assert len(info.lines[0].x) == 21
    (lane,) = info.lanes
    assert lane.name == "GetNext"
    assert lane.starts_ms == [(START_S + 12) * 1e3, (START_S + 17) * 1e3]
    assert lane.lengths_ms == [1_000.0, 1_000.0]
    assert info.step_ms == tuple((START_S + 5 * k) * 1e3 for k in (2, 3, 4))
    figure = charts.figure(info)
    assert len(figure.data) == 4
    assert len(figure.layout.shapes) == 3
    assert figure.layout.xaxis.anchor == "y3"


def test_of_many_steps_the_longest_are_drawn_and_the_chart_says_so(tmp_path: Path) -> None:
    rows: list[Any] = [
        (TRAIN, TRAIN, START_S + k, START_S + k + (0.9 if k == 7 else 0.5), {"step": k})
        for k in range(2_100)
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    opened = reportgen.open(str(tmp_path))
    info = charts.window_info(opened, since=START_S, until=START_S + 3_000)

    (line,) = info.lines
    assert len(line.x) == 2_000
    assert max(line.y) == 900.0
    assert line.texts[list(line.y).index(900.0)] == "step 7"
    assert "2,000 of 2,100 steps are drawn" in charts.figure(info).layout.title.text


def test_a_window_without_anything_is_an_empty_chart(job: Job) -> None:
    info = charts.window_info(job, since=START_S + 10, until=START_S + 20, events=[], dimensions=[])

    assert (info.lines, info.lanes) == ((), ())
    assert charts.figure(info).data == ()


def test_a_long_series_keeps_its_extremes(tmp_path: Path) -> None:
    values = [50.0] * 6_000
    values[3_333] = 0.0
    write_system(tmp_path, {"gpu0": values}, start_s=START_S)
    opened = reportgen.open(str(tmp_path))
    info = charts.window_info(opened, since=START_S, until=START_S + 3_000)

    (line,) = info.lines
    assert len(line.x) < 2_000
    assert min(line.y) == 0.0
    assert max(line.y) == 50.0


def test_functions_of_one_name_are_told_apart_by_their_phase() -> None:
    from tests.builders import span_table

    spans = span_table([("A", "f", 10.0, 11.0), ("B", "f", 10.0, 12.0), ("B", "g", 10.0, 10.5)])
    whole = in_intervals(np.array([0]), np.array([10**12]))
    joined = compare(functions_at(spans, whole), functions_at(spans, whole))
    info = charts.comparison_info(joined, sides=("slow", "normal"))

    assert set(info.names) == {"f · A", "f · B", "g"}
    assert info.values[0] == info.values[1]
    figure = charts.figure(info)
    assert [trace.name for trace in figure.data] == ["slow", "normal"]
