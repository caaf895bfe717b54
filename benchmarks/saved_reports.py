"""Measure what is made of saved reports: a comparison of two, and an index of ten thousand."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from process import Run, measure
from tables import table, verdict, wall_s

ROOT = Path(__file__).resolve().parent.parent
N_REPORTS = 10_000
_COMPARE_S, _INDEX_S, _PAGE_BYTES = 1.5, 10.0, 3e6
_RUN = "import sys; from reportgen.cli.family import main; sys.argv[0] = 'reportgen'; main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedReports:
    """Runs of both commands, and the size of the page of the index."""

    compared: Sequence[Run]
    listed: Sequence[Run]
    page_bytes: int

    @property
    def rows(self) -> list[tuple[str, str, str, bool]]:
        """Return what was measured, the value, the promise, and whether it is kept.

        Judged by processor time: on an idle machine the commands do not take longer.
        """
        commands = (
            ("`reportgen compare` of two saved reports, with page and notebook",
             self.compared, _COMPARE_S),
            (f"`reportgen index` of {N_REPORTS:,} reports", self.listed, _INDEX_S),
        )  # fmt: skip
        return [
            *(
                (
                    name,
                    f"{cpu_s:.2f} s of processor time, {wall_s(runs):.2f} s",
                    f"≤ {most_s:g} s",
                    cpu_s <= most_s,
                )
                for name, runs, most_s in commands
                for cpu_s in (median(run.cpu_s for run in runs),)
            ),
            (
                "its page",
                f"{self.page_bytes / 1e6:.2f} MB", f"≤ {_PAGE_BYTES / 1e6:g} MB",
                self.page_bytes <= _PAGE_BYTES,
            ),
        ]  # fmt: skip

    @property
    def is_met(self) -> bool:
        """Return whether all promises hold."""
        return all(is_met for *_, is_met in self.rows)

    def tables(self) -> str:
        """Return the table of ``docs/performance.md``."""
        return table(
            ("saved reports", "measured", "promise"),
            [
                (what, value, f"{promise}, {verdict(is_met)}")
                for what, value, promise, is_met in self.rows
            ],
        )


def measure_saved_reports(folder: Path, *, n_rounds: int) -> SavedReports:
    """Make reports in a folder, then run both commands on them."""
    reports = [_report(name, folder) for name in ("input_bound", "healthy")]
    _many(reports[0], folder / "many")
    compared = [
        _command("compare", *map(str, reports), "-o", str(folder / "compared"), "-q")
        for _ in range(n_rounds)
    ]
    listed = [
        _command("index", str(folder / "many"), "-o", str(folder / "index"), "-q")
        for _ in range(n_rounds)
    ]
    page = folder / "index" / "profiler-index.html"
    return SavedReports(compared=compared, listed=listed, page_bytes=page.stat().st_size)


def _report(name: str, folder: Path) -> Path:
    """Make a sample job and its report."""
    python, env = sys.executable, {"PYTHONPATH": str(ROOT)}
    job, output = folder / "jobs", folder / "reports" / name
    made = [python, "-m", "sample_data.make", name, "--output", str(job)]
    measure(made, reads_answer=False, **env)
    command = [python, "-m", "reportgen", str(job / name), "-o", str(output), "--format", "md"]
    measure(command, reads_answer=False, **env)
    return output


def _many(report: Path, folder: Path) -> None:
    """Write as many ``report.json`` as an index of a year has, each with its own numbers."""
    tree = json.loads((report / "profiler-report" / "report.json").read_text(encoding="utf-8"))
    rng = Random(1)
    for number in range(N_REPORTS):
        place = folder / f"team-{number % 40}" / f"job-{number}" / "profiler-report"
        place.mkdir(parents=True)
        tree["job"]["name"] = f"model-{number % 300}-2026-03-{1 + number % 28:02d}-{number:06d}"
        tree["summary"]["start_time"] = f"2026-03-{1 + number % 28:02d}T{number % 24:02d}:00:00Z"
        tree["figures"]["wasted_gpu_hours"] = rng.uniform(0, 90)
        tree["figures"]["step_p50_s"] = rng.uniform(0.05, 2)
        (place / "report.json").write_text(json.dumps(tree), encoding="utf-8")


def _command(*arguments: str) -> Run:
    return measure(
        [sys.executable, "-c", _RUN, *arguments], reads_answer=False, PYTHONPATH=str(ROOT)
    )
