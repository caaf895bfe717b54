"""Replacing an earlier report, and refusing to replace anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reportgen import scratch
from reportgen.errors import OutputError, WouldOverwriteError
from reportgen.store import check_replaceable, open_staging, publish_staging

OUR_PAGE = '<!DOCTYPE html><head><meta name="generator" content="make-profiler-report 0.1.0">'


def stage(output: Path, *, text: str = "new") -> None:
    with open_staging(output) as staging:
        staging.results.mkdir()
        (staging.results / "report.json").write_text('{"report_id": "1"}')
        staging.notebook.write_text(text)
        staging.page.write_text(OUR_PAGE + text)
        publish_staging(staging)


def fail_halfway(output: Path) -> None:
    with open_staging(output) as staging:
        staging.page.write_text("half")
        raise RuntimeError


def check(output: Path, *, keeps_results: bool = False, notebook_is_ours: bool = True) -> None:
    check_replaceable(output, keeps_results=keeps_results, notebook_is_ours=notebook_is_ours)


def test_a_report_is_put_in_place_and_nothing_else_is_left(tmp_path: Path) -> None:
    stage(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "profiler-report",
        "profiler-report.html",
        "profiler-report.ipynb",
    ]


def test_a_second_report_replaces_the_first_and_its_old_results(tmp_path: Path) -> None:
    stage(tmp_path)
    (tmp_path / "profiler-report" / "Gone.json").write_text('{"reportgen": {}}')

    check(tmp_path)
    stage(tmp_path, text="second")

    assert (tmp_path / "profiler-report.ipynb").read_text() == "second"
    assert not (tmp_path / "profiler-report" / "Gone.json").exists()


def test_a_failure_leaves_the_old_report_and_no_leftovers(tmp_path: Path) -> None:
    stage(tmp_path)

    with pytest.raises(RuntimeError):
        fail_halfway(tmp_path)

    assert (tmp_path / "profiler-report.ipynb").read_text() == "new"
    assert not list(tmp_path.glob(".profiler-report-*"))


def test_a_run_that_begins_beside_another_spares_its_folder_from_the_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, others = scratch._lock, list[Path]()

    def lock_when_another_has_come_and_gone(handle: int) -> bool:
        if not others:
            others.append(tmp_path)
            stage(tmp_path)
        return lock(handle)

    monkeypatch.setattr(scratch, "_lock", lock_when_another_has_come_and_gone)
    with open_staging(tmp_path) as staging:
        assert others
        assert staging.folder.is_dir()
        stage(tmp_path)
        assert staging.folder.is_dir()


def test_an_interrupt_as_soon_as_the_folder_is_there_leaves_none(tmp_path: Path, monkeypatch):
    mkdir = os.mkdir

    def make_and_interrupt(path: Path, mode: int = 0o777) -> None:
        mkdir(path, mode)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", make_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        stage(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("profiler-report.html", "<html>mine</html>"),
        ("profiler-report/notes.txt", "mine"),
        ("profiler-report/other.json", '{"mine": 1}'),
        ("profiler-report/broken.json", "{"),
        ("profiler-report/deep.json", "[" * 100_000),
        ("profiler-report", "a file"),
    ],
)
def test_files_of_others_are_not_replaced(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)

    with pytest.raises(WouldOverwriteError, match="--force") as caught:
        check(tmp_path)
    assert str(path) in caught.value.message
    assert caught.value.exit_code == 2


def test_an_edited_notebook_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(WouldOverwriteError, match=r"profiler-report\.ipynb was edited"):
        check(tmp_path, notebook_is_ours=False)


def test_results_that_stay_may_have_company(tmp_path: Path) -> None:
    stage(tmp_path)
    (tmp_path / "profiler-report" / "notes.txt").write_text("mine")

    check(tmp_path, keeps_results=True)


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")

    with pytest.raises(OutputError, match="--output"), open_staging(path / "below"):
        pass


def test_results_that_a_killed_run_had_moved_aside_are_put_back(tmp_path: Path) -> None:
    stage(tmp_path)
    leftover = tmp_path / ".profiler-report-killed.tmp"
    leftover.mkdir()
    (tmp_path / "profiler-report").rename(leftover / "old")

    with open_staging(tmp_path):
        pass

    assert (tmp_path / "profiler-report" / "report.json").is_file()
    assert not leftover.exists()


def test_what_only_looks_like_a_leftover_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "old").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".profiler-report-link.tmp").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "out" / ".profiler-report-pipe.tmp")

    with open_staging(tmp_path / "out"):
        pass

    assert (tmp_path / "elsewhere" / "old").is_dir()
