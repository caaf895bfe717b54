"""What PythonFunctions concludes: what does not train, and who ran before a forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reportgen.facts.python_profiles import (
    BEFORE_STEPS,
    Kind,
    ProfileSum,
    join_sums,
    kind_of,
    name_of,
    place_of,
)
from reportgen.merging import merge
from reportgen.results import Finding, Severity
from reportgen.rules.base import Outcome
from reportgen.rules.kit import Message
from reportgen.rules.python_functions.measure import STAGE, ForwardGaps, NodeProfiles, Params
from reportgen.rules.python_functions.tables import by_own, exhibits_of
from reportgen.text import format_duration, write
from reportgen.units import NS_PER_S

MOST_NAMED = 3
LEAST_PART = 0.5
"""A profile speaks for the time before a forward pass if that is half of what, besides loading
and the model, it holds; else most of it may have run elsewhere."""

NO_TRAINING = Message(
    id="PY-1",
    title="{measured:pct} of the profiled Python time goes to {kind}",
    text=(
        "{name} ({place}) and what it calls took {function.cumulative_s:s}{calls}, {measured:pct} "
        "of the {training.own_s:s} in {training.n_profiles:count Python profile} of the training."
    ),
    advice=(
        "Log, save and evaluate less often, or in another thread or process; let values stay on "
        "the GPU until they are needed."
    ),
    severity=Severity.WARNING,
    exhibit="functions",
)
NOT_TRAINING = {
    Kind.LOGGING: NO_TRAINING,
    Kind.SAVING: replace(NO_TRAINING, id="PY-3"),
    Kind.METRICS: replace(NO_TRAINING, id="PY-4"),
}
BEFORE_FORWARD = Message(
    id="PY-2",
    title="Before the forward pass most time goes to {first}",
    text=(
        f"{{n_covered:n}} of {{n_gaps:count time}} {STAGE} ({{covered_s:s}}) "
        "{n_covered:verb lie} in {longest.n_profiles:count profile} of {longest.own_s:s}. Most own "
        "time there, besides loading data and the model: {named}."
    ),
    advice="Move what does not train out of the loop, or do it less often.",
    unit="s",
    exhibit="before_forward",
)


def judge(nodes: Sequence[NodeProfiles], params: Params) -> Outcome:
    """Merge the nodes, rank functions, and name those that do not train."""
    if not any(node.profiles for node in nodes):
        return Outcome(missing="The job has no Python profile.")
    job = merge(nodes)
    between = join_sums(sums for gap in job.gaps for sums in gap.profiles)
    steps = [stage for stage in job.stages if stage.stage != BEFORE_STEPS]
    training = max(join_sums(steps, stage="training"), key=lambda item: item.own_s, default=None)
    return Outcome(
        findings=(*_not_training(training, params), *_before_forward(between, job.gaps)),
        exhibits=exhibits_of(job, training=training or job.stages[0], between=between),
        metrics=_metrics(job),
    )


def _not_training(training: ProfileSum | None, params: Params) -> Iterator[Finding]:
    """Yield, for each kind of work that does not train, its longest function if it matters."""
    if training is None or not training.own_s:
        return
    for kind, message in NOT_TRAINING.items():
        its = [item for item in training.functions if kind_of(item.function) is kind]
        longest = max(its, key=lambda item: (item.cumulative_s, item.function), default=None)
        if longest is None:
            continue
        share_pct = 100 * longest.cumulative_s / training.own_s
        if share_pct >= params.min_share_pct:
            calls = longest.calls
            yield message.finding(
                measured=share_pct,
                threshold=params.min_share_pct,
                kind=kind.value,
                name=name_of(longest.function),
                place=place_of(longest.function),
                function=longest,
                calls="" if calls is None else write(" in {calls:count call}", calls=calls),
                training=training,
            )


def _before_forward(
    between: Sequence[ProfileSum], gaps: Sequence[ForwardGaps]
) -> Iterator[Finding]:
    """Yield who ran between a batch and the forward pass, where profiles cover that time."""
    if not between:
        return
    longest = max(between, key=lambda item: item.own_s)
    others = {Kind.LOADING, Kind.MODEL, Kind.PROFILER}
    its = [item for item in longest.functions if kind_of(item.function) not in others]
    covered_s = sum(item.covered_ns for item in gaps) / NS_PER_S
    named = [item for item in by_own(its)[:MOST_NAMED] if item.own_s > 0]
    if not named or covered_s < LEAST_PART * sum(item.own_s for item in its):
        return
    found = BEFORE_FORWARD.finding(
        measured=named[0].own_s,
        first=name_of(named[0].function),
        n_covered=sum(item.n_covered for item in gaps),
        n_gaps=sum(item.n_gaps for item in gaps),
        covered_s=covered_s,
        longest=longest,
        named=", ".join(
            f"{name_of(item.function)} ({place_of(item.function)}, {format_duration(item.own_s)})"
            for item in named
        ),
    )
    yield replace(found, measured=round(named[0].own_s, 6))


def _metrics(job: NodeProfiles) -> dict[str, float | int | None]:
    gap_ns = sum(item.gap_ns for item in job.gaps)
    covered_ns = sum(item.covered_ns for item in job.gaps)
    return {
        "profiles": len(job.profiles),
        "profiled_s": round(sum(item.profiled_s for item in job.profiles), 6),
        "gaps": sum(item.n_gaps for item in job.gaps),
        "gap_s": gap_ns / NS_PER_S if job.gaps else None,
        "profiled_gap_ratio": round(covered_ns / gap_ns, 6) if gap_ns else None,
    }
