"""Where ``reportgen watch`` writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from reportgen.cli.watch import command
from reportgen.pipeline import watch as watching
from reportgen.pipeline.watch import WatchOptions
from reportgen.record.session import report_folder


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("job",), "job-report"),
        (("s3://bucket/job",), "."),
        (("job", "--output", "elsewhere"), "elsewhere"),
    ],
)
def test_a_watched_folder_has_its_report_where_a_recording_has_it(
    words: tuple[str, ...], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[WatchOptions] = []

    def watch(options: WatchOptions, _: object, *, on_made: Callable[[str], None]) -> bool:
        seen.append(options)
        return True

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watching, "watch", watch)
    assert CliRunner().invoke(command, list(words)).exit_code == 0
    assert seen[0].report.output.absolute() == tmp_path / expected
    assert report_folder(tmp_path / "job") == tmp_path / "job-report"
