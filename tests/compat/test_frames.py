"""Old notebooks: the names of smdebug give the right numbers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reportgen.compat import (
    MetricsReader,
    PandasFrame,
    PandasFrameAnalysis,
    PT_dataloader_analysis,
    TimelineCharts,
    TrainingJob,
    jobs,
)
from reportgen.errors import ConfigError, LocationError
from reportgen.storage import DescribedJob as Described
from tests.builders import START_S, write_system
from tests.shared_data import SHARED_DATA, needs_shared_data

TRAIN = "Step:ModeKeys.TRAIN"


@pytest.fixture(scope="module")
def pandas_frame(input_bound_job: Path) -> PandasFrame:
    job = TrainingJob(str(input_bound_job))
    job.wait_for_sys_profiling_data_to_be_available(timeout_s=5)
    return PandasFrame(job.profiler_s3_output_path)


@pytest.fixture(scope="module")
def frames(pandas_frame: PandasFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pandas_frame.get_latest_data()


def test_the_first_lines_of_the_old_notebook_run(pandas_frame, frames) -> None:
    system, framework = frames

    assert len(system) == len(pandas_frame.get_all_system_metrics()) > 1_000
    assert len(framework) == len(pandas_frame.get_all_framework_metrics()) > 100
    for before, after in zip((system, framework), pandas_frame.get_latest_data(), strict=True):
        pd.testing.assert_frame_equal(before, after)


def test_latest_data_accumulate(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [1.0, 2.0]}, start_s=START_S)
    frame = PandasFrame(str(tmp_path))
    first, _ = frame.get_latest_data()
    write_system(tmp_path, {"gpu0": [3.0]}, start_s=START_S + 60)
    second, _ = frame.get_latest_data()

    assert (first["value"].tolist(), second["value"].tolist()) == ([1.0, 2.0], [1.0, 2.0, 3.0])
    pd.testing.assert_frame_equal(second, PandasFrame(str(tmp_path)).get_all_system_metrics())


def test_a_job_is_opened_by_name_and_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def described(path: str) -> Described:
        return Described(name="bert-7", region="", status="", profiler_path=f"s3://b/{path}")

    monkeypatch.setattr(jobs, "training_job", described)
    job = TrainingJob("bert-7", region="us-east-1")
    assert job.profiler_s3_output_path == "s3://b/sagemaker:us-east-1/bert-7/profiler-output"
    assert job.name == "bert-7"
    with pytest.raises(LocationError, match="No profiler files arrived"):
        TrainingJob(str(tmp_path)).wait_for_sys_profiling_data_to_be_available(timeout_s=0.05)


def test_names_select_rows(pandas_frame: PandasFrame) -> None:
    assert set(pandas_frame.get_all_system_metrics(["gpu0"])["system_metric"]) == {"gpu0"}
    assert set(pandas_frame.get_all_framework_metrics([TRAIN])["process"]) == {TRAIN}
    waits = pandas_frame.get_all_dataloader_metrics([".*DataLoaderIter::GetNext"])
    assert waits["framework_metric"].str.endswith("GetNext").all()


def test_a_range_of_time_cuts_both_frames(pandas_frame, frames) -> None:
    system, framework = frames
    origin = pandas_frame.job.origin_us
    begin, end = 120_000_000, 180_000_000
    cut_system, cut_framework = pandas_frame.get_profiler_data_by_time(origin + begin, origin + end)

    assert len(cut_system) == int(system["timestamp_us"].between(begin, end).sum())
    overlaps = (framework["end_time_us"] >= begin) & (framework["start_time_us"] <= end)
    assert len(cut_framework) == int(overlaps.sum())
    only, none = pandas_frame.get_profiler_data_by_time(
        origin + begin, origin + end, get_framework_metrics=False
    )
    assert (len(only), len(none)) == (len(cut_system), 0)


def test_the_parts_of_a_job_add_up(frames: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = PandasFrameAnalysis(*frames).get_job_statistics()
    parts = [found[name] for name in ("initialization", "training_loop_duration", "finalization")]

    assert sum(parts) == pytest.approx(found["job_duration"], abs=1_000)
    shares = [found[f"{name}_%"] for name in ("initialization", "training_loop", "finalization")]
    assert sum(shares) == pytest.approx(100)


def test_the_loader_analysis_prints_what_it_finds_and_returns_outliers(pandas_frame, capsys):
    analysis = PT_dataloader_analysis(pandas_frame)
    for method in (
        analysis.analyze_dataloaderIter_initialization,
        analysis.analyze_dataloaderWorkers,
        analysis.analyze_dataloader_getnext,
    ):
        assert {"start_time", "end_time", "duration_us"} <= set(method().columns)
    slow = analysis.analyze_batchtime()

    assert list(slow.columns)[:4] == [
        "previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id",
    ]  # fmt: skip
    if len(slow):
        first = slow.iloc[0]
        assert analysis.plot_the_window(first["previous_batch_start"], first["start_time"]).data
    said = capsys.readouterr().out
    assert "_SingleProcessDataLoaderIter: set up" in said
    assert "calls of GetNext" in said
    assert "from batch to batch" in said


@needs_shared_data
def test_job_statistics_of_an_oracle_job_equal_its_summary() -> None:
    frame = PandasFrame(str(SHARED_DATA / "oracle" / "a_healthy_1gpu"))
    found = PandasFrameAnalysis(*frame.get_latest_data()).get_job_statistics()
    system = frame.get_all_system_metrics()
    framework = frame.get_all_framework_metrics(["Step:ModeKeys.TRAIN"])

    assert found["initialization"] == (
        framework["start_time_us"].min() - system["timestamp_us"].min()
    )
    assert found["training_loop_end"] == framework["end_time"].max()


def test_what_is_not_here_is_a_sentence(pandas_frame, frames) -> None:
    for wrong, said in (
        (lambda: PandasFrameAnalysis(frames[1], frames[0]), "lack the column dimension"),
        (lambda: PandasFrameAnalysis(None, None), "lack the column dimension"),
        (lambda: PT_dataloader_analysis(frames[0]), "takes a PandasFrame, not a DataFrame"),
        (lambda: TimelineCharts("path"), "takes a MetricsReader, not a str"),  # type: ignore[arg-type]  # wrong on purpose
    ):
        with pytest.raises(ConfigError, match=said):
            wrong()
    reader = MetricsReader(pandas_frame.path)
    for home, name in ((reader, "get_events"), (pandas_frame, "get_profiler_data_by_step")):
        with pytest.raises(AttributeError, match=f"has no {name}; it has .*from-smdebug"):
            getattr(home, name)
    with pytest.raises(ImportError, match=r"has no Heatmap; use .*charts\.heatmap"):
        from reportgen.compat import Heatmap  # noqa: F401
