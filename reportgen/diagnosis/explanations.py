"""Which cause explains which symptom: the one table, and when a finding counts as explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from reportgen.diagnosis.evidence import is_ruled_out
from reportgen.results import Finding, ReasonCode, RuleResult, Severity, Status
from reportgen.results.causes import Cause

EFFECTS = frozenset(
    {Cause.GPU_SWINGS, Cause.HOST_BOUND, Cause.SLOW_INPUT, Cause.LOST_GPU_TIME, Cause.HEADROOM}
    | {Cause.GPU_IMBALANCE}
)
"""Words that say what is seen and not why. Alone they leave the question open. GPUs are used
unequally where they have unequal work, and also where one worker is held up and the others wait for
it in collectives, in which they look busy."""
NAMED_BY: Mapping[str, str] = {
    Cause.TOO_FEW_LOADERS: "Dataloader",
    Cause.TOO_MANY_LOADERS: "Dataloader",
    Cause.CPU_PREPROCESSING: "Dataloader",
    Cause.IO_WAIT: "IOBottleneck",
    Cause.NETWORK_INPUT: "NetworkBottleneck",
    Cause.UNPINNED_MEMORY: "Dataloader",
    Cause.WORK_BETWEEN_STEPS: "OverallFrameworkMetrics",
    Cause.PERIODIC_SLOW_STEPS: "StepPeriodicity",
    Cause.RANDOM_SLOW_STEPS: "StepOutlier",
    Cause.SLOWING_DOWN: "StepOutlier",
    Cause.SLOW_WORKER: "OverallFrameworkMetrics",
}
"""Which rule names a cause that may be behind an effect."""
TELLERS: Mapping[str, str] = {**NAMED_BY, Cause.LOST_GPU_TIME: "OverallFrameworkMetrics"}
"""Which rule tells a cause first: of lost time that with events, which says where in the loop."""
TIMED_BY = "Dataloader"
"""The rule that knows from events how long the loop waits for data. Others see idle GPUs while
cores wait for the disk or the network is busy, whatever the GPUs wait for."""
EXPLAINS_RATIO = 0.5
"""A cause accounts for at least half of what its symptom may cost; with less, removing it would
leave most of the symptom."""
JOINT_RATIO = 0.25
"""Of several causes that account for half of a symptom together, each makes a quarter of that."""
LEFT_FROM_RATIO = 0.25
"""Where causes leave a quarter of the time of a symptom unexplained, it is a fault of its own:
silence would say that nothing is wrong."""

_INPUT = frozenset({
    Cause.TOO_FEW_LOADERS, Cause.TOO_MANY_LOADERS, Cause.CPU_PREPROCESSING, Cause.IO_WAIT,
    Cause.NETWORK_INPUT, Cause.OTHER_PROGRAMS, Cause.LOADER_START,
})  # fmt: skip
"""Why a loop may wait for data."""
_COPIES = frozenset({Cause.UNPINNED_MEMORY})
"""Causes that take time between a batch and its step."""
_STEPS = frozenset({
    Cause.WORK_BETWEEN_STEPS, Cause.PERIODIC_SLOW_STEPS, Cause.RANDOM_SLOW_STEPS,
    Cause.SLOWING_DOWN, Cause.LONG_PAUSE,
})  # fmt: skip
"""How time may be lost in or between steps while the GPUs wait."""
_HOST = frozenset({Cause.SLOW_INPUT, Cause.HOST_BOUND, Cause.NO_PREFETCH})
_UNEVEN = frozenset({Cause.SLOW_WORKER, Cause.GPU_IMBALANCE})
_ABSENT = frozenset({Cause.GPU_IDLE, Cause.GPU_STOPPED})
_UNUSED = frozenset(
    {Cause.WORK_BETWEEN_STEPS, Cause.LONG_PAUSE, Cause.GPU_UNDERUSED, Cause.GPU_SWINGS}
)
IDLES = _INPUT | _COPIES | _HOST | _ABSENT | _UNUSED
"""Causes that leave GPUs without work; with others GPUs may look busy, as in waits for a peer."""
_WAITS = _INPUT | _COPIES | _STEPS | _UNEVEN | _HOST
_TRACED = frozenset({
    Cause.SLOW_HOST, Cause.FIRST_USE, Cause.LONG_GAP, Cause.SMALL_KERNELS, Cause.PAGEABLE_COPIES,
    Cause.EXPOSED_COPIES, Cause.BLOCKING_COPIES, Cause.GPU_ALLOCATION, Cause.FULL_LAUNCH_QUEUE,
    Cause.STREAM_DEPENDENCY, Cause.SYNCHRONIZATION, Cause.EXPOSED_COMMUNICATION, Cause.SLOW_RANK,
    Cause.SLOW_LINK,
})  # fmt: skip

EXPLAINED_BY: Mapping[str, frozenset[str]] = {
    # What happens before the first step explains nothing in the loop.
    Cause.LOST_GPU_TIME: _WAITS | _ABSENT | _TRACED,
    Cause.HEADROOM: _WAITS | _ABSENT | {Cause.GPU_UNDERUSED, Cause.GPU_SWINGS},
    # Time that GPUs lose between steps says where they are under-used, or swing. The first is so
    # most of the time, which a few pauses are not.
    Cause.GPU_UNDERUSED: (_WAITS | _ABSENT | {Cause.LOST_GPU_TIME}) - {Cause.LONG_PAUSE},
    Cause.GPU_SWINGS: _WAITS | _ABSENT | {Cause.GPU_UNDERUSED, Cause.LOST_GPU_TIME},
    # GPUs with a process each are used unequally where their workers wait unequally long; busy
    # cores hold up all GPUs of a node alike.
    Cause.GPU_IMBALANCE: _ABSENT | (_WAITS - {Cause.GPU_IMBALANCE, Cause.HOST_BOUND}),
    Cause.SLOW_INPUT: _INPUT | {Cause.NO_PREFETCH, Cause.LONG_PAUSE},
    Cause.WORK_BETWEEN_STEPS: _INPUT
    | _COPIES
    | {Cause.SLOW_INPUT, Cause.PERIODIC_SLOW_STEPS, Cause.LONG_PAUSE, Cause.SLOWING_DOWN},
    # Waits for batches, rhythms and pauses are left out of slow steps, which are so against those
    # around them; loaders that use up the cores slow steps down.
    Cause.RANDOM_SLOW_STEPS: _TRACED | {Cause.TOO_MANY_LOADERS, Cause.CPU_PREPROCESSING},
    # Where gradients are accumulated the others wait for a slow worker in every nth step. A rhythm
    # of waits, or of loaders that are set up, is one of the input.
    Cause.PERIODIC_SLOW_STEPS: frozenset({Cause.SLOW_WORKER}),
    Cause.SLOWING_DOWN: frozenset({Cause.SLOW_WORKER}),
    # A GPU that is never used idles beside busy cores, whatever these do.
    Cause.HOST_BOUND: _INPUT
    | _COPIES
    | _STEPS
    | {Cause.SLOW_INPUT, Cause.NO_PREFETCH, Cause.GPU_IDLE},
    Cause.EXPOSED_COMMUNICATION: frozenset({Cause.SLOW_RANK, Cause.SLOW_LINK}),
    Cause.SLOW_RANK: frozenset(
        {Cause.SLOW_HOST, Cause.LONG_GAP, Cause.FIRST_USE, Cause.SLOW_INPUT, Cause.SYNCHRONIZATION}
    )
    | {Cause.PAGEABLE_COPIES, Cause.EXPOSED_COPIES, Cause.GPU_ALLOCATION},
    Cause.STREAM_DEPENDENCY: frozenset({Cause.SLOW_RANK, Cause.SLOW_LINK}),
    Cause.SLOW_HOST: frozenset(
        {Cause.SMALL_KERNELS, Cause.FIRST_USE, Cause.LONG_GAP, Cause.SYNCHRONIZATION}
    ),
    Cause.FULL_LAUNCH_QUEUE: frozenset({Cause.SMALL_KERNELS, Cause.FIRST_USE, Cause.SLOW_HOST}),
    Cause.GPU_ALLOCATION: frozenset({Cause.LONG_GAP, Cause.FIRST_USE}),
    Cause.BLOCKING_COPIES: frozenset({Cause.PAGEABLE_COPIES}),
    Cause.EXPOSED_COPIES: frozenset({Cause.PAGEABLE_COPIES}),
}
"""The causes that explain a symptom. A word may be on both sides: small kernels explain a slow
host, which explains a late rank. No chain leads back to where it began."""

_STOPS = frozenset({Cause.FIRST_USE, Cause.LONG_GAP})
"""Single stops, which the finding on the work of the host leaves out of its cost."""

_BY_PROFILES = frozenset({"PY-1", "PY-3", "PY-4"})
"""Functions that Python profiles saw at work: logging, saving and metrics are no effect of a loop
that waits."""

_OF_EVENTS = "OverallFrameworkMetrics"
"""The rule that is skipped where no framework events were recorded."""
_OF_SAMPLES = "LowGPUUtilization"
"""The rule that counts the GPUs whose use was sampled."""
_SEVERITY_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def severity_rank(finding: Finding) -> int:
    """Return 0 for the worst severity."""
    return _SEVERITY_RANK[finding.severity]


def share_of(finding: Finding) -> float:
    """Return the share of the time that a finding may cost; 0 without an estimate."""
    return finding.estimate.share_ratio if finding.estimate else 0.0


def explaining(
    symptom: Finding, findings: Sequence[Finding], apart: AbstractSet[int] = frozenset()
) -> list[Finding]:
    """Return the findings that explain another one: those that do alone, else several together.

    Small ones are not counted together: each accounts for a quarter of that half at least. The time
    of all of them is taken out of the symptom's: what is left must be no fault. Nothing explains
    the findings whose ``id()`` is among those that stand ``apart``.
    """
    if id(symptom) in apart:
        return []
    least = EXPLAINS_RATIO * share_of(symptom)
    parts = [
        other
        for other in findings
        if _may_explain(other, symptom) and share_of(other) >= JOINT_RATIO * least
    ]
    by_cause = dict[str, float]()
    for part in (
        candidate
        for candidate in parts
        if id(candidate) in apart or not any(explains(other, candidate) for other in parts)
    ):
        by_cause[part.cause] = max(share_of(part), by_cause.get(part.cause, 0.0))
    left = share_of(symptom) - sum(by_cause.values())
    if left >= LEFT_FROM_RATIO:
        return []
    if alone := [other for other in parts if explains(other, symptom)]:
        return alone
    return parts if sum(by_cause.values()) >= least else []


def explains(cause: Finding, symptom: Finding) -> bool:
    """Return whether one finding explains another one, as docs/diagnosis.md says."""
    is_enough = share_of(cause) >= EXPLAINS_RATIO * share_of(symptom)
    return _may_explain(cause, symptom) and is_enough


def _may_explain(cause: Finding, symptom: Finding) -> bool:
    # Work between steps is a fault by what lies behind every step: pauses, rhythms and copies are
    # left out.
    is_work = symptom.cause == Cause.WORK_BETWEEN_STEPS and symptom.severity is not Severity.INFO
    # An unknown cost explains nothing that has one.
    is_unknown = cause.estimate is None and symptom.estimate is not None
    # A GPU that is never used holds up no other one, and a rank is late by what happens there.
    is_of_a_place = cause.cause in _ABSENT or symptom.cause == Cause.SLOW_RANK
    return (
        cause.cause in EXPLAINED_BY.get(symptom.cause, ())
        and cause.severity is not Severity.INFO
        and not is_unknown
        and not (is_work and cause.cause in _STEPS | _COPIES)
        and not (is_of_a_place and _is_elsewhere(symptom, cause))
        and not (symptom.id == "IDLE-5" and cause.cause in _STOPS)
        and symptom.id not in _BY_PROFILES
        and not _is_of_the_slow_worker(symptom, cause)
    )


def _is_of_the_slow_worker(symptom: Finding, cause: Finding) -> bool:
    """Return whether a rhythm is of the slow worker itself, which does not wait."""
    return (
        (symptom.cause, cause.cause) == (Cause.PERIODIC_SLOW_STEPS, Cause.SLOW_WORKER)
        and symptom.where.node == cause.where.node
        and symptom.where.device == cause.where.device
    )


def _is_elsewhere(symptom: Finding, cause: Finding) -> bool:
    """Return whether both name nodes, and other ones, or both name GPUs, and none in common."""
    places = [
        tuple(set((name or "").split(", ")) - {""} for name in (item.where.node, item.where.device))
        for item in (symptom, cause)
    ]
    return any(all(pair) and pair[0].isdisjoint(pair[1]) for pair in zip(*places, strict=True))


def possible_causes(finding: Finding, results: Sequence[RuleResult]) -> tuple[str, ...]:
    """Return possible causes of an unexplained effect: those that nothing measured rules out.

    A cause is ruled out where a rule found a sign absent that the cause must show.
    """
    # A GPU that waits looks like one that has little to do: without events, and where it may be
    # short of work between steps.
    is_unknown = finding.cause == Cause.GPU_UNDERUSED and any(
        result.id == _OF_EVENTS
        and (result.status is Status.SKIPPED or _may_wait_between_steps(result))
        for result in results
    )
    is_effect = finding.cause in EFFECTS or is_unknown
    if not is_effect or finding.severity is Severity.INFO or processes_of(finding, results) == 1:
        return finding.possible_causes
    # Numbers of the rule that tells the effect do not deny it.
    others = [result for result in results if finding not in result.findings]
    causes = EXPLAINED_BY[finding.cause]
    if any(result.id == _OF_SAMPLES and _has_no_gpu(result) for result in results):
        causes -= _COPIES
    words = [word for word in NAMED_BY if word in causes]
    if finding.cause == Cause.LOST_GPU_TIME:
        words += [Cause.GPU_SWINGS, *_seen_by_traces(results)]
    return tuple(str(word) for word in words if not is_ruled_out(word, others))


def _has_no_gpu(result: RuleResult) -> bool:
    return result.reason is not None and result.reason.code is ReasonCode.NO_GPU


def _seen_by_traces(results: Sequence[RuleResult]) -> Sequence[str]:
    """Return why sampled GPUs may lack work by what only a kernel trace shows."""
    counts = (result.metrics.get("gpu_count") for result in results if result.id == _OF_SAMPLES)
    n_gpus = int(next(filter(None, counts), 0))
    exchanges = (Cause.EXPOSED_COMMUNICATION,) if n_gpus > 1 else ()
    return (Cause.SMALL_KERNELS, *exchanges) if n_gpus else ()


def processes_of(finding: Finding, results: Sequence[RuleResult]) -> int:
    """Return how many processes drive GPUs that are used unequally; 0 of other findings."""
    is_uneven = finding.cause == Cause.GPU_IMBALANCE
    holders = (result for result in results if is_uneven and finding in result.findings)
    return max((int(result.metrics.get("uneven_processes") or 0) for result in holders), default=0)


def _may_wait_between_steps(result: RuleResult) -> bool:
    return any(
        item.cause == Cause.LOST_GPU_TIME and item.severity is not Severity.INFO
        for item in result.findings
    )
