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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Both sides' runs over one job, and the factors we promise; ``None`` is for comparison."""

    about: str
    ours: Sequence[Run]
    theirs: Sequence[Run]
    faster: float | None
    lighter: float | None

    def row(self) -> list[str]:
        """Return the cells of its line in the table."""
        counts = self.ours[0].answer
        n_rows = int(counts["samples"] + counts["events"])
        speed = wall_s(self.theirs) / wall_s(self.ours)
        return [
            self.about,
            f"{n_rows:,}",
            f"{wall_s(self.ours):.2f} s",
            f"{wall_s(self.theirs):.2f} s",
            f"{speed:.1f}×",
            f"{seconds_inside(self.ours):.2f} / {seconds_inside(self.theirs):.2f} s",
            _held(self._speed, self.faster),
            f"{_mib(self.ours)}{self._helper()} / {_mib(self.theirs)}",
            _held(self._memory, self.lighter),
        ]

    @property
    def _speed(self) -> float:
        return seconds_inside(self.theirs) / seconds_inside(self.ours)

    @property
    def _memory(self) -> float:
        return peak_bytes(self.theirs) / peak_bytes(self.ours)

    def _helper(self) -> str:
        """Return what a helper process takes beside ours, if there was one."""
        helper_bytes = median(run.answer["helper_bytes"] for run in self.ours)
        return f" (and a helper {helper_bytes / 2**20:,.0f} MiB)" if helper_bytes else ""

    @property
    def is_met(self) -> bool:
        """Return whether all that is promised holds."""
        return self._speed >= (self.faster or 0) and self._memory >= (self.lighter or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Runs of the whole command over one job, and the seconds and bytes it may take."""

    about: str
    runs: Sequence[Run]
    budget_s: float | None
    budget_bytes: float | None = None

    def row(self) -> list[str]:
        """Return the cells of its line in the table."""
        walls = sorted(run.wall_s for run in self.runs)
        return [
            self.about,
            f"{wall_s(self.runs):.2f} s",
            f"{walls[0]:.2f}–{walls[-1]:.2f} s",
            f"{median(run.cpu_s for run in self.runs):.2f} s",
            self._budget(),
            _mib(self.runs),
        ]

    def _budget(self) -> str:
        budgets = []
        if self.budget_s is not None:
            budgets.append(f"≤ {self.budget_s:.1f} s")
        if self.budget_bytes is not None:
            budgets.append(f"≤ {self.budget_bytes / 2**20:,.0f} MiB")
        return f"{' and '.join(budgets)}, {verdict(self.is_met)}" if budgets else "none"

    @property
    def is_met(self) -> bool:
        """Return whether the medians are within the budgets."""
        is_quick = self.budget_s is None or wall_s(self.runs) <= self.budget_s
        return is_quick and (
            self.budget_bytes is None or peak_bytes(self.runs) <= self.budget_bytes
        )


def _held(ratio: float, promised: float | None) -> str:
    """Return a ratio and how its promise was kept."""
    if promised is None:
        return f"{ratio:.1f}×"
    return f"{ratio:.1f}× (≥ {promised:.0f}×, {verdict(ratio >= promised)})"


def wall_s(runs: Sequence[Run]) -> float:
    """Return the median wall time of whole processes."""
    return median(run.wall_s for run in runs)


def seconds_inside(runs: Sequence[Run]) -> float:
    """Return the median time of reading alone, without start and imports."""
    return median(run.answer["seconds"] for run in runs)


def peak_bytes(runs: Sequence[Run]) -> float:
    """Return the median peak memory."""
    return median(run.peak_bytes for run in runs)


def _mib(runs: Sequence[Run]) -> str:
    return f"{peak_bytes(runs) / 2**20:,.0f} MiB"


def verdict(is_met: bool) -> str:
    """Return how a promise was kept."""
    return "met" if is_met else "**missed**"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def measured_on(*, n_rounds: int) -> str:
    """Return when, where and how often was measured."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores ({platform.system()} {platform.machine()})"
    python = f"Python {platform.python_version()}"
    day = f"{datetime.now(tz=UTC):%Y-%m-%d}"
    return f"Measured on {day} on {machine}, {python}; median of {n_rounds}."


def reading_table(readings: Sequence[Reading]) -> str:
    """Return comparisons with smdebug as Markdown."""
    return table(
        [
            *("reading", "rows", "ours", "smdebug 1.0.34", "ratio"),
            *("without start, ours / smdebug", "ratio (promise)"),
            *("peak memory, ours / smdebug", "ratio (promise)"),
        ],
        [reading.row() for reading in readings],
    )


def big_jobs(readings: Sequence[Reading], reports: Sequence[Report]) -> str:
    """Return the tables of whole jobs as Markdown."""
    parts = []
    if readings:
        parts.append(reading_table(readings))
    if reports:
        parts.append(
            table(
                ["whole report", "wall time", "range", "processor time", "budget", "peak memory"],
                [report.row() for report in reports],
            )
        )
    return "\n\n".join(parts)


def write_page(path: Path, measured: str, *, part: str) -> None:
    """Put a measured part between its marks in a page."""
    begin, end = (f"<!-- measured {part}: {side} -->" for side in ("begin", "end"))
    text = path.read_text(encoding="utf-8")
    between = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    if not between.search(text):
        raise SystemExit(f"{path}: expected {begin} … {end}")
    whole = between.sub(lambda _: f"{begin}\n\n{measured}\n\n{end}", text)
    path.write_text(whole, encoding="utf-8")
