"""IdleTime: why the GPUs idled, in causes that add up exactly, from kernel traces.

A recording without steps in which one idle stretch outweighs all else is one of a start: its
causes are then only reported, since what happens once is nothing to win in each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from reportgen import results
from reportgen.facts.device_busy import WindowKind, is_far_apart
from reportgen.facts.host_costs import Cost, HostCosts
from reportgen.results import DashboardPanel, Exhibit, Finding, Place, Where
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.idle_time import texts
from reportgen.rules.idle_time.measure import (
    CostWon,
    DeviceIdle,
    IdleGap,
    Params,
    RankIdle,
    measure,
)
from reportgen.rules.kit import col
from reportgen.rules.slow_host import advice_on_launches
from reportgen.text import device_label, format_ns_range, write
from reportgen.units import NS_PER_S, NS_PER_US, pct_of, ratio_of

ABOUT = About(
    checks="Why each GPU was idle: data loading, synchronization, a slow host, gaps, waits.",
    reading="""Each idle gap is explained by the operation after it. Until its launch was called,
        the host was late; then the launch call took time; then the device. The causes add up to the
        idle time. The speed-up is an upper bound: the gain if the cause disappears completely.""",
    advice="Begin with the largest cause; its possible gain says how much you can save at most.",
    section=results.Section(id="idle-time", title="Idle time", order=40),
)

MOST_STRETCHES = 1_000
"""Number of stretches that are listed, the longest: a chart cannot show more of them."""
LEAST_START_NS = NS_PER_S
"""Creating a context and loading libraries take seconds; a shorter stretch may be anything."""


@kit.row
class CauseTime:
    """How long one device was idle for one cause in one window."""

    rank: int = col()
    device: int = col()
    window: str = col()
    cause: str = col()
    time_ns: int = col("us", name="time_us", per=NS_PER_US)


def judge(ranks: Sequence[RankIdle], params: Params) -> Outcome:
    """Say why the GPUs idled, by the headline window of each rank."""
    rows = [device for rank in ranks for device in rank.devices]
    costs = [rank.costs for rank in ranks if rank.costs]
    # Of the windows of a rank the headline is the last one.
    headlines = [d for rank in ranks for d in rank.devices if d.window == rank.devices[-1].window]
    if not headlines:
        lost = [rank.lost for rank in ranks if rank.lost]
        return Outcome(missing=kit.reason_lost(lost) if lost else kit.reason_without_gpu(0))
    totals = {texts.BUSY: sum(item.busy_ns for item in headlines)}
    totals |= {name: ns for name, ns in kit.sum_by_key(d.cause_ns for d in headlines).items() if ns}
    shares = kit.ranking(
        "idle_shares",
        [(texts.NAMES[name][0], time_ns) for name, time_ns in totals.items()],
        title="Why the GPUs were idle",
        caption=f"Shares of {_window(headlines)}.",
        roles=[texts.NAMES[name][1] for name in totals],
    )
    window_ns = sum(item.window.length_ns for item in headlines)
    return Outcome(
        findings=_findings(headlines, costs, params),
        exhibits=[shares, *_stretches(headlines), _causes(rows), _costs(costs)],
        metrics={
            f"{'gpu_' if name == texts.BUSY else 'idle_'}{name.replace(':', '_')}_ratio": ratio_of(
                time_ns, window_ns
            )
            for name, time_ns in totals.items()
        },
    )


def _causes(rows: Sequence[DeviceIdle]) -> Exhibit:
    every = [
        CauseTime(
            rank=row.rank, device=row.device, window=row.window.kind, cause=cause, time_ns=time_ns
        )
        for row in rows
        for cause, time_ns in row.cause_ns.items()
    ]
    title = "Idle time by rank, device, window and cause"
    return kit.table("idle_causes", every, CauseTime, title=title, caption=texts.TABLE_CAPTION)


def _stretches(devices: Sequence[DeviceIdle]) -> Iterator[Exhibit]:
    """Yield the stretches over time by rank and device; nothing where there are none.

    As in the curve of utilization, recordings far apart all begin with the first.
    """
    every = [(item, stretch) for item in devices for stretch in item.stretches]
    if not every:
        return
    every.sort(key=lambda pair: (-pair[1].length_ns, pair[0].rank, pair[1].start_ns))
    shown = sorted(
        every[:MOST_STRETCHES], key=lambda pair: (pair[0].rank, pair[0].device, pair[1].start_ns)
    )
    n_ranks = len({item.rank for item in devices})
    is_apart = is_far_apart([item.reach_ns for item in devices])
    first_ns = min(item.reach_ns[0] for item in devices)

    def placed(item: DeviceIdle, stretch: IdleGap) -> IdleGap:
        shift_ns = first_ns - item.reach_ns[0] if is_apart else 0
        return replace(
            stretch,
            lane=device_label(item.node, stretch.lane, n_nodes=n_ranks),
            start_ns=stretch.start_ns + shift_ns,
            end_ns=stretch.end_ns + shift_ns,
        )

    length_ns = sum(stretch.length_ns for _, stretch in every)
    every_ns = sum(item.window.length_ns for item in devices)
    counts = Counter(stretch.name for _, stretch in every)
    yield kit.table(
        "idle_stretches",
        [placed(*pair) for pair in shown],
        IdleGap,
        drawn_as=results.ExhibitKind.SPANS,
        title="Long idle intervals",
        caption=write(
            texts.STRETCHES_CAPTION,
            times="Once" if len(every) == 1 else f"{len(every):,} times",
            least=format_ns_range([item.least_ns for item in devices]),
            length=length_ns,
            share=pct_of(length_ns, every_ns),
            every=every_ns,
            counts=", ".join(f"{name} ({count:,})" for name, count in counts.most_common()),
            apart=kit.FAR_APART if is_apart else "",
            rest=f" The longest {len(shown):,} are listed." if len(every) > len(shown) else "",
        ),
    )


def _costs(costs: Sequence[HostCosts]) -> Exhibit:
    every = [
        CostWon(rank=rank.rank, cost=cost.value, won_ns=won_ns, window_ns=rank.window.length_ns)
        for rank in costs
        for cost, won_ns in rank.won_ns.items()
    ]
    title = "Time that each rank would save without a cost of its host"
    return kit.table("host_costs", every, CostWon, title=title, caption=texts.COSTS_CAPTION)


def _findings(
    headlines: Sequence[DeviceIdle], costs: Sequence[HostCosts], params: Params
) -> Iterator[Finding]:
    start = _start(headlines, params.threshold_start_pct)
    if start:
        yield start
    else:
        yield from _once(costs, params.threshold_won_pct)
    for fault in texts.FAULTS:
        found = _fault(fault, headlines, costs, params)
        if found and start:  # a single event is no gain in each step
            text = found.text + texts.LOOKS_LIKE_A_START
            found = replace(found, severity=results.Severity.INFO, estimate=None, text=text)
        if found:
            yield found


def _once(costs: Sequence[HostCosts], limit_pct: float) -> Iterator[Finding]:
    for cost, message in ((Cost.LONG_GAP, texts.STOPPED), (Cost.FIRST_USE, texts.FIRST_USE)):
        worst = max(costs, key=lambda rank: rank.share_pct(cost), default=None)
        if worst is None or worst.share_pct(cost) < limit_pct:
            continue
        stops = worst.stops if cost is Cost.LONG_GAP else ()
        once = max(stops, key=lambda stop: stop.length_ns) if stops else worst.first_use
        if once is None:
            continue
        length_ns = sum(stop.length_ns for stop in stops)
        yield message.fault(
            worst.share_pct(cost),
            threshold=limit_pct,
            where=kit.stretch(worst.node, None, once.start_ns, once.end_ns),
            stop=worst,
            once=once,
            times="once" if len(stops) == 1 else f"{len(stops)} times",
            length=length_ns,
            more=write(texts.MORE, n=len(stops), length=length_ns) if len(stops) > 1 else "",
            doing=write(texts.DOING, name=once.doing) if once.doing else texts.DOING_UNKNOWN,
            stack="" if once.doing else texts.RECORD_STACK,
            won=worst.won_ns[cost],
            window=kit.window_name([worst.window]),
        )


def _fault(
    fault: texts.Fault, headlines: Sequence[DeviceIdle], costs: Sequence[HostCosts], params: Params
) -> Finding | None:
    """Return a fault that costs its share: by what is won without it, else by its idle time."""
    causes, idle_pct = fault.idle_for, _share_pct(headlines, fault.idle_for)
    share_pct, limit_pct, won = idle_pct, params.threshold_cause_pct, None
    if fault.cost is not None:
        cost = fault.cost
        won = max(costs, key=lambda rank: rank.share_pct(cost), default=None)
        share_pct = won.share_pct(cost) if won else 0.0
        is_loader = cost is Cost.LOADER
        limit_pct = params.threshold_loader_pct if is_loader else params.threshold_won_pct
    if share_pct < limit_pct or not share_pct:
        return None
    worst = max(headlines, key=lambda item: _share_pct([item], causes))
    if won is not None:
        worst = next((item for item in headlines if item.rank == won.rank), worst)
    long_stretches = [stretch for stretch in worst.stretches if stretch.cause in causes]
    most = "Most on" if won is None else "On"
    worst_share = _share_pct([worst], causes)
    of_worst = write(texts.WORST, most=most, node=worst.node, share=worst_share)
    return fault.message.fault(
        share_pct,
        threshold=limit_pct,
        where=_where(worst, long_stretches),
        lost=_lost_ns(headlines, causes),
        idle=idle_pct,
        won=won.won_ns[fault.cost] if won and fault.cost else 0,
        won_by=won.node if won else "",
        window=_window(headlines) if won is None else kit.window_name([won.window]),
        idling=write(
            texts.IDLING_TOGETHER if len(headlines) > 1 else texts.IDLING, n=len(headlines)
        ),
        of_worst=of_worst if len(headlines) > 1 else "",
        **advice_on_launches(costs),
    )


def _start(devices: Sequence[DeviceIdle], limit_pct: float) -> Finding | None:
    longest = [(_longest(item.stretches), item) for item in devices if item.stretches]
    if not longest or any(item.window.kind is WindowKind.STEPS for item in devices):
        return None
    stretch, item = max(longest, key=lambda pair: pair[0].length_ns)
    share_pct = pct_of(
        sum(one.length_ns for one, _ in longest), sum(one.window.length_ns for one in devices)
    )
    if share_pct < limit_pct or stretch.length_ns < LEAST_START_NS:
        return None
    return texts.START.finding(
        measured=share_pct,
        threshold=limit_pct,
        where=_where(item, [stretch]),
        length=stretch.length_ns,
        before=stretch.before,
        cause=stretch.name,
        window=_window(devices),
    )


def _longest(stretches: Sequence[IdleGap]) -> IdleGap:
    return max(stretches, key=lambda stretch: stretch.length_ns)


def _where(item: DeviceIdle, stretches: Sequence[IdleGap]) -> Where:
    device = f"gpu{item.device}"
    if not stretches:
        return Where(node=item.node, device=device)
    longest = _longest(stretches)
    return kit.stretch(item.node, device, longest.start_ns, longest.end_ns)


def _share_pct(rows: Sequence[DeviceIdle], causes: tuple[str, ...]) -> float:
    return pct_of(_lost_ns(rows, causes), sum(item.window.length_ns for item in rows))


def _lost_ns(rows: Sequence[DeviceIdle], causes: tuple[str, ...]) -> int:
    return sum(item.cause_ns.get(cause, 0) for item in rows for cause in causes)


def _window(rows: Sequence[DeviceIdle]) -> str:
    return kit.window_name([item.window for item in rows])


RULE = Rule(
    id=results.RuleId("IdleTime"),
    title="Idle time",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("host_costs",),
    places={
        "idle_causes": Place(words=texts.WORDS),
        "idle_stretches": Place(
            words=texts.WORDS,
            dashboard=DashboardPanel(
                order=40,
                headline="{title}: the longest {duration_us} before {before}",
                row_of="duration_us",
                is_wide=True,
                shares_axis=True,
            ),
        ),
        "idle_shares": kit.largest(50, passed_over=(results.OTHERS, "GPU busy")),
    },
)
