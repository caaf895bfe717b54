"""A job's Python profiles: found, read into one table, and what is said of those that are not."""

from __future__ import annotations

import marshal
import pstats
from pathlib import Path

import numpy as np
import pytest

from reportgen import intake
from reportgen.formats import claim
from reportgen.formats.python_profile import reading
from reportgen.intake import python_profiles
from reportgen.profile import NO_CALLS, Clock, NodeProfile, Quality, TimeRange
from sample_data.python_profiles import BETWEEN, FORWARD, dump_bytes, tree_bytes, write_profile
from tests.builders import START_S, note_texts, ns, write_minute
from tests.shared_data import SHARED_DATA, needs_shared_data

T = ns(START_S) // 1000
S = 1_000_000
PROFILED = Path("smdebug/tfprofiler_timeline_traces")


def profiled(root: Path, second: int = 0, *, content: bytes | None = None, **options: str) -> Path:
    at_us = T + second * S
    return write_profile(
        root / "profiler-output",
        dump_bytes(FORWARD) if content is None else content,
        start=f"train-{second}-stepstart-{at_us}.25",
        end=f"train-{second}-forwardpassend-{at_us + S // 2}",
        **options,
    )


def read(job: Path) -> list[NodeProfile]:
    return [intake.read_node(part) for part in intake.discover(str(job)).parts]


def test_a_profile_belongs_to_the_node_and_worker_in_its_folder(tmp_path: Path) -> None:
    profiled(tmp_path, node_id="27-algo-2")
    profiled(tmp_path, node_id="28-algo-1")
    first, second = read(tmp_path)
    assert (first.node, second.node) == ("algo-1", "algo-2")
    assert [profile.worker for profile in second.python.profiles] == ["algo-2-27"]
    assert second.python.profiles[0].interval.start.time_us == T
    assert note_texts(second) == ["1 Python profile of algo-2 was read."]


def test_profiles_alone_are_a_job_on_a_wall_clock(tmp_path: Path) -> None:
    profiled(tmp_path)
    job = intake.discover(str(tmp_path))
    assert (job.info.clock, job.notes) == (Clock.UNIX, ())


def test_the_same_function_has_one_code_in_all_profiles(tmp_path: Path) -> None:
    profiled(tmp_path, 0)
    profiled(tmp_path, 1)
    (part,) = read(tmp_path)
    assert len(part.python.functions) == len(FORWARD)
    assert part.python.n_rows == 2 * len(FORWARD)
    assert part.python.own_s.sum() == pytest.approx(0.4)
    assert part.python.calls.sum() == 2 * 17


def test_pyinstrument_has_no_calls_and_its_page_is_left_alone(tmp_path: Path) -> None:
    tree = profiled(tmp_path, content=tree_bytes(BETWEEN), profiler="pyinstrument")
    tree.with_name("python_stats.html").write_text("<html>")
    job = intake.discover(str(tmp_path))
    assert [file.format_id for file in job.parts[0].files] == ["python_profile"]
    assert job.notes == ()
    table = read(tmp_path)[0].python
    assert set(table.calls.tolist()) == {NO_CALLS}
    assert table.own_s.sum() == pytest.approx(0.6)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not marshal",
        marshal.dumps({("f", 1, "g"): (1, 1, float("inf"), 1.0, {})}),
        marshal.dumps({("f", 1, "g"): (1, 10**30, 1.0, 1.0, {})}),
        marshal.dumps({("f", 10**30, "g"): (1, 1, 1.0, 1.0, {})}),
        marshal.dumps({("f", 1, "g"): (1, 1, 1e300, 1.0, {})}),
    ],
)
def test_a_damaged_or_absurd_profile_is_a_note_and_the_others_count(tmp_path: Path, content):
    path = profiled(tmp_path, 0, content=content)
    profiled(tmp_path, 1)
    (part,) = read(tmp_path)
    assert len(part.python.profiles) == 1
    (note,) = [note for note in part.notes if Quality.FILES_SKIPPED in note.counts]
    assert note.text.startswith("1 Python profile cannot be read: it is ")
    assert note.path == str(path.relative_to(tmp_path))


