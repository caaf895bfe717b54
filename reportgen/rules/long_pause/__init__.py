"""LongPause: one-off stalls, and long pauses without a rhythm, of workers or of all GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reportgen import results
from reportgen.results import Finding, Reason, Role, Severity, TimelineTrack, Track
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.long_pause import texts
from reportgen.rules.long_pause.measure import OF_CORES, NodePauses, Params, measure
from reportgen.rules.long_pause.tables import JobPause, exhibits_of, job_pauses
from reportgen.text import format_ns_range, part_of, write
from reportgen.units import seconds

DOMINANT_RATIO = 0.8
"""A pause that costs four fifths of all of them is the one to look at."""

ABOUT = About(
    checks="Whether the job made no progress for a long time, once or at irregular times.",
    reading="""A pause is a step, or the time between two steps, that takes many times as long as
        usual and clearly longer than the other long ones. Without recorded steps it is a time in
        which all GPUs are idle (all cores, if the job has no GPU). The start, the end and regular
        pauses do not count.""",
    advice=texts.ONE.advice,
    section=results.Section(id="long-pauses", title="Long pauses", order=145),
    is_quiet=True,
)
TOO_FEW_STEPS = """Too few steps to know the usual ones: {longest:n} of one training process and
    phase at most, {least:n} are needed."""
NEVER_AT_WORK = "No steps were recorded, and no GPU ever works."
NOT_ALIGNED = "No steps were recorded, and the clocks of the nodes could not be compared."


def judge(measurements: Sequence[NodePauses], params: Params) -> Outcome:
    """Join the pauses that workers share, and say what they cost."""
    job = kit.merge([NodePauses(), *measurements])
    missing = _missing(job, params)
    has_steps = job.loop.n_steps > 0
    pauses = [pause for pause in job.pauses if bool(pause.worker) is has_steps]
    if not has_steps:
        pauses = [pause for pause in pauses if (pause.what == OF_CORES) is not bool(job.n_gpus)]
    n_nodes = job.n_idle_nodes if job.n_gpus else job.n_core_nodes
    groups = [] if missing else job_pauses(pauses)
    if not has_steps:  # a pause is one of the GPUs of all nodes
        groups = [its for its in groups if len({one.node for one in its.members}) == n_nodes]
    lost = _lost_ratio(groups)
    return Outcome(
        missing=missing,
        findings=[_finding(job, groups, params)],
        exhibits=exhibits_of(groups, job.meanwhile),
        metrics={}
        if missing
        else {
            "pauses": len(groups),
            "paused_ratio": round(lost, 6),
            "longest_pause_s": max((seconds(group.main.length_ns) for group in groups), default=0),
        },
    )


def _missing(job: NodePauses, params: Params) -> Reason | None:
    if job.loop.n_steps:
        if job.longest >= params.min_steps:
            return None
        return kit.too_few(TOO_FEW_STEPS, longest=job.longest, least=params.min_steps)
    if not job.n_gpus and not job.n_core_nodes:
        return kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if job.n_unaligned:
        return kit.too_few(NOT_ALIGNED)
    if job.n_gpus and not job.n_idle_nodes:
        return kit.too_few(NEVER_AT_WORK)
    return kit.reason_to_skip(
        n_ticks=job.n_ticks,
        n_gpus=job.n_gpus or None,
        n_samples=job.n_samples,
        patience=params.min_samples - 1,
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
    if not groups or 100 * lost < params.min_share_pct:
        return None
    worst = max(groups, key=lambda group: group.main.lost_ratio)
    if _lost_ratio([worst]) >= DOMINANT_RATIO * lost:
        groups, lost = [worst], _lost_ratio([worst])
    main, is_one = worst.main, len(groups) == 1
    lengths_ns = [group.main.length_ns for group in groups]
    own = [item for item in job.meanwhile if (item.node, item.worker) == (main.node, main.worker)]
    hints = [hint for item in own for hint in texts.hints_of(item)]
    told = next((hint for hint in hints if hint.advice), None)
    workers = {item.worker for item in worst.leading}
    is_fault = 100 * lost >= params.threshold_pct
    message = texts.ONE if is_one else texts.SEVERAL
    if not main.worker:
        message = texts.IDLE_ONE if is_one else texts.IDLE_SEVERAL
    if main.what == OF_CORES:  # which did not evaluate anything, either
        causes = tuple(item for item in message.possible_causes if item != texts.EVALUATED)
        message = replace(message, possible_causes=causes)
    return message.fault(
        100 * lost,
        threshold=params.threshold_pct,
        where=results.Where(
            node=main.node if len({item.node for item in worst.leading}) == 1 else None,
            device=main.worker if len(workers) == 1 and main.worker else None,
            start_s=seconds(min(group.main.start_ns for group in groups)),
            end_s=seconds(max(group.main.end_ns for group in groups)),
        ),
        severity=kit.fault_severity(lost) if is_fault else Severity.INFO,
        advice=told.advice if told else None,
        function=told.function if told else "",
        **_words(job, worst),
        n=len(groups),
        lasted=format_ns_range(lengths_ns, more=""),
        meanwhile="".join(f" {hint.text}" for hint in hints),
    )


def _words(job: NodePauses, worst: JobPause) -> dict[str, Any]:
    """Return the words about the costliest pause: whose it is, where, and what the others did."""
    main, members, leading = worst.main, worst.members, worst.leading
    others = ""
    if len(leading) < len(members):
        others = write(texts.WAITED, n_others=len(members) - len(leading))
    elif len(members) > 1:
        others = write(texts.TOGETHER, n_members=len(members))
    elif job.n_workers > 1:
        others = texts.ALONE
    number = "" if main.step is None else f" {main.step:,}"
    place = texts.BETWEEN if main.is_between else texts.INSIDE
    gpus = part_of(job.n_gpus, job.n_gpus, "GPU")
    return {
        "main": main,
        "who": main.worker if job.n_workers > 1 else "Training",
        "whose": f"that of {main.worker} " if job.n_workers > 1 else "",
        "gpus": f"{gpus[:1].upper()}{gpus[1:]}" if job.n_gpus else texts.CORES,
        "all": "all GPUs" if job.n_gpus else texts.CORES.lower(),
        "All": "All GPUs" if job.n_gpus else texts.CORES,
        "place": write(place, main=main, number=number),
        "others": others,
        "unknown": texts.UNKNOWN,
    }


_LANE = TimelineTrack(kind=Track.LANE, title="Long pauses", role=Role.WARNING)

RULE = Rule(
    id=results.RuleId("LongPause"),
    title="Long pauses",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("functions", "inside_outside", "intervals", "rates"),
    places={"intervals": results.Place(timeline=_LANE)},
)
