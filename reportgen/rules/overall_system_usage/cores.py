"""What cores show: that those which train lack work, or that other programs have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.facts import samples, usage
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules import kit
from reportgen.rules.kit import derived, row

WORK_RATIO = 0.75
"""Training on cores begins and ends where three quarters of its usual use last: imports and
downloads use fewer cores. Quarters of the time that hardly reach it do other work."""
SHORT_CORES = kit.Message(
    id="SYS-8",
    cause=results.Cause.HEADROOM,
    title="Cores are short of work: {measured:pct} of their usual use is missing",
    text="""From the first to the last work of {worst.node}, which has no GPU, its cores are used
        {worst.mean_pct:pct} on average, and usually {worst.usual_pct:pct} (75th
        percentile).{concerned} Samples alone do not show what the work waits for.""",
    advice="""Record the job with reportgen record, or switch on framework profiling: steps and
        waits show which of the possible causes it is.""",
    unit="% of the usual use",
    exhibit="percentiles",
)
HARDLY_USED = replace(
    SHORT_CORES,
    title="Cores are hardly used: {worst.used:.1f} of {worst.n_cores:n} on {worst.node}",
    text="""From the first to the last work of {worst.node}, which has no GPU, {measured:pct} of its
        cores are used (75th percentile).{concerned} If a device that was not sampled trains, this
        is as it should be.""",
    advice="""Use more threads or processes (n_jobs, OMP_NUM_THREADS, num_workers), or an instance
        with fewer cores.""",
    severity=results.Severity.WARNING,
    unit="% of the cores",
)
TRAINS_FROM_PCT, LEAST_CORES = 20.0, 4
"""One thread uses a quarter of four cores. Fewer are the least that machines have."""
CROWDED = kit.Message(
    id="SYS-9",
    cause=results.Cause.OTHER_PROGRAMS,
    title="""Other programs use {worst.others:.1f} of {worst.n_cores:n} cores, which are used up
        for {measured:pct} of the loop""",
    text="""Processes outside of the job keep {worst.others:.1f} cores of {worst.node} busy while no
        core is free.{concerned} What the job computes on the cores then takes longer than it would
        alone; how much is unknown.""",
    advice=kit.CORES_ALONE,
    severity=results.Severity.WARNING,
    unit="% of the loop",
    exhibit="percentiles",
)
CROWDED_FROM_RATIO, CROWD_FROM_RATIO = 0.5, 0.25
"""For half of the loop a quarter of the cores: less is a monitor or a backup, or passes."""


@row
class Cores:
    """Cores of a node that train: their usual use and their mean, from first to last work."""

    node: str
    n_cores: int
    usual_pct: float
    mean_pct: float
    start_ns: int
    end_ns: int
    ratio: float = derived(lambda cores: 1 - cores.mean_pct / cores.usual_pct)
    used: float = derived(lambda cores: cores.n_cores * cores.usual_pct / 100)


@row
class Crowd:
    """Other programs of a node: their cores while all are used up, and for which part of a loop."""

    node: str
    n_cores: int
    others: float
    ratio: float
    start_ns: int
    end_ns: int


def crowd_of(part: NodeProfile) -> Crowd | None:
    """Return the other programs of a node; ``None`` without loop or the job's processor time."""
    system, loop_ns = part.system, samples.training_loop_ns(part.spans)
    if loop_ns is None:
        return None
    inside = slice(*np.searchsorted(system.tick_ns, loop_ns).tolist())
    is_crowded = usage.crowded_by_others(system)[inside]
    if is_crowded.size <= usage.LEAST_LONG or not is_crowded.any():
        return None
    return Crowd(
        node=part.node,
        n_cores=len(system.names(SeriesKind.CPU_UTILIZATION)),
        others=float(usage.other_cores(system)[inside][is_crowded].mean()),
        ratio=float(is_crowded.mean()),
        start_ns=loop_ns[0],
        end_ns=loop_ns[1],
    )


def cores_at_work(part: NodeProfile) -> Cores | None:
    """Return how cores that train are used, ``None`` beside GPUs or steps, which tell of that.

    Cores that wait for I/O do not work.
    """
    system = part.system
    if system.names(SeriesKind.GPU_UTILIZATION) or samples.training_loop_ns(part.spans):
        return None
    waiting_pct = np.nan_to_num(samples.mean_of(system, SeriesKind.IO_WAIT))
    cores_pct = np.nan_to_num(usage.cores_mean_pct(system)) - waiting_pct
    is_work, _ = usage.at_work(system)
    if not is_work.any():
        return None
    usual_pct = float(np.percentile(cores_pct[is_work], usage.USUAL_PERCENTILE))
    is_work &= cores_pct >= WORK_RATIO * usual_pct
    begun, busy = usage.begun_rows(system, is_work), np.flatnonzero(is_work)
    if not begun.size:
        return None
    working_pct = cores_pct[begun[0] : busy[-1] + 1]
    if working_pct.size <= usage.enough_samples(usage.LEAST_JUDGED, system.tick_ns):
        return None
    usual_pct = float(np.percentile(working_pct, usage.USUAL_PERCENTILE))
    least_pct = float(usage.usual_by_quarter(working_pct).min())
    if usual_pct <= 0 or least_pct < WORK_RATIO * usual_pct:
        return None
    return Cores(
        node=part.node,
        n_cores=len(system.names(SeriesKind.CPU_UTILIZATION)),
        usual_pct=usual_pct,
        mean_pct=float(working_pct.mean()),
        start_ns=int(system.tick_ns[begun[0]]),
        end_ns=int(system.tick_ns[busy[-1]]),
    )


def short_of_work(nodes: Sequence[Cores]) -> results.Finding | None:
    """Return the finding on nodes of which cores are hardly used, or less than they usually are."""
    hardly = [node for node in nodes if node.usual_pct < TRAINS_FROM_PCT]
    if hardly and len(hardly) == len(nodes) and hardly[0].n_cores >= LEAST_CORES:
        least = min(hardly, key=lambda node: (node.usual_pct, node.node))
        return HARDLY_USED.finding(
            measured=least.usual_pct,
            threshold=TRAINS_FROM_PCT,
            where=kit.stretch(least.node, None, least.start_ns, least.end_ns),
            worst=least,
            concerned=kit.concerning(len(hardly), len(nodes), "node"),
        )
    short = [node for node in nodes if node.ratio >= usage.STEADY_FROM_RATIO and node not in hardly]
    worst = max(short, key=lambda node: node.ratio, default=None)
    if worst is None:
        return None
    return SHORT_CORES.fault(
        100 * worst.ratio,
        threshold=100 * usage.STEADY_FROM_RATIO,
        where=kit.stretch(worst.node, None, worst.start_ns, worst.end_ns),
        worst=worst,
        concerned=kit.concerning(len(short), len(nodes), "node"),
    )


def crowded(nodes: Sequence[Crowd]) -> results.Finding | None:
    """Return the finding on nodes whose cores other programs have."""
    found = [
        node
        for node in nodes
        if node.ratio >= CROWDED_FROM_RATIO and node.others >= CROWD_FROM_RATIO * node.n_cores
    ]
    if not found:
        return None
    worst = max(found, key=lambda node: (node.ratio, node.node))
    return CROWDED.finding(
        measured=100 * worst.ratio,
        threshold=100 * CROWDED_FROM_RATIO,
        where=kit.stretch(worst.node, None, worst.start_ns, worst.end_ns),
        worst=worst,
        concerned=kit.concerning(len(found), len(nodes), "node"),
    )
