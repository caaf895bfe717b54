"""Results that SageMaker computed: a notebook and a page whose numbers are those of the JSON."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.command import run_command
from tests.schemas import assert_valid
from tests.shared_data import SHARED_DATA, needs_shared_data

SETS = sorted(path.name for path in (SHARED_DATA / "aws-reports").glob("*"))
AWS_KEYS = ["RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters"]
SECTIONS = {
    "BatchSize": "batch-size",
    "CPUBottleneck": "cpu-bottlenecks",
    "Dataloader": "data-loading",
    "GPUMemoryIncrease": "gpu-memory",
    "IOBottleneck": "io-bottlenecks",
    "LoadBalancing": "workload-balance",
    "LowGPUUtilization": "gpu-utilization",
    "MaxInitializationTime": "initialization",
    "OverallFrameworkMetrics": "framework",
    "OverallSystemUsage": "system-usage",
    "StepOutlier": "step-durations",
}
PREFIXES = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "ms": 1e-3, "µs": 1e-6}

pytestmark = [pytest.mark.notebook, needs_shared_data]


@pytest.fixture(scope="module", params=SETS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp(request.param)
    run = run_command(SHARED_DATA / "aws-reports" / request.param, "-o", output, cwd=output)
    assert (run.code, run.stderr) == (0, "")
    assert run.stdout == f"{output / 'profiler-report.html'}\n"
    return output


def set_of(made: Path) -> Path:
    report = json.loads((made / "profiler-report" / "report.json").read_text())
    return Path(report["job"]["source"])


def test_the_five_keys_are_copied_byte_by_byte(made: Path) -> None:
    given = sorted(set_of(made).glob("*.json"))
    assert len(given) == 11
    for path in given:
        ours = (made / "profiler-report" / path.name).read_bytes()
        original = path.read_bytes().rstrip()
        assert ours.startswith(original[:-1] + b', "reportgen": ')
        assert list(json.loads(ours)) == [*AWS_KEYS, "reportgen"]
        assert {key: json.loads(ours)[key] for key in AWS_KEYS} == json.loads(original)


def test_every_file_follows_its_schema(made: Path) -> None:
    assert assert_valid(made / "profiler-report") == 12


def test_the_summary_is_that_of_max_initialization_time(made: Path) -> None:
    details = json.loads((set_of(made) / "MaxInitializationTime.json").read_text())["Details"]
    summary = json.loads((made / "profiler-report" / "report.json").read_text())["summary"]

    duration_s = details["job_end"] - details["job_start"]
    assert summary["job_duration_in_seconds"] == pytest.approx(duration_s, abs=2e-6)
    steps = details["step_num"]
    if not steps:
        assert summary["initialization_in_seconds"] is None
        return
    before_s = steps["first"] / 1e6 - details["job_start"]
    assert summary["initialization_in_seconds"] == pytest.approx(before_s, abs=2e-6)
    loop_s = (steps["last"] - steps["first"]) / 1e6
    assert summary["training_loop_duration_in_seconds"] == pytest.approx(loop_s, abs=2e-6)


def test_numbers_on_the_page_are_those_of_the_json(made: Path) -> None:
    """Each number is looked for in its rule's section, at the precision the page gives it.

    A check that did not look has no section: its counters are under All checks.
    """
    page = (made / "profiler-report.html").read_text()
    n_checked = 0
    for rule, section in SECTIONS.items():
        aws = json.loads((set_of(made) / f"{rule}.json").read_text())
        ours = json.loads((made / "profiler-report" / f"{rule}.json").read_text())["reportgen"]
        has_section = ours["status"] != "skipped" or ours["exhibits"]
        shown = numbers_in(section_text(page, section if has_section else "rules-summary"))
        wanted = [("Datapoints", aws["Datapoints"])]
        if ours["exhibits"]:
            wanted += picked(rule, aws["Details"])
        if ours["status"] != "skipped":
            wanted += [(key, aws[key]) for key in ("RuleTriggered", "Violations")]
        for name, value in wanted:
            assert any(is_shown_as(value, *number) for number in shown), (rule, name, value)
            n_checked += 1
    assert n_checked >= 11


def picked(rule: str, details: Any) -> Iterator[tuple[str, float]]:
    """Yield numbers of a rule's details that its section must show."""
    if rule in BOXED:
        yield from _boxes(details)
    elif rule in {"CPUBottleneck", "IOBottleneck"}:
        yield "bottlenecks", len(details["bottlenecks"])
        yield "without", details["low_gpu_utilization"] - len(details["bottlenecks"])
    else:
        yield from PICKED.get(rule, lambda _: [])(details)


def _boxes(details: Any) -> Iterator[tuple[str, float]]:
    for node, devices in details.items():
        for device, box in devices.items() if isinstance(devices, dict) else ():
            yield from (
                (f"{node} {device} {key}", box[key])
                for key in ("p25", "p50", "p75", "upper", "lower")
            )


