"""HostThreads: what the traced host threads did, and which calls blocked them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.use_over_time import FineUse, begin_together, use_together
from reportgen.profile.trace import RankTrace
from reportgen.results import (
    Counters,
    DashboardPanel,
    Details,
    Exhibit,
    ExhibitKind,
    Place,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.saying import pct_of, result_of, say_ns
from reportgen.rules.kernels.threads import (
    CallRow,
    ThreadTime,
    ThreadUse,
    blocking_calls,
    host_window,
    thread_use,
)
from reportgen.units import NS_PER_US

ID = RuleId("HostThreads")
TABLE, CURVE, CALLS = "host_threads", "busy_threads", "blocking_calls"
MOST_LINES = 16
ABOUT = About(
    checks="What the traced threads of the host did, and which calls made them wait for the GPU.",
    reading=(
        "A thread is busy while operators, ranges, Python or runtime calls run on it, blocked in "
        "calls that wait; Python that sleeps or waits for a lock is neither. Loader workers are "
        "other processes and do not show: this is no CPU utilization."
    ),
    advice="Remove blocking calls from the loop, and move work off the thread that launches.",
    section=Section(id="host-threads", title="Host threads", order=110),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """This rule has no parameters: it only tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank: its threads and its blocking calls."""

    host: ThreadUse
    calls: tuple[CallRow, ...]


def measure(part: RankTrace, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Measure the threads of a rank."""
    window = host_window(part)
    return Measurement(
        host=thread_use(part, window) if window else ThreadUse(threads=(), use=None),
        calls=blocking_calls(part),
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    threads = [thread for rank in measurements for thread in rank.host.threads]
    return result_of(
        ID,
        params=params,
        reason=_reason(len(measurements), threads),
        presentation=present(Counters(), {}, params, measurements),
        metrics={"n_threads": len(threads)} if threads else {},
    )


def _reason(n_ranks: int, threads: Sequence[ThreadTime]) -> Reason | None:
    if threads:
        return None
    text = "The trace holds no host threads." if n_ranks else "No kernel trace was given."
    return Reason(code=ReasonCode.NO_EVENTS, text=text)


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,  # noqa: ARG001
    context: Sequence[Measurement] | None,
) -> Presentation:
    """Say what the threads did; ``context`` is the measurements."""
    ranks = context or ()
    threads = [thread for rank in ranks for thread in rank.host.threads]
    if not threads:
        return Presentation()
    calls = [call for rank in ranks for call in rank.calls]
    curve = _curve([rank.host.use for rank in ranks if rank.host.use is not None])
    return Presentation(exhibits=(curve, *_calls(calls), _table(threads)))


def _curve(ranks: Sequence[FineUse]) -> Exhibit:
    shown = ranks[:MOST_LINES]
    use = use_together(begin_together(shown))
    with np.errstate(invalid="ignore"):
        busy = use.busy_ns / use.length_ns
    lines = [(rank.node, "threads", busy[place]) for place, rank in enumerate(shown)]
    rest = f" The first {len(shown)} of {len(ranks)} ranks." if len(shown) < len(ranks) else ""
    return exhibit(
        CURVE,
        ExhibitKind.SERIES,
        title="Traced host threads at work",
        caption=(
            f"How many were busy, averaged over bins of {say_ns(use.width_ns)}; calls that "
            "wait for the GPU do not count, nor do loader workers, which are other processes."
            f"{rest}"
        ),
        columns=[("time_s", "s", use.time_s), *lines],
    )


def _calls(calls: Sequence[CallRow]) -> tuple[Exhibit, ...]:
    totals: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        entry = totals.setdefault((call.name, call.caller), [0, 0])
        entry[0] += call.count
        entry[1] += call.time_ns
    if not totals:
        return ()
    rows = sorted(totals.items(), key=lambda item: (-item[1][1], item[0]))
    return (
        exhibit(
            CALLS,
            ExhibitKind.TABLE,
            title="Calls that block the host",
            caption="Over all ranks, by time; the caller is the operator that made the call.",
            columns=[
                ("name", "", [name for (name, _), _ in rows]),
                ("caller", "", [caller for (_, caller), _ in rows]),
                ("count", "", [count for _, (count, _) in rows]),
                ("time_us", "us", [time_ns / NS_PER_US for _, (_, time_ns) in rows]),
            ],
        ),
    )


def _table(threads: Sequence[ThreadTime]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Host threads",
        caption=(
            "Over the recorded steps, else over the trace. busy_pct is of that window; blocked is "
            "in calls that wait for the GPU."
        ),
        columns=[
            ("rank", "", [item.rank for item in threads]),
            ("thread", "", [item.thread for item in threads]),
            ("window_us", "us", [item.window_ns / NS_PER_US for item in threads]),
            ("busy_us", "us", [item.busy_ns / NS_PER_US for item in threads]),
            ("blocked_us", "us", [item.blocked_ns / NS_PER_US for item in threads]),
            ("busy_pct", "%", [pct_of(item.busy_ns, item.window_ns) for item in threads]),
        ],
    )


RULE = Rule(
    id=ID,
    title="Host threads",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={"busy_threads": Place(dashboard=DashboardPanel(order=190))},
)
