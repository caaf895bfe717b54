"""Bandwidth of collectives: against the best of the same size, and against the link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen.facts.exchanges import Exchanges
from reportgen.facts.meetings import Meetings
from reportgen.merging import joint_codes, rows_by_code
from reportgen.profile.trace_tables import NONE
from reportgen.results import Exhibit, Finding
from reportgen.rules import kit
from reportgen.rules.kit import col, derived
from reportgen.text import write
from reportgen.units import NS_PER_US, pct_of

LINK = kit.Message(
    id="COMM-5",
    title="Transfers reach {measured:pct} of the link ({link:g} GB/s)",
    text="""The mean bus bandwidth of {n:count transfer} is {bus:.3g} GB/s. {worst.name} of
        {worst.bytes:bytes} takes most of the time: it reaches {worst.bus:.3g} GB/s, and the fastest
        transfer of this size {best:.3g} GB/s.""",
    advice="""Compare with nccl-tests on the same hosts. Small messages cannot use the full
        bandwidth: try larger buckets.""",
    exhibit="bandwidth_by_size",
)
CAPTION = """The bandwidth is the number of bytes (the larger of input and output) per second of
    duration, waiting included, over all ranks. The bus bandwidth follows nccl-tests: it is this
    times 2(n - 1)/n for all-reduce, and (n - 1)/n for all-gather, reduce-scatter, all-to-all,
    gather and scatter."""
BY_SIZE_CAPTION = """A transfer is the shortest duration of a collective among its ranks, without
    waiting; transfer_us is the median of a process group. The best is the fastest transfer of the
    same collective, size and number of ranks in any group; beyond_best_us adds up the extra time of
    the other transfers."""
REACHED = """ The {main.name} operations among {main.group_size} ranks moved data at a bus bandwidth
    of {bus:bytes}/s, waiting included. PCIe 4.0 reaches about 25 GB/s, and links between the GPUs
    of a node some hundreds. If it is far lower and all steps are equally long, the transfer is
    slow."""
LINK_CAPTION = " pct_of_link is of {link:g} GB/s; above 100 %, the link is faster than that."
MOST_ROWS = 2_000
"""So many groups and sizes are listed, 0.2 MB of JSON."""
_LESS = ("gather", "scatter", "alltoall")


@kit.row
class Bandwidth:
    """The collectives of one name in groups of one size, on all ranks."""

    name: str = col()
    group_size: int | None = col()
    count: int = col()
    time_ns: int = col("us", name="time_us", per=NS_PER_US)
    bytes: int = col("bytes")
    algorithm: float | None = derived(
        lambda item: _gb_per_s(item.bytes, item.time_ns), "GB/s", name="algorithm_gb_per_s"
    )
    bus: float | None = derived(
        lambda item: _bus_gb_per_s(item, item.time_ns), "GB/s", name="bus_gb_per_s"
    )


@kit.row
class Transfers:
    """The transfers of one collective, process group and size.

    ``sum_ns`` is their time, ``best_ns`` that of the fastest of equal size in any group.
    """

    sum_ns: int
    best_ns: int
    link_gb_per_s: float | None
    name: str = col()
    group: str = col()
    group_size: int | None = col()
    bytes: int = col("bytes")
    count: int = col()
    transfer_ns: float = col("us", name="transfer_us", per=NS_PER_US)
    algorithm: float | None = derived(
        lambda item: _gb_per_s(item.bytes, item.transfer_ns), "GB/s", name="algorithm_gb_per_s"
    )
    bus: float | None = derived(
        lambda item: _bus_gb_per_s(item, item.transfer_ns), "GB/s", name="bus_gb_per_s"
    )
    pct_of_best: float | None = derived(lambda item: pct_of(item.best_ns, item.transfer_ns), "%")
    pct_of_link: float | None = derived(
        lambda item: item.bus and item.link_gb_per_s and 100 * item.bus / item.link_gb_per_s, "%"
    )
    beyond_ns: int = derived(
        lambda item: item.sum_ns - item.count * item.best_ns,
        "us",
        name="beyond_best_us",
        per=NS_PER_US,
    )


def _gb_per_s(n_bytes: int, time_ns: float) -> float | None:
    return n_bytes / time_ns if time_ns > 0 else None


def _bus_gb_per_s(item: Bandwidth | Transfers, time_ns: float) -> float | None:
    rate, factor = _gb_per_s(item.bytes, time_ns), bus_factor(item.name, item.group_size)
    return None if rate is None or factor is None else rate * factor


def bus_factor(name: str, group_size: int | None) -> float | None:
    """Return by how much more a bus carries (docs/definitions.md, Collectives)."""
    bare, n_ranks = name.lower().replace("_", ""), group_size or 0
    if n_ranks < 1:
        return None
    if "allreduce" in bare:
        return 2 * (n_ranks - 1) / n_ranks
    return (n_ranks - 1) / n_ranks if any(word in bare for word in _LESS) else 1.0


def tables_of(
    every: Exchanges, found: Sequence[Transfers], *, link_gb_per_s: float | None
) -> Iterator[Exhibit]:
    """Yield bandwidths where sizes are known: of all durations, and of transfers by size."""
    if rows := _bandwidths(every):
        yield kit.table(
            "bandwidth", rows, Bandwidth, title="Bandwidth of collectives", caption=CAPTION
        )
    if not found:
        return
    rest = f" {MOST_ROWS:,} of {len(found):,} are listed." if len(found) > MOST_ROWS else ""
    link = write(LINK_CAPTION, link=link_gb_per_s) if link_gb_per_s else ""
    table = kit.table(
        "bandwidth_by_size",
        found[:MOST_ROWS],
        Transfers,
        title="Bandwidth by collective, process group and size",
        caption=BY_SIZE_CAPTION + link + rest,
    )
    columns = [item for item in table.columns if link_gb_per_s or item.name != "pct_of_link"]
    yield replace(table, columns=tuple(columns))


def reached(every: Exchanges) -> str:
    """Say the bandwidth of the collective with the most time; empty where it is unknown."""
    main = next((row for row in _bandwidths(every) if row.bus), None)
    return write(REACHED, main=main, bus=1e9 * (main.bus or 0)) if main else ""


def transfers_of(meetings: Meetings, link_gb_per_s: float | None) -> list[Transfers]:
    """Return transfers of known size, those that lose most to the best of their size first."""
    first = meetings.members.take(meetings.first)
    most_bytes = np.maximum.reduceat(meetings.members.bytes, meetings.first)
    keys = zip(
        first.texts(first.name),
        first.group_size.tolist(),
        most_bytes.tolist(),
        first.texts(first.group),
        strict=True,
    )
    times_ns: dict[tuple[str, int, int, str], list[int]] = defaultdict(list)
    for key, time_ns in zip(keys, meetings.transfer_ns.tolist(), strict=True):
        if key[2] != NONE and time_ns > 0:
            times_ns[key].append(time_ns)
    best_ns: dict[tuple[str, int, int], int] = {}
    for (name, n_ranks, n_bytes, _), found in times_ns.items():
        alike = (name, n_ranks, n_bytes)
        best_ns[alike] = min(best_ns.get(alike, found[0]), *found)
    rows = [
        Transfers(
            name=name,
            group=group,
            group_size=None if n_ranks == NONE else n_ranks,
            bytes=n_bytes,
            count=len(found),
            transfer_ns=float(np.median(found)),
            sum_ns=sum(found),
            best_ns=best_ns[name, n_ranks, n_bytes],
            link_gb_per_s=link_gb_per_s,
        )
        for (name, n_ranks, n_bytes, group), found in times_ns.items()
    ]
    return sorted(rows, key=lambda item: (-item.beyond_ns, item.name, item.bytes, item.group))


def share_of_link(transfers: Sequence[Transfers], link_gb_per_s: float | None) -> Finding | None:
    """Return which share of a link the transfers reach, weighted by their time."""
    found = [item for item in transfers if item.bus]
    if not link_gb_per_s or not found:
        return None
    buses = [_bus_gb_per_s(item, item.sum_ns / item.count) or 0.0 for item in found]
    bus = float(np.average(buses, weights=[item.sum_ns for item in found]))
    worst = max(found, key=lambda item: item.sum_ns)
    return LINK.finding(
        measured=100 * bus / link_gb_per_s,
        link=link_gb_per_s,
        bus=bus,
        n=sum(item.count for item in found),
        worst=worst,
        best=_bus_gb_per_s(worst, worst.best_ns),
    )


def _bandwidths(every: Exchanges) -> list[Bandwidth]:
    known = np.flatnonzero(every.bytes != NONE)
    alike = joint_codes(every.name[known], every.group_size[known])
    found = [
        Bandwidth(
            name=every.labels[every.name[rows[0]]],
            group_size=None if (size := int(every.group_size[rows[0]])) == NONE else size,
            count=rows.size,
            time_ns=int(every.duration_ns[rows].sum()),
            bytes=int(every.bytes[rows].sum()),
        )
        for rows in (known[places] for _, places in rows_by_code(alike))
    ]
    return sorted(found, key=lambda item: -item.time_ns)
