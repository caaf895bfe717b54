"""Paths to places: by scheme, with errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.errors import EXIT_FAILED, LocationError
from reportgen.storage import open_location


def test_a_path_without_a_scheme_is_a_local_folder(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    location = open_location(str(tmp_path))
    assert location.root == str(tmp_path.resolve())
    assert location.read_bytes("a.json") == b"{}"


def test_a_file_url_is_a_local_folder(tmp_path: Path) -> None:
    assert open_location(f"file://{tmp_path}").root == str(tmp_path.resolve())


def test_other_stores_are_refused_in_one_sentence_with_the_remedy() -> None:
    with pytest.raises(LocationError, match=r"cannot read gs:// paths such as gs://b/job") as info:
        open_location("gs://b/job")
    assert info.value.exit_code == EXIT_FAILED
    assert "local folder" in info.value.hint


def test_credentials_and_signatures_in_a_url_are_not_repeated() -> None:
    with pytest.raises(LocationError) as info:
        open_location("https://user:secret@host/job?X-Amz-Signature=abc")
    assert "secret" not in str(info.value)
    assert "abc" not in str(info.value)


def test_no_such_folder_is_said_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(LocationError, match=r"Cannot open '.*gone': no such file"):
        open_location(str(tmp_path / "gone"))


def test_the_bare_name_of_a_job_is_answered_with_the_command_that_finds_it() -> None:
    with pytest.raises(LocationError) as info:
        open_location("my-job-2026-03-23")
    assert info.value.hint.endswith("make-profiler-report sagemaker:REGION/my-job-2026-03-23")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(LocationError, match="is a file, not the folder of a job"):
        open_location(str(tmp_path / "f"))
