"""Annotations: how long the ranges that people marked in their code took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.distributions import bin_together, box_of, tally_values
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import Times
from reportgen.results import (
    Counters,
    DashboardPanel,
    Details,
    Exhibit,
    ExhibitKind,
    Place,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.annotations import AnnotationValues, annotation_values
from reportgen.rules.kernels.saying import result_of, top_k
from reportgen.rules.saying.boxes import NamedBox, boxes_exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_US

ID = RuleId("Annotations")
TABLE, BOXES, HISTOGRAM = "annotations", "annotation_durations", "histogram"
ABOUT = About(
    checks="How long the ranges took that the script marks with record_function.",
    reading=(
        "Durations are the host's; GPU time is that of the operations launched inside. Names that "
        "differ only by the number at their end are one; ranges of the framework are left out."
    ),
    advice="Mark the phases of a step to see which of them to improve.",
    section=Section(id="annotations", title="Annotations", order=120),
    hint_when_skipped='Mark parts of the script: with torch.profiler.record_function("name"): …',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many annotations are drawn."""

    top: int = top_k()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One annotation over all ranks; durations (n,) int64, ascending."""

    name: str
    duration_ns: Times
    gpu_ns: int

    @property
    def sum_ns(self) -> int:
        """Return the durations added up."""
        return int(self.duration_ns.sum())


def measure(
    part: RankTrace,
    params: Params,  # noqa: ARG001 - a rule's shape
) -> tuple[AnnotationValues, ...]:
    """Measure the annotations of a rank."""
    return annotation_values(part)


def judge(measurements: Sequence[tuple[AnnotationValues, ...]], params: Params) -> RuleResult:
    """Join the ranks."""
    rows = _joined([values for rank in measurements for values in rank])
    return result_of(
        ID,
        params=params,
        reason=_reason(len(measurements), rows),
        presentation=present(Counters(), {}, params, rows),
        metrics={},
    )


def _reason(n_ranks: int, rows: Sequence[Row]) -> Reason | None:
    if rows:
        return None
    text = (
        "The trace holds no ranges marked with record_function."
        if n_ranks
        else "No kernel trace was given."
    )
    return Reason(code=ReasonCode.NO_EVENTS, text=text)


def _joined(values: Sequence[AnnotationValues]) -> list[Row]:
    groups: dict[str, list[AnnotationValues]] = {}
    for item in values:
        groups.setdefault(item.name, []).append(item)
    rows = [
        Row(
            name=name,
            duration_ns=np.sort(np.concatenate([item.duration_ns for item in items])),
            gpu_ns=sum(item.gpu_ns for item in items),
        )
        for name, items in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.sum_ns, row.name))


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[Row] | None,
) -> Presentation:
    """Say how long annotations took; ``context`` is a row each, largest first."""
    rows = context or ()
    if not rows:
        return Presentation(exhibits=(_table(rows),))
    shown = rows[: params.top]
    boxes = boxes_exhibit(
        BOXES,
        [
            NamedBox(
                name=row.name,
                box=box_of(row.duration_ns / NS_PER_US),
                largest=float(row.duration_ns[-1]) / NS_PER_US,
            )
            for row in shown
        ],
        title="Durations of annotations",
        unit="us",
    )
    histograms = [
        _histogram(f"{HISTOGRAM}_{place}", row)
        for place, row in enumerate(shown, start=1)
        if row.duration_ns.size > 1
    ]
    return Presentation(exhibits=(boxes, *histograms, _table(rows)))


def _table(rows: Sequence[Row]) -> Exhibit:
    points = [np.percentile(row.duration_ns, (50, 95)).tolist() for row in rows]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Annotations",
        caption=(
            "Over all ranks, largest first. gpu_time_us is the time in which GPU operations "
            "launched inside ran, added up over instances."
        ),
        columns=[
            ("name", "", [row.name for row in rows]),
            ("count", "", [row.duration_ns.size for row in rows]),
            ("sum_us", "us", [row.sum_ns / NS_PER_US for row in rows]),
            ("p50_us", "us", [p50 / NS_PER_US for p50, _ in points]),
            ("p95_us", "us", [p95 / NS_PER_US for _, p95 in points]),
            ("gpu_time_us", "us", [row.gpu_ns / NS_PER_US for row in rows]),
        ],
    )


def _histogram(exhibit_id: str, row: Row) -> Exhibit:
    bins = bin_together([tally_values(row.duration_ns)])
    edges = bins.edge_ns / NS_PER_US
    return exhibit(
        exhibit_id,
        ExhibitKind.HISTOGRAM,
        title=f"Durations of {row.name}",
        caption=f"{say_times(row.duration_ns.size, 'instance')} on the host.",
        columns=[
            ("bin_start", "us", edges[:-1]),
            ("bin_end", "us", edges[1:]),
            ("instances", "", bins.counts[0]),
        ],
    )


RULE = Rule(
    id=ID,
    title="Annotations",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("histogram_*",),
    places={"annotation_durations": Place(dashboard=DashboardPanel(order=200, is_wide=True))},
)
