"""SageMaker's rule results are found at every level at which people have them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reportgen.errors import AmbiguousJobError, FormatError, LocationError
from reportgen.formats.sagemaker.rule_results import AWS_RULES
from reportgen.intake import list_files, read_aws_folder
from reportgen.profile import Quality
from reportgen.results import Counters, RuleId

LOW = {
    "RuleTriggered": 2,
    "Violations": 3,
    "Details": {"algo-1": {"gpu0": {"gpu_95": 35.19999999999982}}},
    "Datapoints": 1310,
    "RuleParameters": "threshold_p95:70",
}


def write(folder: Path, name: str = "LowGPUUtilization", text: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(LOW) if text is None else text)
    return folder


@pytest.mark.parametrize("room", ["profiler-reports", "profiler-report"])
@pytest.mark.parametrize(
    "given",
    [
        "my-job",
        "my-job/rule-output",
        "my-job/rule-output/ProfilerReport-1700276777",
        "my-job/rule-output/ProfilerReport-1700276777/profiler-output",
        "my-job/rule-output/ProfilerReport-1700276777/profiler-output/{room}",
    ],
)
def test_results_are_found_at_every_level(tmp_path: Path, given: str, room: str) -> None:
    folder = tmp_path / "my-job/rule-output/ProfilerReport-1700276777/profiler-output" / room
    write(folder)

    found = read_aws_folder(list_files(str(tmp_path / given.format(room=room))))

    assert found.name == "my-job"
    result = found.results[RuleId("LowGPUUtilization")]
    assert result.counters == Counters(rule_triggered=2, violations=3, datapoints=1310)
    assert result.details == LOW["Details"]
    assert result.raw == json.dumps(LOW).encode()
    # 1,700,276,777 s after 1970 is 03:06:17 on 18 November 2023, by date -u -d @1700276777.
    assert "started its rule at 2023-11-18T03:06:17.000000Z" in found.notes[0].text


def test_a_bare_folder_of_jsons_is_named_after_itself(tmp_path: Path) -> None:
    found = read_aws_folder(list_files(str(write(tmp_path / "from-a-colleague"))))
    assert found.name == "from-a-colleague"
    assert "started" not in found.notes[0].text


def test_missing_and_broken_results_are_notes_and_the_rest_goes_on(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, "BatchSize", '{"RuleTriggered": 1, ')

    found = read_aws_folder(list_files(str(tmp_path)))

    assert list(found.results) == ["LowGPUUtilization"]
    missing = [note.text for note in found.notes[1:] if not note.path]
    assert missing[0] == "OverallSystemUsage.json is missing: that rule is left out."
    assert len(missing) == len(AWS_RULES) - 2
    (broken,) = (note.text for note in found.notes if note.path == "BatchSize.json")
    assert broken.startswith("BatchSize.json is not JSON")
    assert sum(note.counts.get(Quality.FILES_READ, 0) for note in found.notes) == 1
    assert sum(note.counts.get(Quality.FILES_SKIPPED, 0) for note in found.notes) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "got `array`"),
        ("\x00", "is not JSON"),
        ('{"RuleTriggered": 1}', "missing required field `Violations`"),
        (json.dumps({**LOW, "Violations": -1}), "`int` >= 0"),
        (json.dumps({**LOW, "Datapoints": 1.5}), "got `float`"),
        (json.dumps({**LOW, "RuleTriggered": True}), "got `bool`"),
        (json.dumps({**LOW, "Details": []}), "at `\\$.Details`"),
        (json.dumps({**LOW, "RuleParameters": None}), "at `\\$.RuleParameters`"),
        ("[" * 200_000, "got `array`"),
    ],
)
def test_a_folder_with_nothing_but_broken_results_is_refused(tmp_path: Path, text, said) -> None:
    write(tmp_path, text=text)
    with pytest.raises(FormatError, match=said):
        read_aws_folder(list_files(str(tmp_path)))


def test_two_reports_under_one_path_are_listed(tmp_path: Path) -> None:
    for stamp in ("1700000001", "1700000002"):
        write(tmp_path / f"rule-output/ProfilerReport-{stamp}/profiler-output/profiler-reports")
    with pytest.raises(AmbiguousJobError, match="2 folders of results") as info:
        read_aws_folder(list_files(str(tmp_path)))
    assert len(info.value.details["jobs"]) == 2  # type: ignore[arg-type]  # details are objects


def test_our_own_reports_and_files_of_other_names_are_no_results(tmp_path: Path) -> None:
    write(tmp_path / "profiler-report")
    (tmp_path / "profiler-report" / "report.json").write_text("{}")
    write(tmp_path, "package")
    write(tmp_path, "KernelTime")  # SageMaker has no such rule
    write(tmp_path / "elsewhere")
    with pytest.raises(LocationError, match=r"No profiler files under .*\(3 files seen"):
        read_aws_folder(list_files(str(tmp_path)))


def test_a_pipe_in_the_place_of_a_result_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "OverallSystemUsage.json")
    with pytest.raises(FormatError, match=r"OverallSystemUsage\.json cannot be read \(a pipe\)"):
        read_aws_folder(list_files(str(tmp_path)))

    found = read_aws_folder(list_files(str(write(tmp_path))))
    assert list(found.results) == ["LowGPUUtilization"]
    assert "OverallSystemUsage.json cannot be read (a pipe)." in [note.text for note in found.notes]
