"""The sentences of a bottleneck finding, each about one thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reportgen.facts.breakdown import Breakdown
from reportgen.facts.inside import largest_increase
from reportgen.rules.bottlenecks.exhibits import Interval
from reportgen.rules.bottlenecks.ticks import Bottlenecks, Limits, NodeBottlenecks
from reportgen.rules.bottlenecks.weight import Weight
from reportgen.rules.functions import cause_text
from reportgen.rules.saying.wording import say_does, say_times
from reportgen.units import NS_PER_S, say_duration, say_pct


def say_unfelt(n_unfelt: int) -> str:
    """Say how many bottlenecks do not count, after a space; empty when all do."""
    if not n_unfelt:
        return ""
    return f" In {n_unfelt:,} of them only GPUs idled that never work; these do not count."


def say_against(job: Bottlenecks, weight: Weight, limits: Limits, share_pct: float) -> str:
    """Hold the share of bottlenecks, or the highest there was, against the threshold."""
    if share_pct > limits.share_pct:
        return f"the rule triggers above {say_pct(limits.share_pct)}"
    if job.counters.rule_triggered:
        return (
            f"earlier it was up to {say_pct(job.peak_pct)}, and the rule triggers above "
            f"{say_pct(limits.share_pct)}"
        )
    if 100 * weight.share > limits.share_pct:
        return (
            f"of the ticks of nodes with GPUs these are {say_pct(100 * weight.share)}, above the "
            f"threshold of {say_pct(limits.share_pct)}"
        )
    return f"that is below the threshold of {say_pct(limits.share_pct)}"


def say_when(nodes: Sequence[NodeBottlenecks], weight: Weight) -> str:
    """Say how many bottlenecks lie before, in and after the training loop."""
    if weight.loop_share is None:
        return "Without step events it is unknown how many of them lie in the training loop."
    loops = [node.loop for node in nodes if node.loop]
    before, inside, after = (sum(loop.bottlenecks[part] for loop in loops) for part in range(3))
    n_known = len(loops)
    only = "" if n_known == len(nodes) else f" (on the {n_known} of {len(nodes)} nodes with steps)"
    return (
        f"{inside:,} {say_does(inside, 'lie')} in the training loop "
        f"({say_pct(100 * weight.loop_share)} of its ticks), "
        f"{before:,} before and {after:,} after it{only}."
    )


def say_width(nodes: Sequence[NodeBottlenecks], weight: Weight, narrow: str) -> str:
    """Say how many cores were hot, and what it means where they were few of many."""
    hot = np.concatenate([node.n_cores_hot for node in nodes])
    n_single = int((hot == 1).sum())
    cores = sorted({node.n_cores for node in nodes if node.n_bottlenecks})
    host = f"{cores[0]}" if len(cores) == 1 else f"{cores[0]} to {cores[-1]}"
    single = (
        f"; in {say_pct(100 * n_single / hot.size)} of them it was one core" if n_single else ""
    )
    text = f"The median bottleneck had {float(np.median(hot)):g} hot of {host} cores{single}."
    return f"{text} {narrow}" if weight.is_narrow else text


def say_longest(interval: Interval) -> str:
    """Say how long the longest stretch of bottlenecks was, and where."""
    length_s = (interval.end_ns - interval.start_ns) / NS_PER_S
    return (
        f"The longest stretch took {say_duration(length_s)} on {interval.node} "
        f"({say_times(interval.n_ticks, 'tick')})."
    )


def say_what_ran(breakdown: Breakdown) -> Sequence[str]:
    """Name the framework work that took most time at the bottlenecks, if anything ran."""
    general = _largest(breakdown.general_ns)
    return [f"Most other framework time then went to {general}."] if general else []


def say_what_stands_out(job: Bottlenecks) -> Sequence[str]:
    """Name the function that takes much more of the time than while a GPU works, if one does."""
    cause = largest_increase(job.functions, job.functions_at_work)
    if cause is None:
        return []
    return [cause_text(cause, at="during bottlenecks", against="while a GPU works")]


def _largest(total_ns: Mapping[str, int]) -> str:
    whole = sum(total_ns.values())
    if not whole:
        return ""
    name, value = max(total_ns.items(), key=lambda item: (item[1], item[0]))
    return f"{name} ({say_pct(100 * value / whole)})"


def say_single_cores(counts: Sequence[tuple[int, int]]) -> str:
    """Say how often one core alone was hot, after a space; empty where no entry tells."""
    hot = [n_hot for n_idle, n_hot in counts if n_idle]
    if not hot:
        return ""
    share = say_pct(100 * hot.count(1) / len(hot))
    return f" In {share} of those that count it was one core."
