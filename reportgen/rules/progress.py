"""Progress: how fast the steps went by between two entries of a log, and what the job said of it.

Between two entries nothing is known: these are means over logging intervals, never steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen import results
from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts.resample import bucket_by_time
from reportgen.facts.samples import mean_of, mean_of_present
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.profile.monitoring import Progress
from reportgen.results import Cause, Exhibit, ExhibitKind, Finding, Role, RuleId, Severity
from reportgen.rules import kit
from reportgen.rules.base import About, Need, NoParams, Outcome, Rule
from reportgen.units import NS_PER_S

PAUSE_TIMES, LEAST_PAUSE_S = 5.0, 30.0
"""A logging interval is a pause if each step in it takes five times the usual time, and the
interval half a minute longer: shorter ones may be a checkpoint or the log itself."""
SLOWER_FROM_PCT = 20.0
"""A pace that falls by less may come from inputs of unequal length."""
_BLOCKS = 20
"""Paces are compared block by block, once there are as many logging intervals."""
LEAST_CONTRAST_PCT = 15.0
"""GPUs that work by this much less are said to rest when the pace falls."""

ABOUT = About(
    checks="How fast training went on between two entries of its log.",
    reading="""A job that logs its step now and then shows a mean pace for each interval. Single
        steps, and what they wait for, do not show. Names such as tokens per second or MFU are the
        job's own numbers and were not checked.""",
    advice="Record the job with reportgen record where the pace falls: it sees each step.",
    section=results.Section(id="progress", title="Progress of the job", order=136),
    is_optional=True,
)
SLOWER = kit.Message(
    id="PROG-1",
    cause=Cause.SLOWING_DOWN,
    severity=Severity.WARNING,
    title="Training became slower: {measured:pct} fewer steps a second at the end than at first",
    text="""In the first quarter of its log the job made {node.first_pace:.4g} steps a second,
        in the last {node.last_pace:.4g}, by {node.counter}. Each fifth of the last quarter is
        slower than every one of the first.{use}""",
    advice="""Look at what grows with the steps: the length of inputs, lists that are kept, logging,
        or a machine that is slowed down by heat or other jobs.""",
    exhibit="pace",
)
PAUSES = kit.Message(
    id="PROG-2",
    title="{node.n_pauses:count pause} between entries of the log: {measured:pct} of the time",
    text="""In these intervals a step took at least {times:g} times as long as usual; together they
        lost {node.paused_s:s}, the longest {node.longest_s:s}. The log does not say why: evaluation
        and saving look so, as waiting does.{use}""",
    advice="If these are evaluations or checkpoints, make them rarer or shorter.",
    exhibit="pace",
)


@kit.row
class NodePace:
    """The pace of one log; ``start_ns`` and ``pace`` are (n,) of its intervals.

    ``slow_use_pct`` and ``usual_use_pct`` are the mean use of the GPUs in intervals that are slower
    than most, and in the others; ``None`` where that is not known.
    """

    node: str = kit.col()
    counter: str = kit.col(name="counted_by")
    n_intervals: int = kit.col(name="logging_intervals")
    last_step: float = kit.col(digits=0)
    interval_s: float = kit.col("s", digits=2, name="usual_interval_s")
    pace_p50: float = kit.col("1/s", digits=4, name="steps_per_s")
    first_pace: float = kit.col("1/s", digits=4, name="steps_per_s_at_first")
    last_pace: float = kit.col("1/s", digits=4, name="steps_per_s_at_last")
    n_restarts: int = kit.col(name="restarts")
    n_pauses: int = kit.col(name="pauses")
    paused_s: float = kit.col("s", digits=1)
    longest_s: float = kit.col("s", digits=1, name="longest_pause_s")
    whole_s: float
    is_slower: bool
    slow_use_pct: float | None = kit.col("%", digits=1, name="gpu_use_when_slow_pct")
    usual_use_pct: float | None = kit.col("%", digits=1, name="gpu_use_otherwise_pct")
    start_ns: Integers
    pace: Floats


@kit.row
class Logged:
    """Numbers of one name that the job logged about its own speed."""

    node: str = kit.col()
    name: str = kit.col(name="logged_by_the_job")
    n: int = kit.col(name="values")
    median: float = kit.col(digits=4)
    first: float = kit.col(digits=4)
    last: float = kit.col(digits=4)


Measured = tuple[tuple[NodePace, ...], tuple[Logged, ...]]


