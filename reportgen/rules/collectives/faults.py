"""Collectives of a rank, and the faults that slow them down: a late rank or host, a slow link."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.facts import device_busy, slow_transfers
from reportgen.facts.exchanges import Exchanges, exchanges_of
from reportgen.facts.meetings import Meetings
from reportgen.facts.slow_transfers import SlowTransfers
from reportgen.facts.waiting import LateRank, MeetingWaits, late_ranks, most_in_a_row_ns
from reportgen.merging import sums_by_code
from reportgen.profile.trace import RankTrace, hosts_of_ranks
from reportgen.rules import kit
from reportgen.text import join_names, write
from reportgen.units import pct_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When waiting for a late rank, and slow transfers, are faults."""

    threshold_window_pct: float = kit.share_limit(
        3.0, "waiting for a late rank is a fault if it takes at least this share of the window"
    )
    threshold_slow_pct: float = kit.share_limit(
        3.0,
        "the extra time of slow transfers is a fault if it takes at least this share of the window",
    )
    link_gb_per_s: float | None = kit.given(
        "bandwidth of the link of one GPU, in one direction; transfers are given as shares",
        source="the data sheet of the network or of NVLink",
        unit="GB/s",
        minimum=0.001,
    )
    communication_names: str | None = kit.communication_names()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCollectives:
    """The communication kernels of a rank in order of their start.

    ``host`` is empty where the name of the file does not say it. ``begin_ns`` is when the headline
    window begins, UTC; ``window_ns`` its length, times devices; ``communication_ns`` how long
    communication ran in it.
    """

    rank: int
    node: str
    host: str
    begin_ns: int
    window_ns: int
    communication_ns: int
    exchanges: Exchanges


def measure(trace: RankTrace, params: Params) -> RankCollectives:
    """Measure the communication kernels of a rank."""
    more_names, windows = params.communication_names, device_busy.windows_of(trace)
    times = [
        device_busy.time_in(unions, device_busy.headline(windows), rank=trace.rank)
        for unions in device_busy.unions_of(trace, more_names)
    ]
    begin_ns = device_busy.headline(windows).start_ns if windows else 0
    return RankCollectives(
        rank=trace.rank,
        node=trace.node,
        host=trace.host,
        begin_ns=trace.origin_ns + begin_ns,
        window_ns=sum(item.window.length_ns for item in times),
        communication_ns=sum(item.communication_ns for item in times),
        exchanges=exchanges_of(trace, more_names),
    )


