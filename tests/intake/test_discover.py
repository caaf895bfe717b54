"""Which job lies under a path, and what is said when there is none."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from reportgen import intake
from reportgen.errors import EXIT_FAILED, EXIT_USAGE, AmbiguousJobError, LocationError
from reportgen.profile import Quality
from tests.builders import (
    START_S,
    system_line,
    timeline_lines,
    write_end_marker,
    write_minute,
    write_timeline,
)

LINES = [system_line("gpu0", 1, START_S)]


@pytest.mark.parametrize("below", ["", "profiler-output", "."])
def test_a_job_is_found_at_each_level_and_named_after_its_folder(tmp_path, monkeypatch, below: str):
    job = tmp_path / "my-job"
    write_minute(job, LINES)
    monkeypatch.chdir(job / "profiler-output")
    given = below if below == "." else str(job / below)
    found = intake.discover(given)
    assert found.info.name == "my-job"
    assert found.info.source == given
    assert [part.node for part in found.parts] == ["algo-1"]


def test_a_job_further_down_is_found_and_keeps_its_name(tmp_path: Path) -> None:
    write_minute(tmp_path / "runs" / "deep-job", LINES)
    assert intake.discover(str(tmp_path)).info.name == "deep-job"


def test_the_user_s_name_wins(tmp_path: Path) -> None:
    write_minute(tmp_path, LINES)
    assert intake.discover(str(tmp_path), name="mine").info.name == "mine"


def test_nodes_are_in_numeric_order_with_their_own_files(tmp_path: Path) -> None:
    for node in ("algo-10", "algo-2", "algo-1"):
        write_minute(tmp_path, LINES, node=node)
        write_timeline(tmp_path, timeline_lines([]), node_id=f"27-{node}")
    job = intake.discover(str(tmp_path))
    assert [part.node for part in job.parts] == ["algo-1", "algo-2", "algo-10"]
    assert [[file.format_id for file in part.files] for part in job.parts] == [
        ["sagemaker_events", "sagemaker_system"]
    ] * 3


def test_parts_are_small_and_travel(tmp_path: Path) -> None:
    write_minute(tmp_path, LINES)
    (part,) = intake.discover(str(tmp_path)).parts
    travelled = pickle.loads(pickle.dumps(part))
    assert travelled == part
    assert intake.read_node(travelled).system.n_samples == 1


@pytest.mark.parametrize("room", ["system", "framework"])
def test_an_end_marker_in_either_room_means_finished(tmp_path: Path, room: str) -> None:
    write_minute(tmp_path, LINES)
    assert not intake.discover(str(tmp_path)).info.is_finished
    write_end_marker(tmp_path, room=room)
    assert intake.discover(str(tmp_path)).info.is_finished


def test_two_jobs_are_refused_and_listed(tmp_path: Path) -> None:
    write_minute(tmp_path / "one", LINES)
    write_timeline(tmp_path / "two", timeline_lines([]))
    with pytest.raises(AmbiguousJobError, match="2 jobs lie under") as info:
        intake.discover(str(tmp_path))
    assert info.value.exit_code == EXIT_USAGE
    assert "one/profiler-output/, two/profiler-output/" in info.value.message
    assert info.value.hint == (
        "Pass the folder of one of them, or report each: reportgen index FOLDER --make"
    )


def test_files_that_nothing_reads_are_counted(tmp_path: Path) -> None:
    write_minute(tmp_path, LINES)
    framework = tmp_path / "profiler-output" / "framework"
    for key in ("pytorch/cprofile/27-algo-1/x/python_stats", "pevents/2026/odd.json", "notes.txt"):
        (framework / key).parent.mkdir(parents=True, exist_ok=True)
        (framework / key).write_text("x")
    (tmp_path / "debug-output.json").write_text("not looked at")
    notes = intake.discover(str(tmp_path)).notes
    assert [note.text for note in notes] == ["3 files are not of a known format and were skipped."]
    assert sum(note.counts[Quality.FILES_SKIPPED] for note in notes) == 3


def test_links_in_a_job_are_counted_and_not_followed(tmp_path: Path) -> None:
    path = write_minute(tmp_path, LINES)
    path.with_name("1783071060.algo-1.json").symlink_to(path)
    job = intake.discover(str(tmp_path))
    assert len(job.parts[0].files) == 1
    assert [note.text for note in job.notes] == ["1 file cannot be read: a link."]


def test_our_own_output_is_never_input(tmp_path: Path) -> None:
    write_minute(tmp_path / "job", LINES)
    report = tmp_path / "job" / "profiler-report"
    report.mkdir()
    (report / "report.json").write_text("{}")
    (tmp_path / "job" / "profiler-report.html").write_text("<html>")
    assert intake.discover(str(tmp_path / "job")).notes == ()
    with pytest.raises(LocationError, match="No profiler files"):
        intake.discover(str(report))


def no_job(path: Path) -> LocationError:
    with pytest.raises(LocationError) as info:
        intake.discover(str(path))
    assert info.value.exit_code == EXIT_FAILED
    assert info.value.hint
    return info.value


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    assert "is empty" in no_job(tmp_path).message


def test_no_such_path_is_said(tmp_path: Path) -> None:
    assert "no such file or directory" in no_job(tmp_path / "gone").message
    assert "no such file or directory" in no_job(tmp_path / "gone.pkl").message


def test_a_file_is_no_job(tmp_path: Path) -> None:
    (tmp_path / "job.txt").write_text("hello")
    assert "is a file, not the folder of a job" in no_job(tmp_path / "job.txt").message


def test_a_job_with_nothing_but_an_end_marker_is_no_job(tmp_path: Path) -> None:
    write_end_marker(tmp_path)
    assert "No profiler files" in no_job(tmp_path).message


def test_a_folder_inside_system_names_the_folder_to_pass(tmp_path: Path) -> None:
    path = write_minute(tmp_path, LINES)
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        error = no_job(folder)
        assert error.hint == (
            f"Pass {str(tmp_path.resolve() / 'profiler-output')!r}, which holds the whole job."
        )


@pytest.mark.parametrize(
    ("key", "command"),
    [("snapshot.pickle", "reportgen record --trace"), ("trace.zip", "Unpack the zip archive")],
)
@pytest.mark.parametrize("is_chosen", [False, True], ids=["folder", "file"])
def test_what_people_pass_by_mistake_is_answered_with_what_helps(tmp_path, key, command, is_chosen):
    (tmp_path / key).write_bytes(b"x")
    assert command in no_job(tmp_path / key if is_chosen else tmp_path).hint


@pytest.mark.parametrize("name", ["", "run 7.nsys-rep"])
def test_a_recording_of_nsight_systems_names_the_command_that_exports_it(tmp_path: Path, name):
    (tmp_path / "run 7.nsys-rep").write_bytes(b"x")
    error = no_job(tmp_path / name)
    assert "only nsys itself can read it" in error.message
    assert error.hint == (
        "Export it, then pass the result: "
        "nsys export --type=sqlite --output='run 7.sqlite' 'run 7.nsys-rep'"
    )


def test_gzip_that_is_none_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(b"\x1f\x8bnonsense")
    assert "No profiler files" in no_job(tmp_path).message