def test_times_below_nothing_count_as_nothing(tmp_path: Path) -> None:
    profiled(tmp_path, content=dump_bytes({("f.py", 1, "g"): (1, -1e-7, -1e-7)}))
    assert read(tmp_path)[0].python.own_s.tolist() == [0.0]


def test_after_profiles_that_take_too_long_the_others_are_not_tried(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "_SECONDS_EACH", 0.0)
    for second in range(5):
        profiled(tmp_path, second)
    (part,) = read(tmp_path)
    assert part.python.profiles == ()
    said = [note.text for note in part.notes if Quality.FILES_SKIPPED in note.counts]
    assert sum("took too much time or memory" in text for text in said) == 3
    assert (
        "2 Python profiles were not tried: others of the node had taken too much time" in said[-1]
    )


def test_more_profiles_than_are_read_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(python_profiles, "MOST_PROFILES", 2)
    for second in range(5):
        profiled(tmp_path, second)
    (part,) = read(tmp_path)
    assert [profile.interval.start.step for profile in part.python.profiles] == [0, 1]
    assert any(text.startswith("3 Python profiles were left out") for text in note_texts(part))


def test_a_file_too_large_for_a_profile_is_not_fetched(tmp_path: Path) -> None:
    path = profiled(tmp_path, 0)
    profiled(tmp_path, 1)
    with path.open("r+b") as stream:
        stream.truncate(reading.MOST_BYTES + 1)  # sparse: takes no room
    (part,) = read(tmp_path)
    assert len(part.python.profiles) == 1
    (note,) = [note for note in part.notes if Quality.FILES_SKIPPED in note.counts]
    assert note.text == "1 Python profile cannot be read: it is larger than 64 MB."


def test_a_range_keeps_the_profiles_that_overlap_it(tmp_path: Path) -> None:
    for second in range(10):
        profiled(tmp_path, second)
    kept = TimeRange(from_ns=ns(START_S + 3.25), to_ns=ns(START_S + 5))
    job = intake.cut_job(intake.discover(str(tmp_path)), kept)
    table = intake.read_node(job.parts[0]).python
    assert [profile.interval.start.step for profile in table.profiles] == [3, 4, 5]


@pytest.mark.parametrize("time_us", [10**17, 9 * 10**15 + 1])
def test_times_that_no_clock_shows_are_no_profile(time_us: int) -> None:
    key = f"framework/pytorch/cprofile/27-algo-1/train-0-stepstart-1_train-0-stepend-{time_us}"
    assert claim(f"{key}/python_stats") is None


def test_a_job_without_profiles_has_an_empty_table(tmp_path: Path) -> None:
    write_minute(tmp_path, [])
    assert read(tmp_path)[0].python.n_rows == 0


@needs_shared_data
def test_the_profiles_of_aws_hold_what_pstats_reads() -> None:
    job = intake.discover(str(SHARED_DATA / PROFILED))
    table = next(part for part in map(intake.read_node, job.parts) if part.node == "algo-1").python
    paths = sorted((SHARED_DATA / PROFILED).glob("framework/tensorflow/cProfile/*/python_stats"))
    assert len(table.profiles) == len(paths) == 3
    for place, path in enumerate(paths):
        truth = pstats.Stats(str(path))
        rows = table.profile == place
        assert table.own_s[rows].sum() == pytest.approx(truth.total_tt)  # type: ignore[attr-defined]  # not in the stubs
        assert int(np.count_nonzero(rows)) == len(truth.stats)  # type: ignore[attr-defined]  # not in the stubs
        assert table.calls[rows].sum() == truth.total_calls  # type: ignore[attr-defined]  # not in the stubs
    assert [profile.interval.start.step for profile in table.profiles] == [None, 2, 3]
