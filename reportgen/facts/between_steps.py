"""The time that lies between all steps: how much of it is no wait, and whether GPUs work in it.

PyTorch's hooks end a step before the optimizer runs. Kernels of the optimizer between steps are
training; work of the script, such as logging or metrics, leaves the GPUs idle. The interval of a
sample holds some of both, but not always equally much of each: the use of the GPUs, as a sum of
the use in steps and the use between them, separates the two. A host that runs ahead of the GPUs
waits for them between steps before it works: then GPUs idle only in the last part of that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from reportgen.arrays import Floats, Instants, Mask
from reportgen.facts.intervals import Union, clip, covered_each, join, minus, union_of
from reportgen.facts.loader import are_waits_known, worker_waits
from reportgen.facts.samples import means, present_values, silence_of, totals_of
from reportgen.facts.slow_steps import SlowSteps, slow_steps_of
from reportgen.facts.step_times import StepTimes, slowdown_of, step_times_of
from reportgen.facts.usage import in_use
from reportgen.profile import NodeProfile, SpanTable
from reportgen.profile.memo import fact

TAIL_RATIO = 0.06
"""At the end of a step workers wait for each other, and GPUs may idle. A sample whose interval
holds time between steps mostly also holds the end of a step, so that is a separate part."""
LEAST_TICKS = 20
METERS_NS = (170_000_000, 1_000_000_000)
"""NVIDIA's meter averages over a sixth of a second to one second, which depends on the device and
not on how often it is read."""
UNEXPLAINED_BELOW = 0.5
TWICE_AS_WELL = 0.5
IN_DOUBT_RATIO = 0.05
"""Error of the use of the GPUs that remains even if a fit explains most of it: meters and samples
are not exactly simultaneous."""
SURE_WITHIN = 0.2
"""The idleness of the GPUs between steps is known if its standard error is below a fifth."""
LATE_RATIOS = tuple(tenth / 10 for tenth in range(1, 10))
"""Last parts of the time between steps that are tried: GPUs may idle in one of them only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenSteps:
    """The work between the steps of one worker, in ns over its loop.

    Attributes:
        n_steps, loop_ns: its steps of all phases, and its loop, as far as anything was recorded.
        regular_ns: what lies between all steps, again and again: no waits, no longer pauses than
            usual, nothing that was not there at the start of the loop. Of workers of a node with
            equally many steps it is that of the slowest in each step, for which the others wait.
        copied_ns: of it, after the batch was there and before its step.
        grown_ns: what lies between all steps of its own but was not there at the start of the loop.
        is_waiting_known: whether waits for batches were recorded for nearly all steps.
        stops: its waits, its slow steps and its slow times between steps.
    """

    worker: str
    n_steps: int
    loop_ns: int
    regular_ns: float
    copied_ns: float
    grown_ns: float
    is_waiting_known: bool
    stops: Union


def between_steps_of(part: NodeProfile) -> tuple[BetweenSteps, ...]:
    """Return the work between the steps of each worker of a node."""
    gone = silence_of(part.system, part.spans)
    every = step_times_of(part.spans)
    groups = groupby(every, key=lambda times: times.steps.worker)
    return tuple(_of_worker(part.spans, tuple(phases), every, gone) for _, phases in groups)


def _of_worker(
    spans: SpanTable, phases: Sequence[StepTimes], every: Sequence[StepTimes], gone: Union
) -> BetweenSteps:
    worker = phases[0].steps.worker
    waits = worker_waits(spans, worker)
    n_steps = sum(times.steps.n_steps for times in phases)
    first_ns = min(int(times.steps.start_ns.min()) for times in phases)
    last_ns = max(int(times.steps.end_ns.max()) for times in phases)
    lost = clip(minus(gone, phases[0].steps.skipped), first_ns, last_ns)
    return BetweenSteps(
        worker=worker,
        n_steps=n_steps,
        loop_ns=phases[0].steps.loop_ns - lost.length_ns,
        regular_ns=sum(float(_slowest_ns(times, every).sum()) for times in phases),
        copied_ns=sum(_copied_ns(times, waits) for times in phases),
        grown_ns=sum(float((_usual_ns(times) - _regular_ns(times)).sum()) for times in phases),
        is_waiting_known=are_waits_known(spans, worker),
        stops=join([waits, *(union for times in phases for union in _parts(times)[2:])]),
    )