def measure(part: NodeProfile, _params: NoParams) -> Measured:
    """Measure the pace of each log of a node, and what it says of its own speed."""
    logs = list(_joined(part.monitoring.progress if part.monitoring is not None else ()))
    paces = [pace for log in logs if (pace := _pace(part, log)) is not None]
    logged = [
        Logged(
            node=part.node,
            name=name,
            n=values.size,
            median=float(np.median(values)),
            first=float(values[0]),
            last=float(values[-1]),
        )
        for log in logs
        for name, (_, values) in log.logged.items()
        if values.size
    ]
    return tuple(paces), tuple(logged)


def _joined(logs: Sequence[Progress]) -> Iterator[Progress]:
    """Yield the logs of one counter, of which a job that was restarted has several, as one.

    Of logs at the same time, such as those of training and validation, the longest one counts.
    """
    for counter in dict.fromkeys(log.counter for log in logs):
        alike = [log for log in logs if log.counter == counter]
        apart = list[Progress]()
        for log in sorted(alike, key=lambda log: -log.step.size):
            if not any(_overlap(log.time_ns, other.time_ns) for other in apart):
                apart.append(log)
        time_ns, step = _in_order([(log.time_ns, log.step) for log in apart])
        names = sorted({name for log in alike for name in log.logged})
        logged = {
            name: _in_order([log.logged[name] for log in alike if name in log.logged])
            for name in names
        }
        yield Progress(counter=counter, time_ns=time_ns, step=step, logged=logged)


def _overlap(one_ns: Integers, other_ns: Integers) -> bool:
    """Return whether two logs have entries in the same stretch; one without entries has none."""
    if not one_ns.size or not other_ns.size:
        return False
    return bool(one_ns[0] <= other_ns[-1] and other_ns[0] <= one_ns[-1])


def _in_order(series: Sequence[tuple[Integers, Floats]]) -> tuple[Integers, Floats]:
    """Return instants and values of several files as one series, in order of time."""
    time_ns, values = (np.concatenate(column) for column in zip(*series, strict=True))
    order = np.argsort(time_ns, kind="stable")
    return time_ns[order], values[order]


def _pace(part: NodeProfile, log: Progress) -> NodePace | None:
    is_new = np.append(True, np.diff(log.step) != 0)
    time_ns, step = log.time_ns[is_new], log.step[is_new]
    passed_s, made = np.diff(time_ns) / NS_PER_S, np.diff(step)
    rows = np.flatnonzero((made > 0) & (passed_s > 0))
    if not rows.size:
        return None
    start_ns, passed_s, pace = time_ns[rows], passed_s[rows], made[rows] / passed_s[rows]
    usual_s = float(np.median(passed_s / made[rows])) * made[rows]
    lost_s = passed_s - usual_s
    is_pause = (passed_s >= PAUSE_TIMES * usual_s) & (lost_s >= LEAST_PAUSE_S)
    first, last = _quarters(passed_s[~is_pause], made[rows][~is_pause])
    low = float(np.percentile(pace, 25)) if not is_pause.any() else float(pace[is_pause].max())
    slow, usual = _use_of(part, start_ns, passed_s, pace <= low)
    return NodePace(
        node=part.node,
        counter=log.counter,
        n_intervals=pace.size,
        last_step=float(step[-1]),
        interval_s=float(np.median(passed_s)),
        pace_p50=float(np.median(pace)),
        first_pace=float(np.median(first)) if first.size else 0.0,
        last_pace=float(np.median(last)) if last.size else 0.0,
        n_restarts=int(np.count_nonzero(made < 0)),
        n_pauses=int(np.count_nonzero(is_pause)),
        paused_s=float(lost_s[is_pause].sum()),
        longest_s=float(passed_s[is_pause].max(initial=0.0)),
        whole_s=float(passed_s.sum()),
        is_slower=bool(first.size and last.max() < first.min()),
        slow_use_pct=slow,
        usual_use_pct=usual,
        start_ns=start_ns,
        pace=pace,
    )


