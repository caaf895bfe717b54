"""``reportgen compare`` as a user calls it: files, codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reportgen.cli.compare import command
from reportgen.comparison import load
from reportgen.errors import ReportgenError
from reportgen.report import Setup
from reportgen.results import Severity
from tests.comparison.builders import finding, report_of, save, steps_table
from tests.s3_server import Bucket
from tests.traces import trace_text, write_trace

STEPS = np.random.default_rng(1).lognormal(0, 0.02, 400)


@pytest.fixture
def jobs(tmp_path: Path) -> dict[str, Path]:
    a100, v100 = (Setup(gpu_names=(name,)) for name in ("A100", "V100"))
    return {
        "before": save(tmp_path / "one", report_of(steps_table(100 * STEPS), setup=a100)),
        "slower": save(tmp_path / "two", report_of(steps_table(110 * STEPS[::-1]), setup=a100)),
        "other": save(tmp_path / "other", report_of(steps_table(110 * STEPS), setup=v100)),
        "stepless": save(tmp_path / "none", report_of()),
    }


def compare(*args: object, to: Path, formats: tuple[str, ...] = ("md",)) -> Result:
    wanted = ["--format", ",".join(formats)]
    return CliRunner().invoke(
        command, [*map(str, args), "-o", str(to), *wanted], standalone_mode=False
    )


def test_it_says_what_changed_and_writes_what_was_asked(jobs: dict[str, Path], tmp_path: Path):
    answer = compare(jobs["before"], jobs["slower"], to=tmp_path / "out")

    assert answer.return_value == 0
    assert "1.10× slower" in answer.stderr
    assert answer.stdout.strip() == str(tmp_path / "out" / "profiler-comparison.json")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "profiler-comparison.json",
        "profiler-comparison.md",
    ]
    assert load(tmp_path / "out").verdict == "slower"
    assert "1.10× slower" in (tmp_path / "out" / "profiler-comparison.md").read_text()


@pytest.mark.notebook
def test_page_and_notebook_are_made(jobs: dict[str, Path], tmp_path: Path) -> None:
    answer = compare(
        jobs["before"], jobs["slower"], to=tmp_path / "out", formats=("html", "md", "ipynb")
    )

    page = (tmp_path / "out" / "profiler-comparison.html").read_text()
    cells = json.loads((tmp_path / "out" / "profiler-comparison.ipynb").read_text())["cells"]
    assert answer.return_value == 0
    assert "Where the difference comes from" in page
    shown = [cell["id"] for cell in cells if cell.get("outputs")]
    assert shown == ["verdict", "comparability", "step-time", "waterfall"]


@pytest.mark.parametrize(
    ("after", "options", "code"),
    [
        ("slower", ["--fail-if", "step_p50 > +3%"], 3),
        ("slower", ["--fail-if", "step_p50 > +30%"], 0),
        ("before", ["--fail-if", "step_p50 > -1%"], 0),
        ("other", ["--fail-if", "step_p50 > +3%"], 4),
        ("other", ["--fail-if", "step_p50 > +3%", "--allow-different", "hardware"], 3),
        ("stepless", [], 4),
    ],
)
def test_codes_are_those_of_the_contract(jobs, tmp_path, after, options, code) -> None:
    assert compare(jobs["before"], jobs[after], *options, to=tmp_path / "out").return_value == code
    assert (tmp_path / "out" / "profiler-comparison.json").exists()


def test_findings_that_one_job_did_not_check_are_named(jobs: dict[str, Path], tmp_path: Path):
    faults = {"Dataloader": [finding("DL-1", severity=Severity.CRITICAL)]}
    faulty = save(tmp_path / "faulty", report_of(steps_table(110 * STEPS), findings=faults))
    gate = ["--fail-if", "finding:new:critical", "--allow-different", "hardware"]

    answer = compare(jobs["before"], faulty, *gate, to=tmp_path / "one-way")
    compare(faulty, jobs["before"], to=tmp_path / "back", formats=("md",))

    assert answer.return_value == 0
    assert (
        "--fail-if is not judged: finding:new:critical: “before” did not check DL-1"
        in answer.stderr
    )
    texts = [
        (tmp_path / name / "profiler-comparison.md").read_text() for name in ("one-way", "back")
    ]
    assert "Not compared, as “before” did not check: DL-1 (critical)." in texts[0]
    assert "Not compared, as “after” did not check: DL-1 (critical)." in texts[1]


def test_a_baseline_may_be_the_file_itself(jobs: dict[str, Path], tmp_path: Path) -> None:
    baseline = jobs["before"] / "profiler-report" / "report.json"

    assert compare("--baseline", baseline, jobs["slower"], to=tmp_path / "out").return_value == 0
    assert load(tmp_path / "out").verdict == "slower"


def test_reports_in_a_bucket_are_compared(s3: Bucket, jobs: dict[str, Path], tmp_path: Path):
    for name in ("before", "slower"):
        s3.put_folder(jobs[name], name)

    answer = compare(f"{s3.url}/before", f"{s3.url}/slower/profiler-report", to=tmp_path / "out")

    assert answer.return_value == 0
    assert load(tmp_path / "out").verdict == "slower"
    assert {method for method, _ in s3.trouble.seen} <= {"GET", "HEAD"}


def test_one_path_alone_is_wrong_usage(jobs: dict[str, Path], tmp_path: Path) -> None:
    answer = CliRunner().invoke(command, [str(jobs["before"]), "-o", str(tmp_path / "out")])

    assert answer.exit_code == 2
    assert "--baseline" in answer.output


def test_a_file_of_somebody_else_is_not_replaced(jobs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "profiler-comparison.md").write_text("mine")

    answer = compare(jobs["before"], jobs["slower"], to=out)

    assert isinstance(answer.exception, ReportgenError)
    assert answer.exception.exit_code == 2
    assert (out / "profiler-comparison.md").read_text() == "mine"
    assert [path.name for path in out.iterdir()] == ["profiler-comparison.md"]


def test_another_cycle_of_the_profiler_is_compared(tmp_path: Path) -> None:
    for stamp in (1694128201545, 1694128301545):
        write_trace(tmp_path / "job" / f"rank0.{stamp}.pt.trace.json", trace_text())
    paths = (tmp_path / "job", tmp_path / "job")

    answer = compare(*paths, "--cycle", "2", to=tmp_path / "out")
    assert answer.exception is None or "--cycle" not in str(answer.exception)
    answer = compare(*paths, "--cycle", "3", to=tmp_path / "out")
    assert "2 recorded cycles" in str(answer.exception)
