"""Collectives of a rank, and the faults that slow them down: a late rank or host, a slow link."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.facts import device_busy, slow_transfers
from reportgen.facts.exchanges import Exchanges, exchanges_of
from reportgen.facts.meetings import Meetings
from reportgen.facts.slow_transfers import Located, SlowTransfers
from reportgen.facts.traced_steps import StepRows, step_rows
from reportgen.facts.waiting import LateRank, Waiting, late_ranks, waiting_of_groups
from reportgen.merging import sums_by_code
from reportgen.profile.trace import RankTrace, told_hosts
from reportgen.rules import kit
from reportgen.rules.base import param
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
    link_gb_per_s: float | None = param(
        None,
        unit="GB/s",
        meaning="bandwidth of the link of one GPU, in one direction; transfers are given as shares",
        source="the data sheet of the network or of NVLink",
        minimum=0.001,
        may_be_none=True,
        is_printed=False,
    )
    communication_names: str | None = kit.communication_names()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCollectives:
    """The communication kernels of a rank in order of their start.

    ``host`` is empty where the name of the file does not say it. ``begin_ns`` is when the headline
    window begins, UTC; ``window_ns`` its length, times devices; ``communication_ns`` how long
    communication ran in it. Starts of ``steps`` are UTC.
    """

    rank: int
    node: str
    host: str
    n_ops: int
    begin_ns: int
    window_ns: int
    communication_ns: int
    exchanges: Exchanges
    steps: StepRows | None


def measure(trace: RankTrace, params: Params) -> RankCollectives:
    """Measure the communication kernels of a rank."""
    also, windows = params.communication_names, device_busy.windows_of(trace)
    times = [
        device_busy.time_in(unions, device_busy.headline(windows), rank=trace.rank)
        for unions in device_busy.unions_of(trace, also)
    ]
    begin_ns = device_busy.headline(windows).start_ns if windows else 0
    steps = step_rows(trace)
    return RankCollectives(
        rank=trace.rank,
        node=trace.node,
        host=trace.host,
        n_ops=trace.gpu_ops.start_ns.size,
        begin_ns=trace.origin_ns + begin_ns,
        window_ns=sum(item.window.length_ns for item in times),
        communication_ns=sum(item.communication_ns for item in times),
        exchanges=exchanges_of(trace, also),
        steps=steps and replace(steps, start_ns=trace.origin_ns + steps.start_ns),
    )


WAITING = kit.Message(
    id="COMM-1",
    cause=results.Cause.SLOW_RANK,
    title="Rank {late.rank} is late and others wait for it: {measured:pct} of the time",
    text="""In {late.n_meetings:count collective}{sends} together, another rank waits
        {late.excess_ns:ns} longer than rank {late.rank} (median of the other ranks) while nothing
        is computed. This is {measured:pct} of the {window:ns} of one rank, and the most that can be
        saved. The others wait longer in {late.n_last} of the {late.n_meetings}.{what_if} All ranks
        together spend {every:ns} in communication: {waiting:ns} of it is waiting, and the transfers
        take {transfer:ns} on each rank.{mates}{apart}""",
    advice="""Compare the work of rank {late.rank} before the collectives with that of other ranks:
        its share of the data, its host, its GPU clock. A faster network will not help.""",
    exhibit="stragglers",
)
SLOW_HOST = replace(
    WAITING,
    title="Host {host} is late and other ranks wait for it: {measured:pct} of the time",
    text="""In {late.n_meetings:count collective} with other hosts{sends}, these wait
        {late.excess_ns:ns} longer in all than the {n_ranks:n} ranks of host {host} (median of the
        hosts, mean of their ranks), while nothing is computed. This is {measured:pct} of the
        {window:ns} of one rank, and the most that a faster host could save. All its ranks are late:
        so the host is slow, not one of its GPUs.{what_if}{apart}""",
    advice="""Compare host {host} with the others: cooling and power, clocks, processors, memory,
        other jobs. A faster network will not help.""",
)
SENDS = " and all sends and receives"
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
MATES = " Other ranks of host {host} are not late: so this rank is slow, not the host."
LOCATED = """ Of {at.n_with:count such transfer} with {hosts}, {at.n_slow:n} {at.n_slow:verb are/is}
    slow; of {at.n_without:n} without, {at.n_slow_else:n}."""
OFTEN_RATIO = 0.4
"""A rank is late, and not only stopped once, if this share of the waiting is left without the
eighth of the collectives, in a row, in which the others wait longest ..."""
LEAST_OFTEN = 4
"""... of at least this many."""
ALIKE_RATIO = 0.5
"""Lateness of half of another one is about as large: simple, and far above the scatter of ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateHost:
    """A host whose ranks come late together."""

    name: str
    ranks: tuple[int, ...]
    late: LateRank