WAITING = kit.Message(
    id="COMM-1",
    cause=results.Cause.SLOW_RANK,
    title="Rank {late.rank} is late and others wait for it: {measured:pct} of the time",
    text="""Over {late.n_meetings:count collective} the other ranks wait {late.excess_ns:ns} longer
        than rank {late.rank} (median of them) while they compute nothing. This is {measured:pct} of
        the {window:ns} of one rank, and the most that can be saved. They wait longer than rank
        {late.rank} in {late.n_last} of the {late.n_meetings}. All ranks together spend {every:ns}
        in communication: {waiting:ns} of it is waiting, and the transfers take {transfer:ns} on
        each rank.{mates}{apart}""",
    advice="""Compare the work of rank {late.rank} before the collectives with that of other ranks:
        its share of the data, its host, its GPU clock. A faster network will not help.""",
    exhibit="stragglers",
)
SLOW_HOST = replace(
    WAITING,
    title="Host {host} is late and other ranks wait for it: {measured:pct} of the time",
    advice="""Compare host {host} with the others: cooling and power, clocks, processors, memory,
        other jobs. A faster network will not help.""",
)
BY_TURNS = kit.Message(
    id="COMM-1",
    cause=results.Cause.SLOW_RANK,
    title="Ranks are late by turns and the others wait: {measured:pct} of the time",
    text="""No rank is late all the time, but in most collectives some rank is: each waits for
        others for {lost:ns} (mean of the ranks) while nothing is computed. This is {measured:pct}
        of the {window:ns} of one rank, and the most that can be saved.""",
    advice="""Give all ranks equal work in each step: batches of equal length (sort, bucket or pack
        the samples by length); let garbage collection run on all ranks in the same step.""",
    exhibit="stragglers",
)
APART = " The recordings begin up to {apart:ns} apart; waiting that comes from this is left out."
SLOW_LINK = kit.Message(
    id="COMM-3",
    cause=results.Cause.SLOW_LINK,
    title="Slow transfers take {measured:pct} of the time: {times} times as long as others",
    text="""{n_slow:n} of {n_alike:count transfer} of equal size take {times} times as long as a
        fast one (median), {excess:ns} longer in all. On {node} this costs {lost:ns},
        {measured:pct} of its {window:ns}, while nothing is computed.{located} The first is {name}
        of {bytes:bytes}.""",
    advice="""Check the network at these times: other jobs on the same links, a link or adapter that
        fell back to a lower speed. NCCL_DEBUG=INFO shows which paths are used.""",
    exhibit="collectives",
)
SLOW_LINK_OF_HOST = replace(
    SLOW_LINK,
    title="Transfers with {hosts} take {measured:pct} of the time: {times} times as long as others",
    advice="""Check the links of {hosts}: adapters, cables or switch ports that fell back to a lower
        speed, other jobs on them; NVLink and PCIe (nvidia-smi topo -m, nvidia-smi nvlink --status)
        where its own GPUs exchange data. NCCL_DEBUG=INFO shows which paths are used.""",
)
ONE_OF_HOST = " Other ranks of host {host} are not late: so this rank is slow, not the host."
ALL_OF_HOST = " All {n} ranks of host {host} are late: so the host is slow, not one of its GPUs."
LOCATED = " Nearly all slow ones are with {hosts}, and most of the others are without."
OFTEN_RATIO = 0.4
"""A rank is late, and not only stopped once, if this share of the waiting is left without the
eighth of the collectives, in a row, in which the others wait longest ..."""
LEAST_OFTEN = 4
"""... of at least this many."""
ALIKE_RATIO = 0.5
"""Lateness of half of another one is about as large: simple, and far above the scatter of ranks."""
BY_TURNS_PCT = 5.0
"""Steps of ranks with equal work differ by one percent; a twentieth is worth a change."""
PIPELINE_RATIO = 0.01
"""Sends and receives with nothing computed beside them belong to a pipeline, whose stages wait by
turns although they are equally fast, if they take more of the time: then no rank is called late."""


def faults_of(
    ranks: Sequence[RankCollectives],
    meetings: Meetings,
    waiting: MeetingWaits,
    params: Params,
    *,
    is_one_clock: bool,
    in_sends_ns: int,
) -> list[results.Finding | None]:
    """Return the late rank or host, or ranks that are late by turns, and slow transfers.

    ``in_sends_ns`` is the time of all ranks in sends and receives with nothing computed beside it.
    Where the clocks differ, no collective is named as the place of a finding, as its times were
    moved. A host that comes late because its transfers are slow is a slow link.
    """
    hosts = hosts_of(ranks)
    slow = slow_transfers.slow_transfers(meetings)
    slow_hosts = slow_transfers.located(slow, hosts) if slow else ()
    link = _slow(ranks, slow, slow_hosts, params) if slow else None
    if in_sends_ns > PIPELINE_RATIO * sum(rank.window_ns for rank in ranks):
        return [link]
    every = late_ranks(waiting)
    worst, of_host = every[0], [late for late in every if hosts[late.rank] == hosts[every[0].rank]]
    has_hosts = len(set(hosts.values())) > 1 and len(of_host) > 1
    is_host = has_hosts and all(late.excess_ns >= ALIKE_RATIO * worst.excess_ns for late in of_host)
    window_ns = _usual_window_ns(ranks, meetings, worst.rank)
    if not _is_fault(worst, window_ns, params):
        return [link or _late_by_turns(ranks, waiting)]
    if is_host and link and hosts[worst.rank] in slow_hosts:
        return [link]
    host = hosts[worst.rank]
    apart_ns = int(waiting.apart_ns.max())
    late = {item.rank for item in of_host} if is_host else {worst.rank}
    found = (SLOW_HOST if is_host else WAITING).fault(
        pct_of(worst.excess_ns, window_ns),
        threshold=params.threshold_window_pct,
        where=_longest_wait(ranks, meetings, waiting, late, is_one_clock=is_one_clock),
        late=worst,
        host=host,
        window=window_ns,
        every=int(meetings.members.duration_ns.sum()),
        waiting=int(meetings.wait_ns.sum()),
        transfer=int((meetings.transfer_ns * meetings.n_ranks).sum()) // len(waiting.ranks),
        mates=write(ALL_OF_HOST if is_host else ONE_OF_HOST, host=host, n=len(of_host))
        if has_hosts
        else "",
        apart=write(APART, apart=apart_ns) if apart_ns else "",
    )
    return [found, link]


