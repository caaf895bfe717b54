"""Turn measurements into the tables of ``docs/performance.md``."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from process import Run

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Both sides' runs over one job, and the factors we promise."""

    about: str
    ours: Sequence[Run]
    theirs: Sequence[Run]
    faster: float
    lighter: float

    def row(self) -> list[str]:
        """Return the cells of its line in the table."""
        counts = self.ours[0].answer
        n_rows = int(counts["samples"] + counts["events"])
        speed = wall_s(self.theirs) / wall_s(self.ours)
        inside = inside_s(self.theirs) / inside_s(self.ours)
        memory = peak_bytes(self.theirs) / peak_bytes(self.ours)
        return [
            self.about,
            f"{n_rows:,}",
            f"{wall_s(self.ours):.2f} s",
            f"{wall_s(self.theirs):.2f} s",
            f"{speed:.1f}×",
            f"{inside_s(self.ours):.2f} / {inside_s(self.theirs):.2f} s",
            f"{inside:.1f}× (≥ {self.faster:.0f}×, {_verdict(inside >= self.faster)})",
            f"{_mib(self.ours)}{self._helper()} / {_mib(self.theirs)}",
            f"{memory:.1f}× (≥ {self.lighter:.0f}×, {_verdict(memory >= self.lighter)})",
        ]

    def _helper(self) -> str:
        """Return what a helper process takes beside ours, if there was one."""
        helper_bytes = median(run.answer["helper_bytes"] for run in self.ours)
        return f" (and a helper {helper_bytes / 2**20:,.0f} MiB)" if helper_bytes else ""

    @property
    def is_met(self) -> bool:
        """Return whether both promises hold."""
        return (
            inside_s(self.theirs) / inside_s(self.ours) >= self.faster
            and peak_bytes(self.theirs) / peak_bytes(self.ours) >= self.lighter
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Runs of the whole command over one job, and the seconds it may take."""

    about: str
    runs: Sequence[Run]
    budget_s: float | None

    def row(self) -> list[str]:
        """Return the cells of its line in the table."""
        walls = sorted(run.wall_s for run in self.runs)
        budget = "none" if self.budget_s is None else f"≤ {self.budget_s:.1f} s"
        return [
            self.about,
            f"{wall_s(self.runs):.2f} s",
            f"{walls[0]:.2f}–{walls[-1]:.2f} s",
            budget if self.budget_s is None else f"{budget}, {_verdict(self.is_met)}",
            _mib(self.runs),
        ]

    @property
    def is_met(self) -> bool:
        """Return whether the median is within the budget."""
        return self.budget_s is None or wall_s(self.runs) <= self.budget_s


def wall_s(runs: Sequence[Run]) -> float:
    """Return the median wall time of whole processes."""
    return median(run.wall_s for run in runs)


def inside_s(runs: Sequence[Run]) -> float:
    """Return the median time of reading alone, without start and imports."""
    return median(run.answer["seconds"] for run in runs)


def peak_bytes(runs: Sequence[Run]) -> float:
    """Return the median peak memory."""
    return median(run.peak_bytes for run in runs)


def _mib(runs: Sequence[Run]) -> str:
    return f"{peak_bytes(runs) / 2**20:,.0f} MiB"


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def page(readings: Sequence[Reading], reports: Sequence[Report], *, n_rounds: int) -> str:
    """Return the measured part of the page as Markdown."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores ({platform.system()} {platform.machine()})"
    python = f"Python {platform.python_version()}"
    day = f"{datetime.now(tz=UTC):%Y-%m-%d}"
    parts = [f"Measured on {day} on {machine}, {python}; median of {n_rounds}."]
    if readings:
        parts.append(
            _table(
                [
                    *("reading", "rows", "ours", "smdebug 1.0.34", "ratio"),
                    *("without start, ours / smdebug", "ratio (promise)"),
                    *("peak memory, ours / smdebug", "ratio (promise)"),
                ],
                [reading.row() for reading in readings],
            )
        )
    if reports:
        parts.append(
            _table(
                ["whole report", "wall time", "range", "budget", "peak memory"],
                [report.row() for report in reports],
            )
        )
    return "\n\n".join(parts)


def write_page(path: Path, measured: str) -> None:
    """Put the measured part between its marks in a page."""
    text = path.read_text(encoding="utf-8")
    between = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not between.search(text):
        raise SystemExit(f"{path}: expected {BEGIN} … {END}")
    whole = between.sub(lambda _: f"{BEGIN}\n\n{measured}\n\n{END}", text)
    path.write_text(whole, encoding="utf-8")