def _usage(details: Any) -> Iterator[tuple[str, float]]:
    for metric, nodes in details.items():
        for node, statistics in nodes.items():
            yield from ((f"{metric} {node} {key}", item) for key, item in statistics.items())


def _framework(details: Any) -> Iterator[tuple[str, float]]:
    for member in ("phase", "general"):
        yield from details.get(member, {}).items()


def _steps(details: Any) -> Iterator[tuple[str, float]]:
    for worker, entry in details["step_details"].items():
        yield f"{worker} outliers", entry["number_of_outliers"]
        yield f"{worker} max", entry["step_stats"]["max"]
        yield f"{worker} p50", entry["step_stats"]["p50"]


def _workloads(details: Any) -> Iterator[tuple[str, float]]:
    for node, loads in details.items():
        for device, bins in loads["workloads"].items():
            yield f"{node} {device} first bin", bins[0]
            yield f"{node} {device} largest bin", max(bins)


BOXED = {"LowGPUUtilization", "BatchSize", "GPUMemoryIncrease"}
PICKED: dict[str, Callable[[Any], Iterable[tuple[str, float]]]] = {
    "OverallSystemUsage": _usage,
    "OverallFrameworkMetrics": _framework,
    "StepOutlier": _steps,
    "LoadBalancing": _workloads,
}


def section_text(page: str, section: str) -> str:
    begin = page.index(f' id="{section}">')
    rest = page[begin + 10 :]
    end = rest.find('<section class="rg-section')
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", rest[:end], flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " | ", bare)).replace("\u00a0", " ")


@cache
def numbers_in(text: str) -> tuple[tuple[float, float], ...]:
    """Return each number of a text, and half a unit of its last digit."""
    found = []
    pattern = r"(?<![\w.])([-−]?\d[\d,]*(?:\.\d+)?)(?:\s?(kB|MB|GB|ms|µs)\b)?"
    for digits, prefix in re.findall(pattern, text):
        bare = digits.replace(",", "").replace("−", "-")
        scale = PREFIXES.get(prefix, 1.0)
        decimals = len(bare.partition(".")[2])
        found.append((float(bare) * scale, 0.5000001 * 10.0**-decimals * scale))
    for minutes, seconds in re.findall(r"(\d+) min (\d\d) s", text):
        found.append((60 * int(minutes) + int(seconds), 0.5000001))
    return tuple(found)


def is_shown_as(value: float, shown: float, half_unit: float) -> bool:
    return abs(shown - value) <= half_unit


def test_broken_and_missing_results_are_told_and_the_rest_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "job/rule-output/ProfilerReport-1679709146/profiler-output"
    shutil.copytree(SHARED_DATA / "aws-reports/cpu-only", folder / "profiler-reports")
    (folder / "profiler-reports/BatchSize.json").unlink()
    (folder / "profiler-reports/LoadBalancing.json").write_text("{")

    run = run_command(tmp_path / "job", cwd=tmp_path)

    assert run.code == 0, run.stderr
    report = json.loads((tmp_path / "profiler-report/report.json").read_text())
    assert report["job"]["name"] == "job"
    assert len(report["rules"]) == 9
    texts = [note["text"] for note in report["data_quality"]["notes"]]
    assert any(text.startswith("BatchSize.json is missing") for text in texts)
    assert any("LoadBalancing.json is not JSON" in text for text in texts)
    assert report["rules"]["CPUBottleneck"]["status"] == "skipped"
    assert "BatchSize.json is missing" in (tmp_path / "profiler-report.html").read_text()

    again = run_command("profiler-report", "--output", "again", "--format", "json", cwd=tmp_path)
    assert again.code == 0, again.stderr
    same = (tmp_path / "again/profiler-report/StepOutlier.json").read_bytes()
    assert same == (tmp_path / "profiler-report/StepOutlier.json").read_bytes()


def test_raw_data_win_over_results_beside_them(input_bound_job: Path, tmp_path: Path) -> None:
    job = tmp_path / "job"
    shutil.copytree(input_bound_job / "profiler-output", job / "profiler-output")
    shutil.copytree(SHARED_DATA / "aws-reports/cpu-only", job / "rule-output/profiler-reports")

    run = run_command(job, "--rules", "LowGPUUtilization", "--format", "json", cwd=tmp_path)

    assert run.code == 0, run.stderr
    report = json.loads((tmp_path / "profiler-report/report.json").read_text())
    assert report["sampling_interval_ms"] == 500
    assert report["rules"]["LowGPUUtilization"]["reason"] is None


def test_thresholds_of_results_that_are_there_cannot_be_set(tmp_path: Path) -> None:
    run = run_command(
        SHARED_DATA / "aws-reports/cpu-only", "--set", "StepOutlier.stddev=2", cwd=tmp_path
    )
    assert run.code == 2
    assert "StepOutlier.stddev cannot be set" in run.stderr
    assert list(tmp_path.iterdir()) == []
