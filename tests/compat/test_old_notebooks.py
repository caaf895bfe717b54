"""What old notebooks and SageMaker's documentation do, call by call, on jobs of every kind."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reportgen.compat import PandasFrame, PT_dataloader_analysis, TimelineCharts, TrainingJob
from reportgen.errors import ConfigError
from tests.builders import START_S, timeline_lines, write_system, write_timeline
from tests.shared_data import SHARED_DATA

TRAIN = "Step:ModeKeys.TRAIN"
ORACLE = ("a_healthy_1gpu", "b_cpu_bottleneck", "e_two_nodes_straggler")


@pytest.fixture(params=["sample", *ORACLE], scope="module")
def job(request: pytest.FixtureRequest, input_bound_job: Path) -> TrainingJob:
    if request.param == "sample":
        return TrainingJob(str(input_bound_job / "profiler-output"))
    folder = SHARED_DATA / "oracle" / request.param / "profiler-output"
    if not folder.is_dir():
        pytest.skip("the shared test data are not on this machine")
    return TrainingJob(str(folder))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> TrainingJob:
    folder: Path = tmp_path_factory.mktemp("small")
    write_system(folder, {"gpu0": [10.0, 90.0] * 8, "cpu0": [50.0] * 16}, start_s=START_S)
    rows = [(TRAIN, TRAIN, START_S + k, START_S + k + 0.5, {"step": k}) for k in range(4)]
    write_timeline(folder, timeline_lines(rows))
    return TrainingJob(str(folder))


@pytest.mark.slow
def test_the_walk_through_the_frames_of_2020(job: TrainingJob) -> None:
    """AWS's notebook of 2020 from its first cell to the comparison of slow with normal steps."""
    job.wait_for_sys_profiling_data_to_be_available()
    system, framework = PandasFrame(job.profiler_s3_output_path).get_latest_data()
    assert min(system["timestamp"]) < max(system["timestamp"])

    is_train = framework["framework_metric"] == TRAIN
    first = framework[(framework["step"] == framework.loc[is_train, "step"].min()) & is_train]
    loop_us = (first["start_time_us"].min(), framework.loc[is_train, "end_time_us"].max())
    gpus = system[system["system_metric"].str.match("gpu")]
    in_loop = gpus[gpus["timestamp_us"].between(*loop_us, inclusive="neither")]
    assert 0 < len(in_loop) < len(gpus)
    cpus = system[system["system_metric"].str.match("cpu")]
    both = gpus[gpus["value"] <= 10].merge(cpus[cpus["value"] > 90], on="timestamp", how="inner")
    assert {"system_metric_x", "timestamp_us_x"} <= set(both.columns)

    steps = framework[is_train]
    lasted = steps["end_time_us"] - steps["start_time_us"]
    slow, normal = steps[lasted > 2 * lasted.median()], steps[lasted < 2 * lasted.median()]
    calls = framework[~framework["framework_metric"].str.startswith("Step:")]
    for chosen in (slow, normal):
        met = [
            calls[(calls["end_time_us"] >= begin) & (calls["start_time_us"] <= end)]
            for begin, end in chosen[["start_time_us", "end_time_us"]].head(20).to_numpy()
        ]
        assert not met or len(pd.concat(met).columns) == 11


def test_a_window_restricts_the_batches(tmp_path: Path) -> None:
    """Feature 003-14: start, end and patterns; all by default."""
    starts = [0.0, 1.0, 2.0, 6.0, 7.0, 8.0, 14.0, 15.0]
    write_timeline(
        tmp_path,
        timeline_lines(
            [("DataLoaderIter", "It::GetNext", START_S + at, START_S + at + 0.1) for at in starts]
        ),
    )
    write_system(tmp_path, {"gpu0": [5.0] * 40, "cpu0": [7.0] * 40}, start_s=START_S)
    analysis = PT_dataloader_analysis(PandasFrame(str(tmp_path)))

    slow = analysis.analyze_batchtime()
    assert slow["BatchTime_in_seconds"].tolist() == [6.0, 4.0]
    assert slow[["GPU_pct", "CPU_pct"]].to_numpy().tolist() == [[5.0, 7.0]] * 2
    begin, end = (datetime.fromtimestamp(START_S + at, UTC) for at in (0, 9))
    within = analysis.analyze_batchtime(begin, end)
    assert within["BatchTime_in_seconds"].tolist() == [4.0]
    pd.testing.assert_frame_equal(analysis.analyze_batchtime(0, np.int64(9_000_000)), within)
    window = analysis.plot_the_window(begin, end, ["nothing"], ["GPU"])
    assert [trace.name for trace in window.data] == ["algo-1 gpu0"]
    assert len(analysis.plot_the_window(0, 9_000_000, ["GetNext"], ["gpu", "cpu"]).data) == 3


