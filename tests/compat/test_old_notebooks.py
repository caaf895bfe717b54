"""What old notebooks and SageMaker's documentation do, call by call, on jobs of every kind."""

from __future__ import annotations

import base64
import cProfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from reportgen.compat import (
    Heatmap,
    LocalSystemMetricsReader,
    Metrics,
    MetricsHistogram,
    PandasFrame,
    PT_dataloader_analysis,
    PyinstrumentAnalysis,
    PythonProfileModes,
    StepHistogram,
    StepTimelineChart,
    TimelineCharts,
    TrainingJob,
    cProfileAnalysis,
)
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


def test_the_walk_through_the_data_loader(job: TrainingJob) -> None:
    """AWS's notebook on data loaders: every method, and the window that it plots."""
    analysis = PT_dataloader_analysis(PandasFrame(job.profiler_s3_output_path))
    for method in (
        analysis.analyze_dataloaderIter_initialization,
        analysis.analyze_dataloaderWorkers,
        analysis.analyze_dataloader_getnext,
    ):
        assert isinstance(method(), pd.DataFrame)
    system = PandasFrame(job.profiler_s3_output_path).get_all_system_metrics(["gpu0"])
    begin, end = system["timestamp"].iloc[100], system["timestamp"].iloc[200]
    batches = analysis.analyze_batchtime(begin, end, select_events=[".*"], select_dimensions=[".*"])
    assert (batches["start_time"] <= end).all()
    assert analysis.plot_the_window(begin, end, select_dimensions=["CPU"]).data


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

    assert analysis.analyze_batchtime()["BatchTime_in_seconds"].tolist() == [6.0, 4.0]
    begin, end = (datetime.fromtimestamp(START_S + at, UTC) for at in (0, 9))
    within = analysis.analyze_batchtime(begin, end)
    assert within["BatchTime_in_seconds"].tolist() == [4.0]
    window = analysis.plot_the_window(begin, end, ["nothing"], ["GPU"])
    assert [trace.name for trace in window.data] == ["algo-1 gpu0"]
    both = analysis.plot_the_window(begin, end, ["GetNext"], ["gpu", "cpu"])
    assert len(both.data) == 3


def test_readers_give_events_as_objects(small: TrainingJob) -> None:
    reader = small.get_systems_metrics_reader()
    reader.refresh_event_file_list()
    first = reader.get_timestamp_of_first_available_file()
    last = reader.get_timestamp_of_latest_available_file()
    samples = reader.get_events(first, last)

    assert (first, last) == (int(START_S * 1e6), int(START_S * 1e6) + 7_500_000)
    assert len(samples) == 32
    assert {(item.name, item.dimension, item.node_id) for item in samples} == {
        ("gpu0", "GPUUtilization", "algo-1"), ("cpu0", "CPUUtilization", "algo-1"),
    }  # fmt: skip
    assert max(item.timestamp for item in samples) == START_S + 7.5
    events = small.get_framework_metrics_reader().get_events(0, last)
    assert [item.event_args["step_num"] for item in events] == [0, 1, 2, 3]
    assert {item.duration for item in events} == {500_000_000}
    local = LocalSystemMetricsReader(small.profiler_s3_output_path)
    assert len(local.get_events(first, first + 400_000)) == 2


def numbers(packed: dict[str, str]) -> npt.NDArray[np.float64]:
    """The array that a figure holds as base64."""
    found: npt.NDArray[np.float64] = np.frombuffer(
        base64.b64decode(packed["bdata"]), dtype=packed["dtype"]
    )
    return found