def faults_of(
    ranks: Sequence[RankCollectives],
    meetings: Meetings,
    waiting: Waiting,
    params: Params,
    *,
    what_if: str,
    is_one_clock: bool,
) -> list[results.Finding | None]:
    """Return the late rank or host, and slow transfers, as far as they are faults.

    ``what_if`` is a sentence on the steps without waiting for others; where the clocks differ, no
    collective is named as the place of a finding, as its times were moved.

    A host that comes late because the transfers among its own ranks are slow is a slow link.
    """
    if not any(rank.window_ns for rank in ranks):
        return []
    hosts = hosts_of(ranks)
    slow = slow_transfers.slow_transfers(meetings)
    place = slow_transfers.located(slow, hosts) if slow else None
    late = late_ranks(waiting)
    host = _late_host(waiting, late, hosts)
    worst, of_host = (host.late, host.ranks) if host else (late[0], (late[0].rank,))
    found, window_ns = None, _usual_window_ns(ranks, meetings, of_host)
    if _is_fault(worst, window_ns, params) and not _is_by_link(host, slow, place):
        apart_ns = int(waiting.apart_ns.max())
        found = (SLOW_HOST if host else WAITING).fault(
            pct_of(worst.excess_ns, window_ns),
            threshold=params.threshold_window_pct,
            where=_longest_wait(ranks, meetings, waiting, of_host, is_one_clock=is_one_clock),
            late=worst,
            sends=SENDS if worst.in_sends_ns else "",
            window=window_ns,
            what_if=what_if,
            apart=write(APART, apart=apart_ns) if apart_ns else "",
            **(
                {"host": host.name, "n_ranks": len(host.ranks)}
                if host
                else _communication(ranks, meetings, waiting, worst.rank)
            ),
        )
    return [found, _slow(ranks, slow, place, params) if slow else None]


def hosts_of(ranks: Sequence[RankCollectives]) -> dict[int, str]:
    """Return the host of each rank, ``""`` where the names of the files do not say it."""
    hosts = told_hosts([rank.host for rank in ranks])
    return dict(zip((rank.rank for rank in ranks), hosts, strict=True))


def _usual_window_ns(
    ranks: Sequence[RankCollectives], meetings: Meetings, late: Collection[int]
) -> int:
    """Return the mean window of the ranks that meet a late one: no others wait for it."""
    with_late = np.unique(meetings.of_row[np.isin(meetings.members.rank, list(late))])
    met = np.unique(meetings.members.rank[np.isin(meetings.of_row, with_late)])
    own_ns = [rank.window_ns for rank in ranks if rank.rank in met]
    return round(sum(own_ns) / max(len(own_ns), 1))