def _quarters(passed_s: Floats, made: Floats) -> tuple[Floats, Floats]:
    """Return the paces of five blocks of intervals of the first quarter, and of the last one.

    Blocks even out what alternates: an entry after an evaluation, entries of two kinds.
    """
    if passed_s.size < _BLOCKS:
        return np.zeros(0), np.zeros(0)
    starts = np.linspace(0, passed_s.size, _BLOCKS, endpoint=False).astype(np.int64)
    pace = np.add.reduceat(made, starts) / np.add.reduceat(passed_s, starts)
    return pace[: _BLOCKS // 4], pace[-_BLOCKS // 4 :]


def _use_of(
    part: NodeProfile, start_ns: Integers, passed_s: Floats, is_slow: Mask
) -> tuple[float | None, float | None]:
    """Return the mean use of the GPUs in slow intervals and in the others."""
    use_pct = mean_of(part.system, SeriesKind.GPU_UTILIZATION)
    at = np.searchsorted(start_ns, part.system.tick_ns, side="right") - 1
    end_ns = start_ns + np.rint(passed_s * NS_PER_S).astype(np.int64)
    is_inside = (at >= 0) & (part.system.tick_ns < end_ns[at])
    slow = mean_of_present(use_pct[is_inside & is_slow[at]])
    return slow, mean_of_present(use_pct[is_inside & ~is_slow[at]])


def judge(measured: Sequence[Measured], _params: NoParams) -> Outcome:
    """Report a pace that falls, and pauses; show what the job logged."""
    nodes = [node for paces, _ in measured for node in paces]
    logged = [one for _, several in measured for one in several]
    if not nodes and not logged:
        text = "The job logged no step numbers with their times."
        return Outcome(missing=results.Reason(code=results.ReasonCode.NO_EVENTS, text=text))
    return Outcome(
        findings=[finding for node in nodes for finding in _findings(node)],
        exhibits=_exhibits(nodes, logged),
        metrics={"logged_steps_per_s": round(nodes[0].pace_p50, 6) if nodes else None},
    )


def _findings(node: NodePace) -> Iterator[Finding]:
    if node.n_intervals < _BLOCKS:
        return
    where = results.Where(node=node.node)
    fall_pct = 100 * (1 - node.last_pace / node.first_pace) if node.first_pace else 0.0
    if node.is_slower and fall_pct >= SLOWER_FROM_PCT:
        yield SLOWER.finding(
            measured=fall_pct,
            threshold=SLOWER_FROM_PCT,
            where=where,
            node=node,
            use=_use_in_words(node),
        )
    if node.n_pauses:
        paused_pct = 100 * node.paused_s / node.whole_s
        yield PAUSES.finding(
            measured=paused_pct, where=where, node=node, times=PAUSE_TIMES, use=_use_in_words(node)
        )


def _use_in_words(node: NodePace) -> str:
    slow, usual = node.slow_use_pct, node.usual_use_pct
    if slow is None or usual is None:
        return ""
    if usual - slow < LEAST_CONTRAST_PCT:
        return f" The GPUs are used as much in slow intervals as in others ({slow:.0f} %)."
    return f" The GPUs are used {slow:.0f} % in slow intervals, and {usual:.0f} % in others."


def _exhibits(nodes: Sequence[NodePace], logged: Sequence[Logged]) -> Iterator[Exhibit]:
    if nodes:
        yield kit.table(
            "progress",
            nodes,
            NodePace,
            title="Pace of the job between entries of its log",
            caption="""Steps are counted as the job counts them. Where their number becomes
                smaller, the job was restarted. Quarters are compared without pauses.""",
        )
        yield _chart(max(nodes, key=lambda node: node.n_intervals))
    if logged:
        yield kit.table(
            "logged",
            logged,
            Logged,
            title="Speed, as logged by the job",
            caption="The job computed these numbers; they were not checked.",
        )


def _chart(node: NodePace) -> Exhibit:
    line = bucket_by_time(node.start_ns, node.pace)
    most = int(line.count.max())
    together = f" Each point is the mean of up to {most} intervals." if most > 1 else ""
    return results.exhibit(
        "pace",
        ExhibitKind.SERIES,
        title="Steps a second over time",
        caption=f"Means of logging intervals of {node.node}, by {node.counter}.{together}",
        columns=[
            *kit.floats(("time_s", "s", line.first_ns / NS_PER_S)),
            *kit.floats(("steps_per_s", "1/s", line.mean), role=Role.STEP),
        ],
        role=Role.STEP,
    )


RULE = Rule(
    id=RuleId("Progress"),
    title="Progress of the job",
    about=ABOUT,
    needs=(Need.PROGRESS,),
    params=NoParams,
    measure=measure,
    judge=judge,
)
