"""Bandwidth of collectives, and the share of the link that they reach."""

from __future__ import annotations

import numpy as np

from reportgen.facts.exchanges import Exchanges
from reportgen.facts.meetings import Meetings
from reportgen.merging import joint_codes, rows_by_code
from reportgen.profile.trace_tables import NONE
from reportgen.results import Finding
from reportgen.rules import kit
from reportgen.rules.kit import col, derived
from reportgen.text import write
from reportgen.units import NS_PER_US

LINK = kit.Message(
    id="COMM-5",
    title="Transfers reach {measured:pct} of the link ({link:g} GB/s)",
    text="""The mean bus bandwidth of {n:count transfer} is {bus:.3g} GB/s: their bytes by the
        shortest duration of each collective among its ranks, without waiting.""",
    advice="""Compare with nccl-tests on the same hosts. Small messages cannot use the full
        bandwidth: try larger buckets.""",
    exhibit="bandwidth",
)
CAPTION = """The bandwidth is the number of bytes (the larger of input and output) per second of
    duration, waiting included, over all ranks. The bus bandwidth follows nccl-tests: it is this
    times 2(n - 1)/n for all-reduce, and (n - 1)/n for all-gather, reduce-scatter, all-to-all,
    gather and scatter."""
REACHED = """ The {main.name} operations among {main.group_size} ranks moved data at a bus bandwidth
    of {bus:bytes}/s, waiting included. PCIe 4.0 reaches about 25 GB/s, and links between the GPUs
    of a node some hundreds. If it is far lower and all steps are equally long, the transfer is
    slow."""
_LESS = ("gather", "scatter", "alltoall")


def _bus_gb_per_s(item: Bandwidth) -> float | None:
    factor = bus_factor(item.name, item.group_size)
    return None if item.algorithm is None or factor is None else item.algorithm * factor


@kit.row
class Bandwidth:
    """The collectives of one name in groups of one size, on all ranks."""

    name: str = col()
    group_size: int | None = col()
    count: int = col()
    time_ns: int = col("us", name="time_us", per=NS_PER_US)
    bytes: int = col("bytes")
    algorithm: float | None = derived(
        lambda item: item.bytes / item.time_ns if item.time_ns > 0 else None,
        "GB/s",
        name="algorithm_gb_per_s",
    )
    bus: float | None = derived(_bus_gb_per_s, "GB/s", name="bus_gb_per_s")


def bus_factor(name: str, group_size: int | None) -> float | None:
    """Return by how much more a bus carries (docs/definitions.md, Collectives)."""
    bare, n_ranks = name.lower().replace("_", ""), group_size or 0
    if n_ranks < 1:
        return None
    if "allreduce" in bare:
        return 2 * (n_ranks - 1) / n_ranks
    return (n_ranks - 1) / n_ranks if any(word in bare for word in _LESS) else 1.0


def reached(every: Exchanges) -> str:
    """Say the bandwidth of the collective with the most time; empty where it is unknown."""
    main = next((row for row in bandwidths_of(every) if row.bus), None)
    return write(REACHED, main=main, bus=1e9 * (main.bus or 0)) if main else ""


def share_of_link(meetings: Meetings, link_gb_per_s: float | None) -> Finding | None:
    """Return which share of a link the transfers of known size reach, weighted by their time."""
    if not link_gb_per_s or not meetings.n:
        return None
    first = meetings.members.take(meetings.first)
    n_bytes = np.maximum.reduceat(meetings.members.bytes, meetings.first)
    sizes = zip(first.texts(first.name), first.group_size.tolist(), strict=True)
    factor = np.array([bus_factor(name, size) or 0.0 for name, size in sizes])
    is_known = (n_bytes != NONE) & (meetings.transfer_ns > 0) & (factor > 0)
    if not is_known.any():
        return None
    bus = float((n_bytes * factor)[is_known].sum() / meetings.transfer_ns[is_known].sum())
    return LINK.finding(
        measured=100 * bus / link_gb_per_s, link=link_gb_per_s, bus=bus, n=int(is_known.sum())
    )


def bandwidths_of(every: Exchanges) -> list[Bandwidth]:
    """Return the bandwidths of all durations of known size, those that took most time first."""
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
