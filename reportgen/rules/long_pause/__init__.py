"""LongPause: one-off stalls, and long pauses without a rhythm, of workers, GPUs or cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.facts.contrast import Contrast
from reportgen.facts.intervals import Union, covered_each
from reportgen.results import (
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    Role,
    Severity,
    TimelineTrack,
    Track,
)
from reportgen.rules import contrast, kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.long_pause.measure import NodePauses, Params, Pause, measure
from reportgen.text import join_names, write
from reportgen.units import NS_PER_MINUTE, seconds

DOMINANT_RATIO = 0.8
"""A pause that costs four fifths of all of them is the one to look at."""
HELD_UP_RATIO = 0.9
"""GPUs that wait for another one look busy in nine tenths of its pause; clocks of nodes differ."""
OVERLAP_RATIO = 0.5
"""Pauses of two workers that share half of the shorter one are the same: they wait for each
other."""
TOLD_FROM_NS = NS_PER_MINUTE
"""A minute without progress is told in a job of any length: a process may have hung. A usual
checkpoint takes less (chosen)."""

ADVICE = """Find out what the script did at that time (checkpoint, evaluation, upload, a new
    epoch's data) and do it in its own thread; if nothing was due, a process hung."""
ABOUT = About(
    checks="Whether the job made no progress for a long time, once or at irregular times.",
    reading="""A pause is a step, or the time between two steps, that takes many times as long as
        usual and clearly longer than the other long ones. Where no steps were recorded it is a
        time in which all GPUs are idle (all cores in a job without a GPU), or some are while the
        others are busy, as those are that wait for another one. The start, the end and regular
        pauses do not count.""",
    advice=ADVICE,
    section=results.Section(id="long-pauses", title="Long pauses", order=145),
    is_quiet=True,
)
TOO_FEW_STEPS = """Too few steps to know the usual ones: {longest:n} of one training process and
    phase at most, {least:n} are needed."""
NEVER_AT_WORK = "No steps were recorded, and no GPU ever works."
NOT_ALIGNED = "No steps were recorded, and the clocks of the nodes could not be compared."

ONE = kit.Message(
    id="PAUSE-1",
    cause=results.Cause.LONG_PAUSE,
    title="{who} paused once for {main.length_ns:ns}: {measured:pct} of the {whole}",
    text="""{who} made no progress for {main.length_ns:ns}{place}.{others} Without the pause
        {without} would be {measured:pct} shorter.{meanwhile}{unknown}""",
    advice=ADVICE,
    exhibit="pauses",
)
SEVERAL = replace(
    ONE,
    id="PAUSE-2",
    title="{n:n} long pauses cost {measured:pct} of the {whole}",
    text="""{who} made no progress {n:n} times, for {total:ns} in all. The pause that costs most
        lasts {main.length_ns:ns}{place}.{others} Without these pauses {without} would be
        {measured:pct} shorter.{meanwhile}{unknown}""",
)
IDLE_ADVICE = """Find in the logs what the script did during the pause; to see it here, record
    framework events (steps and data loading) and a Python profile."""
IDLE_CAUSES = (
    "a checkpoint was written or uploaded",
    "the model was evaluated on the CPU",
    "data were downloaded, shuffled or indexed again",
    "a training process hung or restarted, and the others waited for it",
    "Python collected garbage or compiled",
)
REST_CAUSES = (
    "a checkpoint was uploaded",
    "data were downloaded",
    "a training process hung or restarted, and the others waited for it",
)
"""What leaves cores without work, too."""
UNKNOWN = " The samples do not show the work of the script; events or a Python profile do."
PLACE = " {place} {main.phase:mode} step{number}; usually this takes {main.usual_ns:ns}"
TOGETHER = " {n_members:count training process/training processes} paused together."
WAITED = """ {n_others:count other training process/other training processes} waited for it inside a
    step."""
HELD_UP = " Meanwhile the other GPUs were busy, as those are that wait in a collective."
ALONE = " The other training processes went on."


@kit.row
class JobPause:
    """The same pause in one worker or in several."""

    members: tuple[Pause, ...]

    @property
    def main(self) -> Pause:
        """Return the pause of the worker that held up the others, else the costliest one.

        Whoever waits for another worker does so inside a step; one that pauses between its steps
        while others are inside theirs is the one that they wait for.
        """
        return max(self.leading, key=lambda item: (item.lost_ratio, item.worker))

    def others(self, nodes: Sequence[str]) -> set[str]:
        """Return the nodes that do not pause."""
        return set(nodes) - {item.node for item in self.members}

    @property
    def leading(self) -> tuple[Pause, ...]:
        """Return the pauses of the workers that did not wait for others, as far as it is known."""
        between = tuple(item for item in self.members if item.is_between)
        return between or self.members


def job_pauses(pauses: Sequence[Pause]) -> list[JobPause]:
    """Return the pauses of all workers, shared ones as one, in order of time."""
    groups: list[list[Pause]] = []
    for pause in sorted(pauses, key=lambda item: (item.start_ns, item.node, item.worker)):
        same = next((group for group in groups if _is_same(group, pause)), None)
        if same is None:
            groups.append(same := [])
        same.append(pause)
    return [JobPause(members=tuple(members)) for members in groups]


def _is_same(group: Sequence[Pause], pause: Pause) -> bool:
    if any((item.node, item.worker) == (pause.node, pause.worker) for item in group):
        return False
    return any(_overlap(item, pause) or _is_same_step(item, pause) for item in group)


def _overlap(one: Pause, other: Pause) -> bool:
    shared_ns = min(one.end_ns, other.end_ns) - max(one.start_ns, other.start_ns)
    return shared_ns >= OVERLAP_RATIO * min(one.length_ns, other.length_ns)


def _is_same_step(one: Pause, other: Pause) -> bool:
    """Return whether two workers pause at the same step, whatever the clocks of their nodes say."""
    return one.step is not None and (one.phase, one.step) == (other.phase, other.step)


def judge(measurements: Sequence[NodePauses], params: Params) -> Outcome:
    """Join the pauses that workers share, and say what they cost."""
    job = kit.merge([NodePauses(), *measurements])
    missing = _missing(job, params)
    groups = [] if missing else _groups(job, params)
    return Outcome(
        missing=missing,
        findings=[_finding(job, groups, params)],
        exhibits=_exhibits(groups, job.meanwhile),
        metrics={}
        if missing
        else {
            "pauses": len(groups),
            "paused_ratio": round(_lost_ratio(groups), 6),
            "longest_pause_s": max((seconds(group.main.length_ns) for group in groups), default=0),
        },
    )


def _groups(job: NodePauses, params: Params) -> list[JobPause]:
    """Return the pauses of workers, and of all GPUs, or of some that hold up those of other nodes.

    In a job without a GPU they are those of all cores.
    """
    nodes = job.gpu_nodes or job.core_nodes
    idle = job_pauses([one for one in job.pauses if not one.worker and one.node in nodes])
    shared = [
        group
        for group in idle
        if job.n_samples >= params.min_samples
        and all(_wait_for(group, busy) for node, busy in job.busy if node in group.others(nodes))
    ]
    return [*job_pauses([pause for pause in job.pauses if pause.worker]), *shared]


def _wait_for(group: JobPause, busy: Union) -> bool:
    """Return whether GPUs of another node look busy in a pause, as those that wait for it do."""
    pause = group.main
    (busy_ns,) = covered_each(busy, np.array([pause.start_ns]), np.array([pause.end_ns]))
    return bool(busy_ns >= HELD_UP_RATIO * pause.length_ns)


def _missing(job: NodePauses, params: Params) -> Reason | None:
    if job.loop.n_steps:
        is_sampled = (job.gpu_nodes or job.core_nodes) and job.n_samples >= params.min_samples
        if job.longest >= params.min_steps or is_sampled:
            return None
        return kit.too_few(TOO_FEW_STEPS, longest=job.longest, least=params.min_steps)
    if not (job.n_gpus or job.core_nodes):
        return kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if job.n_unaligned or not (job.gpu_nodes or job.core_nodes):
        text = NOT_ALIGNED if job.n_unaligned else NEVER_AT_WORK
        return Reason(code=ReasonCode.NO_STEPS, text=text)
    return kit.reason_to_skip(
        n_ticks=job.n_ticks, n_gpus=None, n_samples=job.n_samples, patience=params.min_samples - 1
    )


def _lost_ratio(groups: Sequence[JobPause]) -> float:
    """Return the cost of the pauses for the worker, or the node, that lost most by them.

    Workers wait for each other, so their pauses are not added up.
    """
    sums = kit.sum_by_key(
        {(item.node, item.worker): item.lost_ratio} for group in groups for item in group.members
    )
    return min(max(sums.values(), default=0.0), 1.0)


def _finding(job: NodePauses, groups: Sequence[JobPause], params: Params) -> Finding | None:
    """Return the finding about one pause where it is most of the loss, else about all of them."""
    lost = _lost_ratio(groups)
    longest_ns = max((group.main.length_ns for group in groups), default=0)
    if 100 * lost < params.min_share_pct and longest_ns < TOLD_FROM_NS:
        return None
    worst = max(groups, key=lambda group: group.main.lost_ratio)
    if _lost_ratio([worst]) >= DOMINANT_RATIO * lost:
        groups, lost = [worst], _lost_ratio([worst])
    main, is_one = worst.main, len(groups) == 1
    then = [item for item in job.meanwhile if (item.node, item.worker) == (main.node, main.worker)]
    hints = [hint for item in then for hint in contrast.hints_of(item)]
    advising = next((hint for hint in hints if hint.advice), None)
    workers = {item.worker for item in worst.leading}
    is_fault = 100 * lost >= params.threshold_pct
    message = ONE if is_one else SEVERAL
    if not main.worker:
        causes = IDLE_CAUSES if job.n_gpus else REST_CAUSES
        message = replace(message, advice=IDLE_ADVICE, possible_causes=causes)
    return message.fault(
        100 * lost,
        threshold=params.threshold_pct,
        where=results.Where(
            node=main.node if len({item.node for item in worst.leading}) == 1 else None,
            device=(main.worker if len(workers) == 1 else "") or main.gpus or None,
            start_s=seconds(min(group.main.start_ns for group in groups)),
            end_s=seconds(max(group.main.end_ns for group in groups)),
        ),
        severity=kit.fault_severity(lost) if is_fault else Severity.INFO,
        advice=advising.advice if advising else None,
        function=advising.function if advising else "",
        when="in the pause",
        **_words(job, worst),
        n=len(groups),
        total=sum(group.main.length_ns for group in groups),
        meanwhile="".join(f" {hint.text}" for hint in hints),
    )


def _words(job: NodePauses, worst: JobPause) -> dict[str, Any]:
    """Return the words about the costliest pause: whose it is, where, and what the others did."""
    main, members, leading = worst.main, worst.members, worst.leading
    if not main.worker:
        is_some = bool(main.gpus or worst.others(job.gpu_nodes))
        nodes = join_names(sorted({item.node for item in members}))
        everything = "All GPUs" if job.n_gpus else "All cores"
        return {
            "main": main,
            "who": f"{main.gpus or 'The GPUs'} of {nodes}" if is_some else everything,
            "whole": "working time",
            "without": "the time from the first work to the last",
            "place": "",
            "others": HELD_UP * is_some,
            "unknown": UNKNOWN,
        }
    others = ""
    if len(leading) < len(members):
        others = write(WAITED, n_others=len(members) - len(leading))
    elif len(members) > 1:
        others = write(TOGETHER, n_members=len(members))
    elif job.n_workers > 1:
        others = ALONE
    number = "" if main.step is None else f" {main.step:,}"
    place = "between two steps, after" if main.is_between else "inside"
    return {
        "main": main,
        "who": main.worker if job.n_workers > 1 else "Training",
        "whole": "time",
        "without": "the loop",
        "place": write(PLACE, main=main, place=place, number=number),
        "others": others,
        "unknown": "",
    }


def _exhibits(pauses: Sequence[JobPause], meanwhile: Sequence[Contrast]) -> Iterator[Exhibit]:
    """Yield all pauses, and what went on meanwhile."""
    every = [pause for group in pauses for pause in group.members]
    if not every:
        return
    yield kit.table(
        "pauses",
        every,
        Pause,
        title="Long pauses",
        caption="""Pauses of training processes that wait for each other have one row each. The loss
            is the time beyond the usual length, as a share of the time from the first to the last
            step of the process.""",
        drawn_as=ExhibitKind.SPANS,
        role=Role.WARNING,
    )
    places = {(pause.node, pause.worker) for pause in every}
    shown = [found for found in meanwhile if (found.node, found.worker) in places]
    yield from contrast.exhibits_of([(found.worker or found.node, found) for found in shown])


_LANE = TimelineTrack(kind=Track.LANE, title="Long pauses", role=Role.WARNING)

RULE = Rule(
    id=results.RuleId("LongPause"),
    title="Long pauses",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("functions", "inside_outside", "rates"),
    places={"pauses": results.Place(timeline=_LANE)},
)
