"""OperatorTime: how long each operator ran on the host and on the GPU, from kernel traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.profile.trace import RankTrace
from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
    Severity,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.durations import DurationRow, join_ranks
from reportgen.rules.kernels.operators import OperatorValues, operator_values
from reportgen.rules.kernels.saying import pct_of, result_of, say_ns, top_k
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_US, percentages, say_pct

ID = RuleId("OperatorTime")
TABLE, BY_HOST, BY_GPU = "operators", "top_by_self_time", "top_by_gpu_time"
ABOUT = About(
    checks="How long the framework's operators ran on the host, and what they cost on the GPU.",
    reading=(
        "Operators call each other: the time of one holds that of those it calls, self time does "
        "not, so only self times add up. GPU time is that of what an operator launched itself."
    ),
    advice="Look for operators that take the host long but give the GPU little to do.",
    section=Section(id="traced-operators", title="Traced operators", order=70),
    hint_when_skipped="Trace with ProfilerActivity.CPU as an activity.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many operators are told apart in rankings."""

    top: int = top_k()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operator over all ranks, ns."""

    figures: DurationRow
    self_ns: int
    gpu_ns: int

    @property
    def name(self) -> str:
        """Return its name."""
        return self.figures.key[0]


def measure(part: RankTrace, params: Params) -> OperatorValues:  # noqa: ARG001 - a rule's shape
    """Measure the operators of a rank."""
    return operator_values(part)


def judge(measurements: Sequence[OperatorValues], params: Params) -> RuleResult:
    """Join the ranks."""
    rows = _joined(measurements)
    return result_of(
        ID,
        params=params,
        reason=None if rows else _reason(len(measurements)),
        presentation=present(Counters(), {}, params, rows),
        metrics={
            "n_operators": sum(row.figures.count for row in rows),
            "n_distinct_operators": len(rows),
            "self_time_us": sum(row.self_ns for row in rows) / NS_PER_US,
            "gpu_time_us": sum(row.gpu_ns for row in rows) / NS_PER_US,
        }
        if rows
        else {},
    )


def _reason(n_ranks: int) -> Reason:
    text = "The trace holds no operators." if n_ranks else "No kernel trace was given."
    return Reason(code=ReasonCode.NO_EVENTS, text=text)


def _joined(ranks: Sequence[OperatorValues]) -> list[Row]:
    """Return every operator over all ranks, by self time, ties by name."""

    def over_ranks(totals: Sequence[Mapping[str, int]], name: str) -> int:
        return sum(rank.get(name, 0) for rank in totals)

    rows = [
        Row(
            figures=figures,
            self_ns=over_ranks([rank.self_ns for rank in ranks], figures.key[0]),
            gpu_ns=over_ranks([rank.gpu_ns for rank in ranks], figures.key[0]),
        )
        for figures in join_ranks([rank.durations for rank in ranks])
    ]
    return sorted(rows, key=lambda row: (-row.self_ns, row.name))


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[Row] | None,
) -> Presentation:
    """Say which operators took the time; ``context`` is a row each, by self time."""
    rows = context or ()
    if not rows:
        return Presentation()
    by_gpu = sorted(rows, key=lambda row: (-row.gpu_ns, row.name))
    rankings = [_ranking(BY_HOST, rows, [row.self_ns for row in rows], top=params.top)]
    if by_gpu[0].gpu_ns > 0:
        gpu_ns = [row.gpu_ns for row in by_gpu]
        rankings.append(_ranking(BY_GPU, by_gpu, gpu_ns, top=params.top))
    return Presentation(findings=(_reading(rows),), exhibits=(*rankings, _table(rows)))


_TITLES = {BY_HOST: "Operators by self time on the host", BY_GPU: "Operators by time on the GPU"}
_CAPTIONS = {
    BY_HOST: "Shares of the self time of all operators, over all threads",
    BY_GPU: "Shares of the GPU time that operators launched themselves",
}


def _ranking(exhibit_id: str, rows: Sequence[Row], times_ns: Sequence[int], *, top: int) -> Exhibit:
    names, values = [row.name for row in rows[:top]], list(times_ns[:top])
    caption = f"{_CAPTIONS[exhibit_id]} ({say_ns(sum(times_ns))})."
    if len(rows) > top:
        names.append(f"others ({say_times(len(rows) - top, 'operator')})")
        values.append(sum(times_ns[top:]))
        caption += f" Showing {top} of {len(rows):,}; the table has all."
    return exhibit(
        exhibit_id,
        ExhibitKind.BARS,
        title=_TITLES[exhibit_id],
        caption=caption,
        columns=[
            ("operator", "", names),
            ("pct", "%", percentages(values)),
            ("time_us", "us", [value / NS_PER_US for value in values]),
        ],
    )


def _table(rows: Sequence[Row]) -> Exhibit:
    every_ns = sum(row.self_ns for row in rows)
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="All operators",
        caption=(
            "Over all ranks and threads, by self time. Durations are the host's and hold what the "
            "operator called; pct_of_self_time is of the self time of all operators; gpu_time_us "
            "adds up the durations of the GPU operations that it launched itself."
        ),
        columns=[
            ("name", "", [row.name for row in rows]),
            ("count", "", [row.figures.count for row in rows]),
            ("sum_us", "us", [row.figures.sum_ns / NS_PER_US for row in rows]),
            ("self_us", "us", [row.self_ns / NS_PER_US for row in rows]),
            ("pct_of_self_time", "%", [pct_of(row.self_ns, every_ns) for row in rows]),
            ("mean_us", "us", [row.figures.mean_ns / NS_PER_US for row in rows]),
            ("p50_us", "us", [row.figures.p50_ns / NS_PER_US for row in rows]),
            ("p95_us", "us", [row.figures.p95_ns / NS_PER_US for row in rows]),
            ("min_us", "us", [row.figures.min_ns / NS_PER_US for row in rows]),
            ("max_us", "us", [row.figures.max_ns / NS_PER_US for row in rows]),
            ("std_us", "us", [row.figures.std_ns / NS_PER_US for row in rows]),
            ("gpu_time_us", "us", [row.gpu_ns / NS_PER_US for row in rows]),
        ],
    )


def _reading(rows: Sequence[Row]) -> Finding:
    first = rows[0]
    every_ns = sum(row.self_ns for row in rows)
    share_pct = pct_of(first.self_ns, every_ns)
    return Finding(
        id="OPER-1",
        severity=Severity.INFO,
        title=f"{first.name} takes most of the host's time in operators: {say_pct(share_pct)}",
        text=(
            f"{say_ns(first.self_ns)} of {say_ns(every_ns)} in "
            f"{say_times(first.figures.count, 'call')}, what they call left out; "
            f"{say_times(len(rows), 'different operator')} ran."
        ),
        advice="Where the host is too slow for the GPU, call it less often or on larger tensors.",
        measured=round(share_pct, 4),
        unit="%",
        exhibit=BY_HOST,
    )


RULE = Rule(
    id=ID,
    title="Operators",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