def test_patterns_of_calls_leave_the_ends_of_epochs_out(tmp_path: Path) -> None:
    calls = [("DataLoaderIter", "It::GetNext", at, at + 0.1) for at in (0, 1, 2, 6, 7)]
    set_up = ("DataLoaderIterInitialize", "It.__init__", 5.5, 5.8)
    rows = [(phase, name, START_S + at, START_S + end) for phase, name, at, end in (*calls, set_up)]
    write_timeline(tmp_path, timeline_lines(rows))
    write_system(tmp_path, {"gpu0": [5.0] * 40}, start_s=START_S)
    analysis = PT_dataloader_analysis(PandasFrame(str(tmp_path)))

    assert analysis.analyze_batchtime(select_events=["GetNext"]).empty


def test_the_timeline_says_what_ran_between_two_of_its_samples(small: TrainingJob, capsys) -> None:
    """The cell of AWS's post: ``view_timeline_charts.find_time_annotations([13527,13548])``."""
    system, framework = small.get_systems_metrics_reader(), small.get_framework_metrics_reader()
    system.refresh_event_file_list()
    assert system.get_timestamp_of_latest_available_file() == int(START_S * 1e6) + 7_500_000
    view = TimelineCharts(system, framework, select_dimensions=["GPU"])
    found = view.find_time_annotations([1, 3])

    (figure,) = view.figures
    assert [trace.name for trace in figure.data] == ["algo-1 gpu0", "algo-1-27 steps"]
    assert found.to_numpy().tolist() == [[f"{TRAIN}_0", 1, 500_000], [f"{TRAIN}_1", 1, 500_000]]
    assert capsys.readouterr().out.splitlines() == [
        f"Selected timerange: {START_S + 0.5:.6f} to {START_S + 1.5:.6f}",
        f"Spent 500.000 ms (cumulative time) in {TRAIN}_0",
        f"Spent 500.000 ms (cumulative time) in {TRAIN}_1",
    ]
    late = TimelineCharts(system, starttime=2_000_000, endtime=3_000_000)
    assert late.find_time_annotations([0, 2])["name"].tolist() == [f"{TRAIN}_2", f"{TRAIN}_3"]
    with pytest.raises(ConfigError, match=r"\[0, 16\] are not places .* has 16"):
        view.find_time_annotations([0, 16])
    with pytest.raises(ConfigError, match=r"'\[' is not a pattern"):
        TimelineCharts(system, select_events=["["])


def test_patterns_of_the_batch_times_take_effect_and_bad_ones_are_refused(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20, "cpu0": [30.0] * 20})
    rows = [
        ("DataLoaderIter", f"{name}::GetNext", START_S + at_s, START_S + at_s + 0.01, {"os_pid": 7})
        for name, times_s in (("Train", (0, 1, 2, 3, 8)), ("Eval", (12, 12.5, 13, 13.5, 18)))
        for at_s in times_s
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    analysis = PT_dataloader_analysis(PandasFrame(str(tmp_path)))
    column = "BatchTime_in_seconds"

    assert analysis.analyze_batchtime(select_events=["Train"])[column].tolist() == [5.0]
    assert analysis.analyze_batchtime(select_events=["Eval"])[column].tolist() == [4.5]
    assert analysis.analyze_batchtime(select_events=["Nothing"]).empty
    with_cpu = analysis.analyze_batchtime(select_events=["Train"], select_dimensions=["CPU"])
    assert with_cpu.columns[-1] == "CPU_pct"
    assert with_cpu["CPU_pct"].tolist() == [30.0]
    with pytest.raises(ConfigError, match="is not a pattern"):
        analysis.analyze_batchtime(select_events=["["])
    with pytest.raises(ConfigError, match="is not a pattern"):
        analysis.analyze_batchtime(select_dimensions=["*"])
