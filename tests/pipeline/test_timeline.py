"""A report carries its timeline: as much as was asked for, wherever it is made again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import WouldOverwriteError
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, OutputFormat, TimelineDetail
from reportgen.pipeline.wanted import wanted_range
from reportgen.report import Report
from reportgen.results import RuleId
from reportgen.store import TIMELINE_FILE, load
from sample_data.kernel_trace import FOLDER
from tests.builders import (
    START_S,
    Quiet,
    timeline_lines,
    write_end_marker,
    write_system,
    write_timeline,
)
from tests.timeline.reading import ReadFile, read_file

ONLY_RESULTS = frozenset({OutputFormat.MD})


def made(path: Path, output: Path, **options: Any) -> Report:
    wanted = replace(Options(path=str(path), output=output, formats=ONLY_RESULTS), **options)
    return make_report(wanted, Quiet()).report


def timeline_in(output: Path) -> ReadFile:
    return read_file((output / "profiler-report" / TIMELINE_FILE).read_bytes())


def shown(file: ReadFile) -> int:
    return sum(len(file.strips(lane)) for lane in file.header["lanes"] if lane["kind"] != "counter")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """The report of the sample traces, and its folder."""
    output = tmp_path_factory.mktemp("whole")
    return output, made(FOLDER, output)


def test_both_ranks_stand_on_one_axis_with_all_their_events(whole: tuple[Path, Report]) -> None:
    output, report = whole
    file = timeline_in(output)

    assert file.header["is_unix"] is True
    ranks = [lane for lane in file.header["lanes"] if lane["kind"] == "rank"]
    assert [lane["label"] for lane in ranks] == ["rank 0", "rank 1"]
    (lanes,) = report.results[RuleId("Timeline")].exhibits
    table = [column.values for column in lanes.columns if column.name != "host"]
    assert sorted(zip(*table, strict=True)) == sorted(
        (lane["label"], lane["kind"], lane["node"], lane["n_events"])
        for lane in file.header["lanes"]
        if lane["kind"] not in {"node", "rank", "host", "gpu", "findings"}
    )
    assert load(output / "profiler-report").timeline == report.timeline


def test_without_a_timeline_neither_file_nor_rule_is_there(tmp_path: Path) -> None:
    made(FOLDER, tmp_path)
    report = made(FOLDER, tmp_path, timeline=TimelineDetail.OFF)

    assert report.timeline is None
    assert "Timeline" not in report.results
    assert not (tmp_path / "profiler-report" / TIMELINE_FILE).exists()


def test_only_rules_that_were_asked_for_have_their_files(tmp_path: Path) -> None:
    made(FOLDER, tmp_path, rules=("KernelTime",))
    names = {path.name for path in (tmp_path / "profiler-report").iterdir()}
    assert names - {"Input.sha256"} == {"KernelTime.json", "report.json"}


def test_a_range_of_steps_cuts_the_timeline(whole: tuple[Path, Report], tmp_path: Path) -> None:
    made(FOLDER, tmp_path, wanted=wanted_range(None, None, "5:6"))
    cut = timeline_in(tmp_path)
    assert 0 < shown(cut) < shown(timeline_in(whole[0]))
    steps = {
        strip[3] for lane in cut.header["lanes"] if lane["kind"] == "steps"
        for strip in cut.strips(lane)
    }  # fmt: skip
    assert steps == {"ProfilerStep#5", "ProfilerStep#6"}


def test_a_saved_report_keeps_its_timeline_when_it_is_made_again(whole, tmp_path) -> None:
    output, report = whole
    assert made(output, tmp_path) == report
    assert (tmp_path / "profiler-report" / TIMELINE_FILE).read_bytes() == report.timeline_data


def test_a_damaged_timeline_is_left_out_when_the_report_is_made_again(whole, tmp_path) -> None:
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "profiler-report" / TIMELINE_FILE).write_bytes(b"RGTL0001 damaged")

    again = made(tmp_path, tmp_path / "elsewhere")

    assert again.timeline_data is None
    assert any("its file is missing or damaged" in note.text for note in again.data_quality.notes)
    assert not (tmp_path / "elsewhere/profiler-report" / TIMELINE_FILE).exists()


def test_a_file_of_somebody_else_is_not_replaced(whole: tuple[Path, Report], tmp_path: Path):
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "profiler-report" / TIMELINE_FILE).write_bytes(b"mine")
    with pytest.raises(WouldOverwriteError, match=TIMELINE_FILE):
        made(FOLDER, tmp_path)
    assert made(FOLDER, tmp_path, force=True).timeline_data is not None


def test_events_and_samples_without_traces_get_the_same_lanes(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write_system(job, {"gpu0": [50.0] * 100, "cpu0": [20.0] * 100, "cpu1": [40.0] * 100})
    rows = [("Step:ModeKeys.TRAIN", "train", START_S + at, START_S + at + 0.9) for at in range(20)]
    write_timeline(job, timeline_lines(rows))
    write_end_marker(job)

    made(job, tmp_path / "out")

    lanes = timeline_in(tmp_path / "out").header["lanes"]
    found = {(lane["kind"], lane["label"]): lane for lane in lanes}
    assert found["steps", "Step:ModeKeys.TRAIN"]["n_events"] == 20
    assert found["counter", "GPU utilization"]["most"] == 50.0
    assert found["counter", "CPU utilization"]["most"] == 30.0
    assert found["counter", "CPU utilization"]["unit"] == "%"