def _late_by_turns(
    ranks: Sequence[RankCollectives], waiting: MeetingWaits
) -> results.Finding | None:
    """Return that ranks wait for others that are late by turns."""
    every_ns, n_ranks = sum(rank.window_ns for rank in ranks), len(waiting.ranks)
    each_ns = sums_by_code(waiting.meeting, waiting.lost_ns, int(waiting.meeting.max()) + 1)
    lost_ns, worst_ns = int(each_ns.sum()), most_in_a_row_ns(each_ns)
    share_pct = pct_of(lost_ns, every_ns)
    if share_pct < BY_TURNS_PCT or lost_ns - worst_ns < OFTEN_RATIO * lost_ns:
        return None
    window_ns = every_ns // len(ranks)
    return BY_TURNS.fault(
        share_pct, threshold=BY_TURNS_PCT, lost=lost_ns // n_ranks, window=window_ns
    )


def hosts_of(ranks: Sequence[RankCollectives]) -> dict[int, str]:
    """Return the host of each rank, ``""`` where the names of the files do not say it."""
    hosts = hosts_of_ranks([rank.host for rank in ranks])
    return dict(zip((rank.rank for rank in ranks), hosts, strict=True))


def _usual_window_ns(ranks: Sequence[RankCollectives], meetings: Meetings, late: int) -> int:
    """Return the mean window of the ranks that meet a late one: no others wait for it."""
    with_late = np.unique(meetings.of_row[meetings.members.rank == late])
    met = np.unique(meetings.members.rank[np.isin(meetings.of_row, with_late)])
    windows_ns = [rank.window_ns for rank in ranks if rank.rank in met]
    return round(sum(windows_ns) / max(len(windows_ns), 1))


def _is_fault(late: LateRank, window_ns: int, params: Params) -> bool:
    """Return whether one is late time and again; a single delay is no late rank."""
    is_often = late.without_worst_ns >= OFTEN_RATIO * late.excess_ns
    is_large = pct_of(late.excess_ns, window_ns) >= params.threshold_window_pct
    return late.excess_ns > 0 and is_large and (late.n_meetings < LEAST_OFTEN or is_often)


def _longest_wait(
    ranks: Sequence[RankCollectives],
    meetings: Meetings,
    waiting: MeetingWaits,
    late: Collection[int],
    *,
    is_one_clock: bool,
) -> results.Where:
    """Return the first of the late ranks, and when the others waited longest for them."""
    node = next(rank.node for rank in ranks if rank.rank == min(late))
    if not is_one_clock:
        return results.Where(node=node)
    is_late = np.isin(np.array(waiting.ranks)[waiting.rank_place], list(late))
    signed_ns = np.where(is_late, -waiting.lost_ns, waiting.lost_ns)
    lost_ns = sums_by_code(waiting.meeting, signed_ns, meetings.n)
    with_late = np.unique(waiting.meeting[is_late])
    place = with_late[np.argmax(lost_ns[with_late])]
    return kit.stretch(node, None, int(meetings.start_ns[place]), int(meetings.end_ns[place]))


def _slow(
    ranks: Sequence[RankCollectives], slow: SlowTransfers, slow_hosts: Sequence[str], params: Params
) -> results.Finding | None:
    rank, lost_ns = max(slow.lost_ns.items(), key=lambda item: (item[1], -item[0]))
    slowest = next(item for item in ranks if item.rank == rank)
    share_pct = pct_of(lost_ns, slowest.window_ns)
    if share_pct < params.threshold_slow_pct or lost_ns <= 0:
        return None
    meetings, members = slow.meetings, slow.meetings.members
    hosts = f"host{'s' * (len(slow_hosts) > 1)} {join_names(slow_hosts, most=len(slow_hosts))}"
    return (SLOW_LINK_OF_HOST if slow_hosts else SLOW_LINK).fault(
        share_pct,
        threshold=params.threshold_slow_pct,
        where=kit.stretch(None, None, int(meetings.start_ns[0]), int(meetings.end_ns[-1])),
        n_slow=meetings.n,
        n_alike=slow.alike.n,
        times=f"{slow.times:.2g}",
        excess=slow.excess_ns,
        lost=lost_ns,
        window=slowest.window_ns,
        node=slowest.node,
        hosts=hosts,
        located=write(LOCATED, hosts=hosts) if slow_hosts else "",
        name=members.labels[members.name[0]],
        bytes=int(members.bytes[0]),
    )