def _slowest_ns(times: StepTimes, every: Sequence[StepTimes]) -> Floats:
    """Return (n,) what lies behind each step of a phase in the worker that the others wait for."""
    alike = [
        _regular_ns(other)
        for other in every
        if (other.steps.phase, other.steps.n_steps) == (times.steps.phase, times.steps.n_steps)
    ]
    return np.asarray(np.max(np.stack(alike), axis=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBetween:
    """The steps of one phase of a node, (n,) each: starts, and what the slowest worker does behind.

    ``alike`` are the phase and the number of its steps.
    """

    node: str
    alike: tuple[str, int]
    start_ns: Instants
    slowest_ns: Floats


def phases_between_of(part: NodeProfile) -> tuple[PhaseBetween, ...]:
    """Return the phases of a node, workers with equally many steps as one."""
    every = step_times_of(part.spans)
    phases = {(times.steps.phase, times.steps.n_steps): times for times in every}
    return tuple(
        PhaseBetween(
            node=part.node,
            alike=alike,
            start_ns=times.steps.start_ns,
            slowest_ns=_slowest_ns(times, every),
        )
        for alike, times in phases.items()
    )


def waited_for_ns(phases: Sequence[PhaseBetween]) -> dict[str, float]:
    """Return for how long each node waits for the slowest of all while that is between steps.

    Nodes wait for each other if their steps never get a whole cycle apart, whatever their clocks.
    """
    waited_ns = dict.fromkeys((one.node for one in phases), 0.0)
    for alike in {one.alike for one in phases}:
        together = [one for one in phases if one.alike == alike]
        apart_ns = [one.start_ns - together[0].start_ns for one in together]
        drift_ns = max(float(np.abs(apart - np.median(apart)).max()) for apart in apart_ns)
        if drift_ns < np.median(np.diff(together[0].start_ns, append=together[0].start_ns[-1])):
            joint_ns = np.max(np.stack([one.slowest_ns for one in together]), axis=0).sum()
            for one in together:
                waited_ns[one.node] += float(joint_ns - one.slowest_ns.sum())
    return waited_ns


def _usual_ns(times: StepTimes) -> Floats:
    """Return (n,) what lies behind each step as behind all steps around it, without waits."""
    slow = slow_steps_of(times)
    rest_ns = times.rest_ns.astype(np.float64)
    return np.where(_pauses(slow), rest_ns - slow.between.excess_ns, rest_ns)


def _pauses(slow: SlowSteps) -> Mask:
    """Return (n,) behind which steps lies more than usual: far more, or again and again."""
    is_longer = slow.between.excess_ns > np.maximum(slow.step.excess_ns, 0)
    return slow.between.is_slow | (slow.in_rhythm & is_longer)


@fact
def _regular_ns(times: StepTimes) -> Floats:
    """Return the same without what was not there at the start of the loop."""
    slowdown = slowdown_of(times)
    if slowdown is not None and slowdown.is_between:
        return np.minimum(_usual_ns(times), slowdown.first_ns)
    return _usual_ns(times)


def _copied_ns(times: StepTimes, waits: Union) -> float:
    """Return the usual time from the end of a wait to the next step, added up over all steps."""
    there_ns, next_ns = _copies_ns(times, waits)
    return float(np.median(next_ns - there_ns)) * times.steps.n_steps


def _copies_ns(times: StepTimes, waits: Union) -> tuple[Instants, Instants]:
    """Return (n,) from when to when, behind each step, the batch of the next one is there."""
    steps = times.steps
    if not waits.end_ns.size:
        return steps.next_ns, steps.next_ns
    last = np.searchsorted(waits.end_ns, steps.next_ns, side="right") - 1
    there_ns = waits.end_ns[np.maximum(last, 0)]
    is_behind = (last >= 0) & (there_ns >= steps.end_ns)
    return np.where(is_behind, there_ns, steps.next_ns), steps.next_ns


# Whether GPUs work in between


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleBetween:
    """How much less GPUs do between steps than in them, 0-1: as fitted, and at most.

    Samples that hold a whole cycle each differ by chance more than by what they hold, which makes
    any difference look smaller; so does a fit that explains less than half of what is seen.
    ``is_sure``: whether nothing of this kind is in doubt. ``late_ratio``: the last part of the time
    between steps in which alone they do less.
    """

    ratio: float
    at_most_ratio: float
    unexplained: float
    is_sure: bool
    late_ratio: float = 1.0

    @property
    def undiluted_ratio(self) -> float:
        """Return the ratio if all that is unexplained comes from when meters and samples look.

        Errors of the parts of a sample, unlike those of its use, make any difference look smaller,
        by the share that is explained (errors in variables).
        """
        explained = max(1 - self.unexplained, 1e-9)
        return max(min(self.ratio / explained, 1.0), self.at_most_ratio)


def idle_between_of(part: NodeProfile) -> IdleBetween | None:
    """Return how idle GPUs are between steps; ``None`` if samples do not say."""
    workers = list(_workers(part.spans))
    idle = _idle_of(part, [worker.unions for worker in workers])
    is_clear = idle and (idle.ratio <= IN_DOUBT_RATIO or idle.ratio >= 1 - IN_DOUBT_RATIO)
    if idle is None or (idle.is_sure and is_clear):
        return idle
    late = [_idle_late(part, workers, ratio) for ratio in LATE_RATIOS]
    best = min((fit for fit in late if fit), key=lambda fit: fit.unexplained, default=idle)
    return best if best.unexplained < TWICE_AS_WELL * idle.unexplained else idle


def _idle_late(
    part: NodeProfile, workers: Sequence[_Worker], last_ratio: float
) -> IdleBetween | None:
    """Return how idle GPUs are if they work until a last part of the time between steps."""
    unions, early_ns, late_ns = [], 0, 0
    for worker in workers:
        early = worker.rest_without([_last_part(times, last_ratio) for times in worker.phases])
        loop, steps, *others = worker.unions
        unions.append((loop, join([steps, early]), *others))
        early_ns += early.length_ns
        late_ns += loop.length_ns - sum(union.length_ns for union in (steps, *others, early))
    idle = _idle_of(part, unions)
    if idle is None or not idle.is_sure:
        return None
    late_ratio = late_ns / max(late_ns + early_ns, 1)
    return replace(
        idle,
        ratio=idle.ratio * late_ratio,
        at_most_ratio=idle.at_most_ratio * late_ratio,
        late_ratio=late_ratio,
    )


def _last_part(times: StepTimes, ratio: float) -> Union:
    steps = times.steps
    last_ns = (ratio * (steps.next_ns - steps.end_ns)).astype(np.int64)
    return union_of(steps.next_ns - last_ns, steps.next_ns)


def idle_in_copies_of(part: NodeProfile) -> IdleBetween | None:
    """Return how idle they are from getting a batch to its step, while it is copied to them.

    Where the rest between steps is the GPUs' work, as that of the optimizer, both together hide it.
    """
    unions = []
    for worker in _workers(part.spans):
        copies = [union_of(*_copies_ns(times, worker.waits)) for times in worker.phases]
        unions.append((*worker.unions, worker.rest_without(copies)))
    return _idle_of(part, unions)


def _idle_of(part: NodeProfile, unions: Sequence[tuple[Union, ...]]) -> IdleBetween | None:
    """Fit what lies between steps and in no part of the unions.

    Edge cases: how long a meter looked back is unknown; the length that explains most counts.
    """
    uses_pct = _uses_pct(part)
    interval_ns = part.system.interval_ns
    if interval_ns is None or not unions:
        return None
    shortest_ns, longest_ns = METERS_NS
    lengths_ns = sorted({interval_ns, min(interval_ns, shortest_ns), longest_ns})
    fits = {ns: _fit(part.system.tick_ns, ns, uses_pct, unions) for ns in lengths_ns}
    found = [fit for length_ns, fit in fits.items() if fit and length_ns <= interval_ns]
    least = min((fit.unexplained for fit in found), default=1.0)
    # Only a far better fit shows that a meter looks back for longer than an interval.
    longer = fits[longest_ns]
    if longer and longer.unexplained < min(UNEXPLAINED_BELOW, TWICE_AS_WELL * least):
        return longer
    # Of poor fits, which make any difference look smaller, the largest is nearest to the truth.
    if least >= UNEXPLAINED_BELOW:
        return max(found, key=lambda fit: fit.ratio, default=None)
    return min(found, key=lambda fit: (fit.unexplained, fit.ratio))


def _uses_pct(part: NodeProfile) -> Sequence[Floats]:
    """Return (n_ticks,) the use of each GPU, or the largest of those that one process drives.

    Such GPUs all wait for the host at once: while one of them works, it does not hold them up.
    """
    uses = list(in_use(part.system))
    return [np.asarray(np.fmax.reduce(uses))] if drives_several_gpus(part) else uses


def drives_several_gpus(part: NodeProfile) -> bool:
    """Return whether a process of a node drives more than one of the GPUs in use."""
    n_workers = np.unique(part.spans.steps().worker).size
    return 0 < n_workers < sum(1 for _ in in_use(part.system))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    """The loop of a worker, and its parts in which GPUs may be used differently.

    ``unions`` are the loop, the steps of the phase behind whose steps most lies, those of other
    phases, ends of steps, slow steps, slow pauses and waits.
    """

    phases: Sequence[StepTimes]
    waits: Union
    unions: tuple[Union, ...]

    def rest_without(self, judged: Sequence[Union]) -> Union:
        """Return what else lies between steps if only a part of that is judged."""
        loop, *parts = self.unions
        return minus(loop, join([*parts, *judged]))


def _workers(spans: SpanTable) -> Iterator[_Worker]:
    groups = groupby(step_times_of(spans), key=lambda times: times.steps.worker)
    for worker, group in groups:
        waits = worker_waits(spans, worker)
        phases = sorted(group, key=lambda times: -_regular_ns(times).sum())
        parts = [_parts(times) for times in phases]
        main, *_ = parts[0]
        whole, tail, *slow = (join(unions) for unions in zip(*parts, strict=True))
        loop = union_of(whole.start_ns[:1], whole.end_ns[-1:])
        loop = minus(loop, phases[0].steps.skipped)
        steps = (minus(minus(union, slow[0]), tail) for union in (main, minus(whole, main)))
        parts_of_loop = (minus(part, waits) for part in (*steps, tail, *slow))
        yield _Worker(phases=phases, waits=waits, unions=(loop, *parts_of_loop, waits))


def _parts(times: StepTimes) -> tuple[Union, Union, Union, Union]:
    """Return the steps of a phase, the ends of usual ones, its slow steps and its slow pauses."""
    steps, slow = times.steps, slow_steps_of(times)
    is_slow, is_pause = slow.step.is_slow, _pauses(slow)
    tail_ns = (TAIL_RATIO * steps.duration_ns).astype(np.int64)
    return (
        union_of(steps.start_ns, steps.end_ns),
        union_of((steps.end_ns - tail_ns)[~is_slow], steps.end_ns[~is_slow]),
        union_of(steps.start_ns[is_slow], steps.end_ns[is_slow]),
        union_of(steps.end_ns[is_pause], steps.next_ns[is_pause]),
    )


def _fit(
    end_ns: Instants,
    interval_ns: int,
    uses_pct: Sequence[Floats],
    unions: Sequence[tuple[Union, ...]],
) -> IdleBetween | None:
    start_ns = end_ns - interval_ns
    use_pct = means(*totals_of(uses_pct, end_ns.size))
    shares = np.zeros((len(unions[0]), start_ns.size))
    for each in unions:
        for share, union in zip(shares, each, strict=True):
            np.add(share, covered_each(union, start_ns, end_ns), out=share)
    shares /= len(unions) * interval_ns
    loop, step, *others = shares
    regular = loop - step - sum(others)
    is_inside = (loop > 1 - 1e-9) & np.isfinite(use_pct)
    if is_inside.sum() < LEAST_TICKS:
        return None
    columns = np.stack([share[is_inside] for share in (step, regular, *others)], axis=1)
    if not (is_used := columns.any(axis=0)).all():
        columns = columns[:, is_used]
    seen = use_pct[is_inside]
    found, _, rank, _ = np.linalg.lstsq(columns, seen, rcond=None)
    if rank < columns.shape[1]:  # all samples hold equally much of two parts
        return None
    missed = np.square(seen - columns @ found)
    left = float(missed.mean())
    inverse = np.linalg.pinv(columns.T @ columns)
    error = float(np.sqrt(max(inverse[1, 1], 0.0) * left)) if found.size > 1 else np.inf
    if found[0] <= 0 or error > SURE_WITHIN * found[0]:
        return None
    # GPUs that are used nearly all of the time cannot idle for long between steps. Those that wait
    # in a collective for the one that is used least look busy.
    known_pct = (present_values(pct[is_inside]) for pct in uses_pct)
    least_pct = min(float(values.mean()) for values in known_pct if values.size)
    unused_ratio = max(1 - least_pct / 100, 0.0)
    most = unused_ratio / max(float(columns[:, 1].mean()), 1e-9)
    most = min(most, 1.0)
    idle_ratio = float(np.clip(1 - found[1] / found[0], 0.0, most))
    unexplained = left / max(float(seen.var()), 1e-9)
    # Long pauses may explain most of what is seen, and say nothing of what lies between all steps.
    is_usual = np.sum(others[2:4], axis=0)[is_inside] == 0
    varies = float(seen[is_usual].var()) if is_usual.sum() >= LEAST_TICKS else 0.0
    of_usual = float(missed[is_usual].mean()) / varies if varies else 1.0
    of_loop, _, _, ends, *_ = unions[0]
    cycle_ns = of_loop.length_ns / max(ends.start_ns.size, 1)
    # GPUs that do more between steps than in them lag behind the host: when they idle is unknown.
    lags = found[1] > (1 + IN_DOUBT_RATIO) * found[0]
    is_explained = max(unexplained, of_usual) < UNEXPLAINED_BELOW
    is_sure = is_explained and interval_ns < cycle_ns and not lags
    return IdleBetween(
        ratio=idle_ratio,
        at_most_ratio=min(idle_ratio + IN_DOUBT_RATIO, 1.0) if is_sure else max(most, idle_ratio),
        unexplained=unexplained,
        is_sure=is_sure,
    )
