"""What recording costs: steps whose details were recorded against the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import SpanClass, classes_of
from reportgen.facts.groups import rows_by_code
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.steps import phase_word
from reportgen.profile import SpanTable
from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_MS, NS_PER_S, say_count, say_duration, say_pct

EXHIBIT = "overhead"
LEAST_STEPS = 5
"""Steps on both sides that a comparison needs. Source: features 001-19."""
TOLD_FROM_PCT = 5.0
"""Recorded steps that are longer by this much are told. Source: ours."""


class Detail(StrEnum):
    """What was recorded of some steps only."""

    OPERATORS = "operators"
    MODULES = "model parts"


_CLASSES = {Detail.OPERATORS: (SpanClass.CPU, SpanClass.GPU), Detail.MODULES: (SpanClass.MODULE,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Steps of one worker and phase with a kind of detail, and without: counts and medians."""

    worker: str
    phase: str
    detail: Detail
    n_with: int
    n_without: int
    with_ns: float
    without_ns: float | None

    @property
    def longer_pct(self) -> float | None:
        """Return by how much recorded steps are longer, ``None`` with too few on one side."""
        if min(self.n_with, self.n_without) < LEAST_STEPS or not self.without_ns:
            return None
        return 100 * (self.with_ns / self.without_ns - 1)


def overheads_of(spans: SpanTable) -> tuple[Overhead, ...]:
    """Return the steps of each worker and phase of a node in which details were recorded."""
    steps, classes = spans.steps(), classes_of(spans)
    found = []
    for detail, kinds in _CLASSES.items():
        events = spans.where(np.isin(classes, kinds))
        for worker, rows in rows_by_code(steps.worker):
            its, own = steps.where(rows), events.where(events.worker == worker)
            has_detail = overlaps_any(its.start_ns, its.end_ns, own.start_ns, own.end_ns)
            for phase, members in rows_by_code(its.phase):
                made = _overhead(its.duration_ns[members], has_detail[members])
                if made is not None:
                    n_with, with_ns, without_ns = made
                    found.append(
                        Overhead(
                            worker=its.workers[worker],
                            phase=its.phases[phase],
                            detail=detail,
                            n_with=n_with,
                            n_without=int(members.size) - n_with,
                            with_ns=with_ns,
                            without_ns=without_ns,
                        )
                    )
    return tuple(found)


def overhead_exhibit(overheads: Sequence[Overhead], interval_ns: int | None) -> tuple[Exhibit, ...]:
    """Return the table of recorded steps against the others; nothing without details.

    Args:
        overheads: of all workers.
        interval_ns: the sampling interval of the system metrics, if known.
    """
    if not overheads:
        return ()
    return (
        exhibit(
            EXHIBIT,
            ExhibitKind.TABLE,
            title="What recording costs",
            caption=(
                "Median duration of steps whose details were recorded, and of the others. With "
                f"fewer than {LEAST_STEPS} steps on one side they are not compared."
                f"{_sampling(interval_ns)}"
            ),
            columns=[
                ("worker", "", [item.worker for item in overheads]),
                ("phase", "", [phase_word(item.phase) for item in overheads]),
                ("detail", "", [item.detail.value for item in overheads]),
                ("recorded_steps", "", [item.n_with for item in overheads]),
                ("other_steps", "", [item.n_without for item in overheads]),
                ("recorded_p50_s", "s", [item.with_ns / NS_PER_S for item in overheads]),
                (
                    "other_p50_s",
                    "s",
                    [
                        None if item.without_ns is None else item.without_ns / NS_PER_S
                        for item in overheads
                    ],
                ),
                (
                    "longer_pct",
                    "%",
                    [_rounded(item.longer_pct) for item in overheads],
                ),
            ],
        ),
    )


def overhead_finding(overheads: Sequence[Overhead], interval_ns: int | None) -> Finding | None:
    """Return FW-4, the details whose recording makes steps longest; ``None`` when none does."""
    compared = [(item.longer_pct, item) for item in overheads if item.longer_pct is not None]
    if not compared:
        return None
    longer_pct, worst = max(
        compared, key=lambda pair: (pair[0], pair[1].n_with, pair[1].worker, pair[1].detail)
    )
    if longer_pct < TOLD_FROM_PCT:
        return None
    assert worst.without_ns is not None
    return Finding(
        id="FW-4",
        severity=Severity.INFO,
        title=f"Steps whose {worst.detail.value} were recorded are {say_pct(longer_pct)} longer",
        text=(
            f"{worst.worker} has {say_times(worst.n_with, f'{phase_word(worst.phase)} step')} "
            f"whose {worst.detail.value} were recorded; their median is "
            f"{say_duration(worst.with_ns / NS_PER_S)}, that of "
            f"{say_times(worst.n_without, 'other step')} is "
            f"{say_duration(worst.without_ns / NS_PER_S)}. The recording may be the reason."
            f"{_sampling(interval_ns)}"
        ),
        advice="Record the details of few steps, and judge the pace by the other steps.",
        measured=round(longer_pct, 4),
        threshold=TOLD_FROM_PCT,
        unit="%",
        exhibit=EXHIBIT,
    )


def _overhead(
    duration_ns: NDArray[np.int64], has_detail: NDArray[np.bool_]
) -> tuple[int, float, float | None] | None:
    """Return how many steps have details, and the medians with and without."""
    if not has_detail.any():
        return None
    without = duration_ns[~has_detail]
    return (
        int(has_detail.sum()),
        float(np.median(duration_ns[has_detail])),
        float(np.median(without)) if without.size else None,
    )


def _sampling(interval_ns: int | None) -> str:
    if interval_ns is None:
        return ""
    return f" System metrics were sampled every {say_count(interval_ns // NS_PER_MS)} ms."


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