def _late_host(
    waiting: Waiting, late: Sequence[LateRank], hosts: Mapping[int, str]
) -> LateHost | None:
    """Return the host that the others wait for, if it is not for one of its ranks."""
    names = sorted({hosts[rank] for rank in waiting.ranks})
    if len(names) < 2 or "" in names:
        return None
    numbers = {rank: names.index(hosts[rank]) for rank in waiting.ranks}
    found = late_ranks(waiting_of_groups(waiting, numbers))
    if not found or found[0].excess_ns <= 0:
        return None
    name = names[found[0].rank]
    own_ns = {item.rank: item.excess_ns for item in late if hosts[item.rank] == name}
    most_ns = max(own_ns.values())
    is_one = most_ns >= ALIKE_RATIO * found[0].excess_ns
    is_together = len(own_ns) > 1 and min(own_ns.values()) >= ALIKE_RATIO * most_ns
    if len(own_ns) < 2 or (is_one and not is_together):
        return None
    return LateHost(name=name, ranks=tuple(sorted(own_ns)), late=found[0])


def _is_fault(late: LateRank, window_ns: int, params: Params) -> bool:
    """Return whether one is late time and again; a single delay is no late rank."""
    is_often = late.without_worst_ns >= OFTEN_RATIO * late.excess_ns
    is_large = pct_of(late.excess_ns, window_ns) >= params.threshold_window_pct
    return late.excess_ns > 0 and is_large and (late.n_meetings < LEAST_OFTEN or is_often)


def _is_by_link(host: LateHost | None, slow: SlowTransfers | None, place: Located | None) -> bool:
    """Return whether a host is late because transfers among its own ranks are slow."""
    if not (host and slow and place and host.name in place.hosts):
        return False
    by_link_ns = np.mean([slow.lost_ns.get(rank, 0) for rank in host.ranks])
    return bool(by_link_ns >= ALIKE_RATIO * host.late.excess_ns)


def _communication(
    ranks: Sequence[RankCollectives], meetings: Meetings, waiting: Waiting, late: int
) -> dict[str, Any]:
    """Return how all ranks spend their time in it, and whether the host of the late one is late."""
    host = next(rank.host for rank in ranks if rank.rank == late)
    transfer_ns = int((meetings.transfer_ns * meetings.n_ranks).sum())
    has_mates = len({rank.host for rank in ranks}) > 1 and any(
        rank.host == host and rank.rank != late for rank in ranks
    )
    return {
        "every": int(meetings.members.duration_ns.sum()),
        "waiting": int(meetings.wait_ns.sum()),
        "transfer": transfer_ns // len(waiting.ranks),
        "mates": write(MATES, host=host) if host and has_mates else "",
    }


def _longest_wait(
    ranks: Sequence[RankCollectives],
    meetings: Meetings,
    waiting: Waiting,
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
    own = np.unique(waiting.meeting[is_late])
    place = own[np.argmax(lost_ns[own])]
    return kit.stretch(node, None, int(meetings.start_ns[place]), int(meetings.end_ns[place]))


def _slow(
    ranks: Sequence[RankCollectives],
    slow: SlowTransfers,
    place: Located | None,
    params: Params,
) -> results.Finding | None:
    rank, lost_ns = max(slow.lost_ns.items(), key=lambda item: (item[1], -item[0]))
    its = next(item for item in ranks if item.rank == rank)
    share_pct = pct_of(lost_ns, its.window_ns)
    if share_pct < params.threshold_slow_pct or lost_ns <= 0:
        return None
    meetings, members, hosts = slow.meetings, slow.meetings.members, ""
    if place:
        names = join_names(place.hosts, most=slow_transfers.MOST_LOCATED)
        hosts = f"host{'s' * (len(place.hosts) > 1)} {names}"
    return (SLOW_LINK_OF_HOST if place else SLOW_LINK).fault(
        share_pct,
        threshold=params.threshold_slow_pct,
        where=kit.stretch(None, None, int(meetings.start_ns[0]), int(meetings.end_ns[-1])),
        n_slow=meetings.n,
        n_alike=slow.alike.n,
        times=f"{slow.times:.2g}",
        excess=slow.excess_ns,
        lost=lost_ns,
        window=its.window_ns,
        node=its.node,
        hosts=hosts,
        located=write(LOCATED, hosts=hosts, at=place) if place else "",
        name=members.labels[members.name[0]],
        bytes=int(members.bytes[0]),
    )
