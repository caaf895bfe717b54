"""What the reports of whole jobs say: well written, and one finding of a fault gives the advice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reportgen.intake import discover, list_files, read_aws_folder
from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.from_results import import_results
from reportgen.pipeline.work import work_on
from reportgen.report import Report
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, rules_for
from reportgen.rules.settings import resolve_params
from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS, Fault, JobSpec
from tests.rules.wording import flaws_in, flaws_of
from tests.shared_data import ORACLE_JOBS, SHARED_DATA, needs_shared_data

pytestmark = pytest.mark.slow

TRACES = ("kernel_traces", "recorded_trace")
SHARED_TRACES = ("param_dlrm_8ranks", "v100_ns", "a100_alexnet_sync_events.json.gz")
POINTS_TO = re.compile(r"Do first what ([A-Z]+-\d) advises")
BATCH = re.compile(r"(?i)raise the batch size|larger batch(?!es)")


def report_of(path: Path) -> Report:
    job = discover(str(path))
    rules = rules_for(job, BUILTIN_RULES)
    params = resolve_params(rules, {})
    measured = [work_on(part, rules=rules, params=params) for part in job.parts]
    results = judge_all([part.measurements for part in measured], rules, params)
    return compose_report(job, measured, results)


def imported_report_of(path: Path) -> Report:
    return import_results(read_aws_folder(list_files(str(path))))


def flaws_of_report(report: Report) -> Iterator[str]:
    for result in report.results.values():
        yield from flaws_in(result)
    for note in report.data_quality.notes:
        yield from flaws_of(note.text)


def assert_says_it_once(report: Report) -> None:
    """Assert that no advice stands twice and that pointers lead to advice, one step ahead."""
    findings = [item.finding for item in report.findings]
    advice = {finding.id: finding.advice for finding in findings}
    own = [text for text in advice.values() if not POINTS_TO.match(text)]
    assert len(set(own)) == len(own)
    for place, finding in enumerate(findings):
        pointer = POINTS_TO.match(finding.advice)
        if pointer:
            assert pointer[1] in {earlier.id for earlier in findings[:place]}
            assert not POINTS_TO.match(advice[pointer[1]])
    larger = [key for key, text in advice.items() if BATCH.search(text) and key != "IDLE-5"]
    assert len(larger) <= 1, "more than one finding asks for a larger batch"


def assert_good(report: Report) -> None:
    assert list(flaws_of_report(report)) == []
    assert_says_it_once(report)


@pytest.mark.parametrize("name", NAMED_JOBS)
def test_a_sample_job(name: str, tmp_path: Path) -> None:
    assert_good(report_of(make_job(NAMED_JOBS[name], output=tmp_path)))


def test_a_damaged_job(tmp_path: Path) -> None:
    faults = {Fault.GARBAGE_LINE, Fault.TRUNCATED_LAST_LINE, Fault.GAP, Fault.LATE_GROUPS}
    job = make_job(JobSpec(name="damaged", faults=frozenset(faults)), output=tmp_path)
    files = sorted((job / "profiler-output").rglob("*.json"))
    files[0].write_bytes(b"no profiler wrote this")
    files[-1].write_bytes(files[-1].read_bytes()[:3000])
    (job / "profiler-output" / "notes.txt").write_text("nor this")
    report = report_of(job)

    assert report.data_quality.notes
    assert_good(report)


@pytest.mark.parametrize("name", TRACES)
def test_a_sample_trace(name: str) -> None:
    assert_good(report_of(Path(__file__).resolve().parents[2] / "sample_data" / name))


@needs_shared_data
@pytest.mark.parametrize("name", ORACLE_JOBS)
def test_an_oracle_job(name: str) -> None:
    assert_good(report_of(SHARED_DATA / "oracle" / name))


@needs_shared_data
@pytest.mark.parametrize("name", SHARED_TRACES)
def test_a_shared_trace(name: str) -> None:
    assert_good(report_of(SHARED_DATA / "kineto" / name))


@needs_shared_data
@pytest.mark.parametrize(
    "name", sorted(path.name for path in (SHARED_DATA / "aws-reports").glob("*") if path.is_dir())
)
def test_results_of_sagemaker(name: str) -> None:
    assert_good(imported_report_of(SHARED_DATA / "aws-reports" / name))
