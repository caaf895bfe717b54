"""Charts of notebooks: figures hold the numbers of the frames."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

import reportgen
from reportgen.explore import Job, charts, compare, functions_at
from tests.builders import START_S, span_table, timeline_lines, write_system, write_timeline

NOTHING, WHOLE = span_table([]), (np.array([0]), np.array([10**12]))
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


def values_of(figure: Figure) -> dict[str, list[Any]]:
    """Return what each trace of bars or lines shows on its y axis."""
    return {trace.name: list(trace.y) for trace in figure.data}


def test_the_heat_map_has_a_row_per_device_in_numeric_order(job: Job) -> None:
    (cells,) = charts.heatmap(job.system_metrics(), origin_us=job.origin_us).data

    assert list(cells.y) == ["algo-1 gpu0", "algo-1 gpu10", "algo-1 cpu0"]
    assert cells.x[0] == np.datetime64(int(START_S), "s")
    assert cells.z[:, 0].tolist() == pytest.approx([0.95, 0.95, 50.0])  # two samples a cell


def test_the_histogram_counts_every_sample_and_the_last_bin_holds_100(job: Job) -> None:
    found = values_of(charts.utilization_histogram(job.system_metrics(), by="system_metric"))

    assert sum(found["gpu0"]) == sum(found["gpu10"]) == 120
    assert (found["gpu0"][0], found["gpu0"][1], found["gpu0"][49]) == (48, 24, 48)


def test_the_histogram_of_durations_reaches_to_the_longest_step(job: Job) -> None:
    steps = job.framework_metrics(processes="Step.*")
    (bars,) = charts.duration_histogram(steps, by="process", title="Steps").data

    assert bars.x[-1] + bars.width == 4_000.0
    assert (sum(bars.y), bars.y[-1]) == (10, 1)


def test_the_window_shows_series_steps_and_events(job: Job) -> None:
    figure = charts.window(
        job, since=START_S + 10, until=START_S + 20, dimensions=["GPUUtilization"]
    )
    gpu0, _, steps, lane = figure.data

    assert [trace.name for trace in figure.data] == [
        "algo-1 gpu0", "algo-1 gpu10", "algo-1-27 steps", "GetNext",
    ]  # fmt: skip
    assert [trace.yaxis for trace in figure.data] == ["y", "y", "y2", "y3"]
    assert len(gpu0.x) == 21
    assert steps.x.tolist() == [at(5 * k) for k in (2, 3, 4)]
    assert steps.y.tolist() == [1_000.0] * 3
    assert list(steps.text) == ["step 2", "step 3", "step 4"]
    assert lane.base.tolist() == [at(12), at(17)]
    assert lane.x.tolist() == [1_000.0, 1_000.0]
    assert figure.layout.xaxis3.range == ((START_S + 10) * 1e3, (START_S + 20) * 1e3)


def at(second: float) -> datetime:
    """The instant so many seconds after the start, as numpy gives it."""
    return datetime.fromtimestamp(START_S + second, UTC).replace(tzinfo=None)


def test_of_many_steps_the_longest_are_drawn_and_the_chart_says_so(tmp_path: Path) -> None:
    rows: list[Any] = [
        (TRAIN, TRAIN, START_S + k, START_S + k + (0.9 if k == 7 else 0.5), {"step": k})
        for k in range(2_100)
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    figure = charts.window(reportgen.open(str(tmp_path)), since=START_S, until=START_S + 3_000)

    (line,) = figure.data
    assert len(line.x) == 2_000
    assert max(line.y) == 900.0
    assert line.text[list(line.y).index(900.0)] == "step 7"
    assert "2,000 of 2,100 steps are drawn" in figure.layout.title.text


def test_what_has_nothing_to_show_says_so(job: Job) -> None:
    system, framework = job.system_metrics().iloc[:0], job.framework_metrics().iloc[:0]
    joined = compare(functions_at(NOTHING, *WHOLE), functions_at(NOTHING, *WHOLE))
    for figure in (
        charts.heatmap(system, origin_us=0),
        charts.utilization_histogram(system),
        charts.duration_histogram(framework, by="process", title="Steps"),
        charts.shares(framework, by="process", value="step", title="Steps"),
        charts.comparison(joined, sides=("slow", "normal")),
        charts.window(job, since=START_S, until=START_S + 9, events=[], dimensions=[]),
    ):
        assert figure.data == ()
        assert figure.layout.annotations[0].text.startswith("Nothing was recorded")


def test_a_long_series_keeps_its_extremes(tmp_path: Path) -> None:
    values = [50.0] * 6_000
    values[3_333] = 0.0
    write_system(tmp_path, {"gpu0": values}, start_s=START_S)
    opened = reportgen.open(str(tmp_path))
    (line,) = charts.window(opened, since=START_S, until=START_S + 3_000).data

    assert len(line.x) < 2_000
    assert min(line.y) == 0.0
    assert max(line.y) == 50.0


def test_functions_of_one_name_are_told_apart_by_their_phase() -> None:
    spans = span_table([("A", "f", 10.0, 11.0), ("B", "f", 10.0, 12.0), ("B", "g", 10.0, 10.5)])
    joined = compare(functions_at(spans, *WHOLE), functions_at(spans, *WHOLE))
    slow, normal = charts.comparison(joined, sides=("slow", "normal")).data

    assert set(slow.y) == {"f · A", "f · B", "g"}
    assert slow.x.tolist() == normal.x.tolist()
    assert [slow.name, normal.name] == ["slow", "normal"]