def test_charts_show_what_was_selected(small: TrainingJob) -> None:
    system, framework = small.get_systems_metrics_reader(), small.get_framework_metrics_reader()

    (histogram,) = MetricsHistogram(system).plot(select_dimensions=["CPU"])
    assert numbers(histogram.data[0].y).sum() == 16
    assert len(MetricsHistogram(system).plot(select_dimensions=["CPU", "GPU"])) == 2
    assert MetricsHistogram(system).plot(select_events=["gpu7"]) == []
    (steps,) = StepHistogram(framework).plot()
    assert numbers(steps.data[0].y).sum() == 4
    (timeline,) = TimelineCharts(system, framework, select_dimensions=["GPU"]).figures
    assert [trace.name for trace in timeline.data] == ["algo-1 gpu0", "algo-1-27 steps"]
    (over_time,) = StepTimelineChart(framework).figures
    assert list(over_time.data[0].y) == [500.0] * 4
    (heat,) = Heatmap(system).figures
    assert heat.data[0].z["shape"] == "2, 8"
    for draw in (MetricsHistogram(system).plot, lambda **wanted: Heatmap(system, **wanted)):
        with pytest.raises(ConfigError, match=r"'\[' is no pattern"):
            draw(select_events=["["])


def test_patterns_of_the_batch_times_take_effect_and_bad_ones_are_refused(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20, "cpu0": [30.0] * 20})
    rows = [
        ("DataLoaderIter", f"{name}::GetNext", START_S + at_s, START_S + at_s + 0.01, {"os_pid": 7})
        for name, times_s in (("Train", (0, 1, 2, 3, 8)), ("Eval", (3.5, 4.0, 4.5, 5.0, 9.5)))
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
    for wrong in ({"select_events": ["["]}, {"select_dimensions": ["*"]}):
        with pytest.raises(ConfigError, match="is no pattern"):
            analysis.analyze_batchtime(**wrong)


def test_python_profiles_are_fetched_by_step_time_and_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t_us = int(START_S * 1e6)
    for start, end in (
        (f"prestepzero-*-start-{t_us}", f"train-0-stepstart-{t_us + 5}"),
        (f"train-3-stepstart-{t_us + 30}", f"train-3-stepend-{t_us + 35}"),
        (f"train-4-stepstart-{t_us + 40}", f"train-4-stepend-{t_us + 45}"),
        (f"train-9-stepend-{t_us + 90}", f"posthookclose-*-end-{t_us + 95}"),
    ):
        folder = tmp_path / "framework" / "pytorch" / "cprofile" / "27-algo-1" / f"{start}_{end}"
        folder.mkdir(parents=True)
        profile = cProfile.Profile()
        profile.runcall(sorted, [3, 1, 2])
        profile.dump_stats(folder / "python_stats")
    analysis = cProfileAnalysis(s3_path=str(tmp_path))

    def calls(stats) -> int:
        is_sorted = stats.functions["function"].str.contains("sorted")
        return int(stats.functions.loc[is_sorted, "calls"].sum())

    assert len(analysis.list_profile_stats()) == 4
    assert analysis.list_available_node_ids() == ["27-algo-1"]
    assert calls(analysis.fetch_profile_stats_by_step(3)) == 1
    assert calls(analysis.fetch_profile_stats_by_step(3, 4)) == 2
    assert calls(analysis.fetch_profile_stats_by_step(7, 8)) == 0
    assert calls(analysis.fetch_profile_stats_by_time(START_S, START_S + 50e-6)) == 3
    modes = PythonProfileModes.TRAIN, PythonProfileModes.POST_HOOK_CLOSE
    assert calls(analysis.fetch_profile_stats_between_modes(*modes)) == 1
    before = analysis.fetch_pre_step_zero_profile_stats(node_id="27-algo-1")
    assert calls(before) == 1
    assert calls(analysis.fetch_post_hook_close_profile_stats()) == 1
    before.print_top_n_functions(by=Metrics.TOTAL_CALLS, n=1)
    before.print_top_n_functions(by="cumtime")
    assert "sorted" in capsys.readouterr().out
    assert {"function", "calls"} <= set(before.get_function_stats()[0])
    assert PyinstrumentAnalysis(str(tmp_path)).list_available_node_ids() == []
    nothing = PyinstrumentAnalysis(str(tmp_path)).list_profile_stats()
    assert nothing.empty
    assert "profiler" in nothing
    with pytest.raises(ConfigError, match="where the profiles lie"):
        cProfileAnalysis()
