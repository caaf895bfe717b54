"""PythonFunctions: where the Python code of a job spends its time, and what does not train.

See docs/rules.md, Work that does not train.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Instants
from reportgen.facts.loader import waits_of
from reportgen.merging import rows_by_code
from reportgen.profile import NodeProfile, PythonTable, SpanTable
from reportgen.profiler_config import ProfilingKind
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.python_functions import profiles as python
from reportgen.rules.python_functions.profiles import FunctionSum, Kind, ProfileSum
from reportgen.text import write
from reportgen.units import NS_PER_S, NS_PER_US

STAGE = "from the batch to the forward pass"
LEAST_COVER = 0.9
"""A profile covers a time when it covers at least this share of it: the clock of a profile and that
of the events are read one after the other, by the same hook."""
_FORWARD = ("Forward", "ForwardPass")
MOST_NAMED = 3
LEAST_PART = 0.5
"""A profile speaks for the time before a forward pass if that is half of what, besides loading
and the model, it holds; else most of it may have run elsewhere."""
MOST_PYTHON_FUNCTIONS = 25
MOST_STAGES = 20

TIMES = """own_s is the time in a function without the functions that it calls, cumulative_s the
    time with them. Shares are of all own times. The files do not say whether total, CPU or off-CPU
    time was measured."""

NO_TRAINING = kit.Message(
    id="PY-1",
    cause=results.Cause.WORK_BETWEEN_STEPS,
    title="{measured:pct} of the profiled Python time is spent on {kind}",
    text="""The function {function.name} ({function.place}) and those that it calls took
        {function.cumulative_s:s}{calls}, {measured:pct} of the {training.own_s:s} in
        {training.n_profiles:count Python profile} of the training.""",
    advice="""Log, save and evaluate less often, or in another thread or process; keep values on the
        GPU until they are needed.""",
    severity=results.Severity.WARNING,
    exhibit="functions",
)
NOT_TRAINING = {
    Kind.LOGGING: NO_TRAINING,
    Kind.SAVING: replace(NO_TRAINING, id="PY-3"),
    Kind.METRICS: replace(NO_TRAINING, id="PY-4"),
}
BEFORE_FORWARD = kit.Message(
    id="PY-2",
    title="Before the forward pass most of the time is spent in {first.name}",
    text=f"""{{n_covered:n}} of {{n_gaps:count time}} {STAGE} ({{covered_s:s}})
        {{n_covered:verb lie}} in {{longest.n_profiles:count profile}} of {{longest.own_s:s}}. Most
        own time there, besides loading data and the model: {{named}}.""",
    advice="Move work that is not training out of the loop, or do it less often.",
    unit="s",
    exhibit="before_forward",
)
ABOUT = About(
    checks="Which Python functions took the time, and whether logging, saving or metrics did.",
    reading="""Profiles of cProfile or pyinstrument, merged by the stage that they cover. cProfile
        slows down code with many small calls: compare shares, not seconds.""",
    advice=NO_TRAINING.advice,
    section=results.Section(id="python-functions", title="Python functions", order=190),
    is_optional=True,
    hint_when_skipped="""To record one, pass a PythonProfilingConfig in the job's FrameworkProfile:
        it runs cProfile or pyinstrument over the steps that you name.""",
    recorded_by=ProfilingKind.PYTHON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = kit.percentage(
        10,
        "a function that logs, saves or computes metrics is reported if it takes at least this "
        "share",
        unit="% of the profiled time",
        source="as for the wait of the data loader: less is hardly felt",
    )


@kit.row
class ForwardGaps:
    """One worker's times from a batch to the forward pass.

    ``profiles`` are the shortest that cover ``n_covered`` of them, merged; one for each profiler.
    """

    worker: str = kit.col()
    n_gaps: int = kit.col(name="gaps")
    gap_ns: int = kit.col("s", name="gap_s", per=NS_PER_S)
    n_covered: int = kit.col(name="profiled_gaps")
    covered_ns: int = kit.col("s", name="profiled_s", per=NS_PER_S)
    remark: str = kit.derived(
        lambda item: "" if item.n_covered else "no Python profile for this window"
    )
    profiles: tuple[ProfileSum, ...]


@kit.row
class NodeProfiles:
    """One node or all: its profiles, merged by stage, and the times before its forward passes."""

    stages: tuple[ProfileSum, ...] = kit.merged(
        lambda parts: python.sums_in_order(kit.concat(parts))
    )
    gaps: tuple[ForwardGaps, ...] = kit.merged(kit.concat)


def measure(part: NodeProfile, _params: Params) -> NodeProfiles:
    """Merge the profiles of one node."""
    table = part.python
    if not table.profiles:
        return NodeProfiles(stages=(), gaps=())
    return NodeProfiles(
        stages=python.sums_by_stage(table), gaps=tuple(_gaps_of_workers(part.spans, table))
    )


def _gaps_of_workers(spans: SpanTable, table: PythonTable) -> Iterator[ForwardGaps]:
    waits, forward = waits_of(spans), spans.where(spans.in_phases(_FORWARD))
    begins = forward if forward.n_spans else spans.steps()
    for worker, rows in rows_by_code(waits.worker):
        start_ns, end_ns = _gaps(
            waits.where(rows), np.sort(begins.start_ns[begins.worker == worker])
        )
        if start_ns.size:
            yield _covered(spans.workers[worker], start_ns, end_ns, table)


def _gaps(waits: SpanTable, begin_ns: Instants) -> tuple[Instants, Instants]:
    """Return starts and ends of the times after the last wait before each forward pass."""
    end_ns, start_ns = np.sort(waits.end_ns), np.sort(waits.start_ns)
    after = np.searchsorted(end_ns, begin_ns, side="right") - 1
    begun = np.searchsorted(start_ns, begin_ns, side="left") - 1
    is_first = np.diff(after, prepend=-2) != 0
    chosen = (after >= 0) & (after == begun) & is_first
    return end_ns[after[chosen]], begin_ns[chosen]


def _covered(worker: str, start_ns: Instants, end_ns: Instants, table: PythonTable) -> ForwardGaps:
    cover = np.full(start_ns.shape, -1, dtype=np.int64)
    common_ns = np.zeros(start_ns.shape, dtype=np.int64)
    limits = [
        (item.interval.start.time_us * NS_PER_US, (item.interval.end.time_us + 1) * NS_PER_US, at)
        for at, item in enumerate(table.profiles)
        if item.worker == worker
    ]
    for from_ns, to_ns, place in sorted(limits, key=lambda item: (item[0] - item[1], item)):
        near = slice(np.searchsorted(end_ns, from_ns), np.searchsorted(start_ns, to_ns, "right"))
        begin_ns, until_ns = start_ns[near], end_ns[near]
        both_ns = np.minimum(until_ns, to_ns) - np.maximum(begin_ns, from_ns)
        is_covered = both_ns >= LEAST_COVER * (until_ns - begin_ns)
        cover[near] = np.where(is_covered, place, cover[near])
        common_ns[near] = np.where(is_covered, both_ns, common_ns[near])
    places = np.unique(cover[cover >= 0])
    profiler = np.array([table.profiles[place].profiler for place in places.tolist()], dtype=object)
    groups = [places[profiler == name] for name in sorted(set(profiler))]
    return ForwardGaps(
        worker=worker,
        n_gaps=int(start_ns.size),
        gap_ns=int((end_ns - start_ns).sum()),
        n_covered=int((cover >= 0).sum()),
        covered_ns=int(common_ns.sum()),
        profiles=python.sums_in_order(python.sum_of(table, group, STAGE) for group in groups),
    )


@kit.row
class _InStage:
    """Columns of a function in a stage: of pairs of a ``ProfileSum`` and a ``FunctionSum``."""

    function: str = kit.derived(lambda pair: pair[1].name)
    cumulative_s: float = kit.derived(lambda pair: pair[1].cumulative_s, "s")
    cumulative_pct: float | None = kit.derived(
        lambda pair: 100 * pair[1].cumulative_s / pair[0].own_s if pair[0].own_s else None,
        "%",
        digits=4,
    )
    own_s: float = kit.derived(lambda pair: pair[1].own_s, "s")
    calls: int | None = kit.derived(lambda pair: pair[1].calls)
    kind: str = kit.derived(lambda pair: pair[1].kind.value)
    place: str = kit.derived(lambda pair: pair[1].place)


def judge(nodes: Sequence[NodeProfiles], params: Params) -> Outcome:
    """Merge the nodes, rank functions, and name those that do not train."""
    if not any(node.stages for node in nodes):
        return Outcome(missing="The job has no Python profile.")
    job = kit.merge(nodes)
    between = python.sums_in_order(sums for gap in job.gaps for sums in gap.profiles)
    steps = [
        replace(item, stage="training") for item in job.stages if item.stage != python.BEFORE_STEPS
    ]
    training = max(python.sums_in_order(steps), key=lambda item: item.own_s, default=None)
    return Outcome(
        findings=(*_not_training(training, params), *_before_forward(between, job.gaps)),
        exhibits=_exhibits(job, between),
        metrics=_metrics(job),
    )


def _not_training(training: ProfileSum | None, params: Params) -> Iterator[results.Finding]:
    """Yield, for each kind of work that does not train, its longest function if it matters."""
    if training is None or not training.own_s:
        return
    for kind, message in NOT_TRAINING.items():
        functions = [item for item in training.functions if item.kind is kind]
        longest = max(functions, key=lambda item: (item.cumulative_s, item.function), default=None)
        if longest is None:
            continue
        share_pct = 100 * longest.cumulative_s / training.own_s
        if share_pct >= params.min_share_pct:
            calls = longest.calls
            yield message.finding(
                measured=share_pct,
                threshold=params.min_share_pct,
                kind=kind.value,
                function=longest,
                calls="" if calls is None else write(" in {calls:count call}", calls=calls),
                training=training,
            )


def _before_forward(
    between: Sequence[ProfileSum], gaps: Sequence[ForwardGaps]
) -> Iterator[results.Finding]:
    if not between:
        return
    longest = max(between, key=lambda item: item.own_s)
    others = {Kind.LOADING, Kind.MODEL, Kind.PROFILER}
    functions = [item for item in longest.functions if item.kind not in others]
    covered_s = sum(item.covered_ns for item in gaps) / NS_PER_S
    named = [item for item in _by_own(functions)[:MOST_NAMED] if item.own_s > 0]
    if not named or covered_s < LEAST_PART * sum(item.own_s for item in functions):
        return
    found = BEFORE_FORWARD.finding(
        measured=named[0].own_s,
        first=named[0],
        n_covered=sum(item.n_covered for item in gaps),
        n_gaps=sum(item.n_gaps for item in gaps),
        covered_s=covered_s,
        longest=longest,
        named=", ".join(
            write("{item.name} ({item.place}, {item.own_s:s})", item=item) for item in named
        ),
    )
    yield replace(found, measured=round(named[0].own_s, 6))


def _metrics(job: NodeProfiles) -> dict[str, float | int | None]:
    gap_ns = sum(item.gap_ns for item in job.gaps)
    covered_ns = sum(item.covered_ns for item in job.gaps)
    return {
        "profiles": sum(item.n_profiles for item in job.stages),
        "profiled_s": round(sum(item.own_s for item in job.stages), 6),
        "gaps": sum(item.n_gaps for item in job.gaps),
        "gap_s": gap_ns / NS_PER_S if job.gaps else None,
        "profiled_gap_ratio": round(covered_ns / gap_ns, 6) if gap_ns else None,
    }


def _exhibits(job: NodeProfiles, between: Sequence[ProfileSum]) -> Iterator[results.Exhibit]:
    """Yield the evidence of a job; ``between`` covers the times before forward passes."""
    if between:
        pairs = [(item, function) for item in between for function in _longest(item)]
        yield kit.table(
            "before_forward",
            pairs,
            _InStage,
            title="Python functions around the time from a batch to the forward pass",
            caption=f"""Functions in the shortest profiles that cover such a time. A profile covers
                more than this time: the column “kind” marks functions that train or load data.
                {TIMES}""",
        )
    pairs = [(stage, item) for stage in job.stages[:MOST_STAGES] for item in _longest(stage)]
    caption = f"""In each stage the first {MOST_PYTHON_FUNCTIONS} by own and by cumulative time;
        profiles of the same stage are added up. {TIMES}"""
    names = [stage.stage for stage, _ in pairs]
    stages = results.column("stage", "", names, type=results.ColumnType.TEXT)
    columns = [stages, *kit.columns_of(pairs, _InStage)]
    title, kind = "Python functions by stage", results.ExhibitKind.TABLE
    yield results.exhibit("functions", kind, title=title, caption=caption, columns=columns)
    title = "From the batch to the forward pass"
    caption = """The time from the end of a wait for a batch to the start of the next forward pass
        (copies, printing, metrics), and how much of it lies in a Python profile."""
    yield from kit.filled_table("gaps", job.gaps, ForwardGaps, title=title, caption=caption)
    title = "Coverage of the Python profiles"
    caption = "profiled_s adds up the own times of all functions; a job may profile few steps."
    yield kit.table("stages", job.stages, ProfileSum, title=title, caption=caption)


def _by_own(functions: Sequence[FunctionSum]) -> list[FunctionSum]:
    """Return functions by their own time, longest first; ties by where they are defined."""
    return sorted(functions, key=lambda item: (-item.own_s, item.function))


def _longest(stage: ProfileSum) -> Iterator[FunctionSum]:
    """Yield the first functions by own or cumulative time, by cumulative time."""
    by_cumulative = sorted(stage.functions, key=lambda item: (-item.cumulative_s, item.function))
    chosen = {item.function for item in _by_own(stage.functions)[:MOST_PYTHON_FUNCTIONS]}
    chosen |= {item.function for item in by_cumulative[:MOST_PYTHON_FUNCTIONS]}
    return (item for item in by_cumulative if item.function in chosen)


RULE = Rule(
    id=results.RuleId("PythonFunctions"),
    title="Python functions",
    about=ABOUT,
    needs=(Need.PYTHON, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
)
