"""``--fail-on``: exit 3 when a finding is at least that bad, with the report made all the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import write_system
from tests.end_to_end.command import run_command, run_here
from tests.fuzz import samples

LEVELS = ("info", "warning", "critical")
WORST = ("nothing", *LEVELS)
"""Jobs by the worst that is found in them."""

Arguments = Sequence[str | Path]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Arguments]:
    folder = tmp_path_factory.mktemp("raw")
    write_system(folder / "fine", {"gpu0": [95.0] * 1400, "cpu0": [20.0] * 1400})
    room = folder / "room.csv"
    room.write_text(
        "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
        + "".join(f"2026/03/01 10:00:{second:02}, 0, 95 %, 300, 800\n" for second in range(60))
    )
    slow = samples.write_job(folder / "slow" / "job")
    return {
        "nothing": [folder / "fine", "--rules", "BatchSize"],
        "info": [room, "--rules", "MemoryInUse"],
        "warning": [slow, "--rules", "Dataloader"],
        "critical": [slow, "--config", slow.parent / "rules.toml"],
    }


@pytest.fixture(scope="module")
def saved(
    raw: dict[str, Arguments], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Arguments]:
    folder = tmp_path_factory.mktemp("saved")
    for worst, arguments in raw.items():
        assert run_here(*arguments, "-o", folder / worst, "--format", "md").code == 0
    return {worst: [folder / worst / "profiler-report"] for worst in raw}


@pytest.fixture(scope="module")
def imported(
    saved: dict[str, Arguments], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Arguments]:
    folder = tmp_path_factory.mktemp("imported")
    return {
        worst: [samples.aws_results(Path(arguments[0]), folder / worst / "profiler-reports")]
        for worst, arguments in saved.items()
        if worst in ("nothing", "warning")  # a trigger of SageMaker's rule is a warning
    }


@pytest.mark.parametrize("source", ["raw", "saved", "imported"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_gate_closes_at_its_level_and_above(tmp_path: Path, request, source, level) -> None:
    jobs: dict[str, Arguments] = request.getfixturevalue(source)
    for worst, arguments in jobs.items():
        out = tmp_path / worst
        run = run_here(*arguments, "-o", out, "--format", "md", "--fail-on", level)

        report = json.loads((out / "profiler-report" / "report.json").read_bytes())
        found = {finding["severity"] for finding in report["findings"]}
        assert max(["nothing", *found], key=WORST.index) == worst
        assert run.code == (3 if WORST.index(worst) >= WORST.index(level) else 0), run.stderr
        named = [line for line in run.stderr.splitlines() if line.startswith("--fail-on ")]
        ids = [
            row["id"]
            for row in report["findings"]
            if WORST.index(row["severity"]) >= WORST.index(level)
        ]
        assert [line.split()[4] for line in named] == ids[:1]
        assert (out / "profiler-report.md").is_file()
        assert run.stdout.strip() == str(out / "profiler-report.md")


@pytest.mark.notebook
@pytest.mark.slow
def test_the_page_is_there_when_the_gate_closes(tmp_path: Path, input_bound_job: Path) -> None:
    run = run_command(input_bound_job, "--fail-on", "critical", cwd=tmp_path)

    assert (run.code, run.stdout.strip()) == (3, "profiler-report.html")
    assert (tmp_path / "profiler-report.html").stat().st_size > 1_000_000


def test_a_run_that_makes_no_report_is_not_a_closed_gate(tmp_path: Path) -> None:
    assert run_here(tmp_path / "gone", "-o", tmp_path, "--fail-on", "info").code == 1
    assert run_here(tmp_path, "--fail-on", "catastrophe").code == 2
