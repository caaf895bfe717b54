"""Transfers that take much longer than others of their size, and the hosts that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Mask
from reportgen.facts.meetings import Meetings
from reportgen.merging import joint_codes, rows_by_code, sums_by_code
from reportgen.profile.trace_tables import NONE

SLOW_TIMES = 1.5
"""A transfer that takes at least this many times as long as a fast one of its size is slow."""
LEAST_ALIKE = 4
"""Fewer exchanges of one size have no usual time."""
LOCATED_RATIO = 0.9
"""Slow transfers are of a host if it takes part in at least this share of them ..."""
MOST_LOCATED = 4
"""... and if they have at most as many hosts in common: more do not point to a link."""
FAST_QUANTILE = 0.25
"""The time of a fast transfer: a quarter are as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTransfers:
    """Transfers that took much longer than others of the same size.

    Attributes:
        meetings: in order; ``alike``: all of their sizes, those included.
        is_slow: (n_alike,) which of the latter are slow.
        lost_ns: by rank, how long they lasted longer with nothing computed beside them.
        excess_ns: how much longer they lasted in all.
        times: how many times as long as usual, the median.
    """

    meetings: Meetings
    alike: Meetings
    is_slow: Mask
    lost_ns: dict[int, int]
    excess_ns: int
    times: float


def slow_transfers(meetings: Meetings) -> SlowTransfers | None:
    """Return the transfers that were much slower than others of their size."""
    members, first, transfer_ns = meetings.members, meetings.first, meetings.transfer_ns
    name, size, n_bytes = members.name[first], members.group_size[first], members.bytes[first]
    whole = np.flatnonzero((n_bytes != NONE) & (meetings.n_ranks == np.maximum(size, 2)))
    alike = joint_codes(name, size, n_bytes)[whole]
    usual_ns, is_slow = np.zeros(meetings.n), np.zeros(meetings.n, dtype=bool)
    is_compared = is_slow.copy()
    for _, places in rows_by_code(alike):
        rows = whole[places]
        if rows.size >= LEAST_ALIKE:
            usual_ns[rows] = np.quantile(transfer_ns[rows], FAST_QUANTILE)
            is_slow[rows] = transfer_ns[rows] > SLOW_TIMES * np.maximum(usual_ns[rows], 1.0)
            is_compared[rows] = is_slow[rows].any()
    found, every = np.flatnonzero(is_slow), np.flatnonzero(is_compared)
    if not found.size:
        return None
    more_ns = np.rint(transfer_ns[found] - usual_ns[found]).astype(np.int64)
    times = transfer_ns[found] / np.maximum(usual_ns[found], 1.0)
    chosen = meetings.take(found)
    ranks, place = np.unique(chosen.members.rank, return_inverse=True)
    since_ns = chosen.last_ns[chosen.of_row]
    alone_ns = chosen.members.alone_between_ns(since_ns, chosen.members.end_ns)
    excess_ns = sums_by_code(place, more_ns[chosen.of_row], ranks.size)
    lost_ns = np.minimum(sums_by_code(place, alone_ns, ranks.size), excess_ns)
    return SlowTransfers(
        meetings=chosen,
        alike=meetings.take(every),
        is_slow=is_slow[every],
        lost_ns=dict(zip(ranks.tolist(), lost_ns.tolist(), strict=True)),
        excess_ns=int(more_ns.sum()),
        times=float(np.median(times)),
    )


def located(slow: SlowTransfers, hosts: Mapping[int, str]) -> tuple[str, ...]:
    """Return the few hosts that (nearly) all slow transfers share, if others are fast without them.

    ``hosts``: of each rank, ``""`` where unknown.
    """
    names = sorted(set(hosts.values()))
    code = {name: at for at, name in enumerate(names)}
    ranks, place = np.unique(slow.alike.members.rank, return_inverse=True)
    host = np.array([code[hosts[rank]] for rank in ranks.tolist()])[place]
    pairs = np.unique(np.stack([slow.alike.of_row, host]), axis=1)
    n_slow_with = np.bincount(pairs[1], slow.is_slow[pairs[0]], len(names))
    common = np.flatnonzero(n_slow_with >= LOCATED_RATIO * slow.is_slow.sum())
    found = tuple(names[at] for at in common.tolist())
    if not found or len(found) > MOST_LOCATED or "" in found:
        return ()
    has_all = np.bincount(pairs[0], np.isin(pairs[1], common), slow.alike.n) == common.size
    is_mostly_slow = 2 * np.count_nonzero(has_all & slow.is_slow) >= np.count_nonzero(has_all)
    return found if is_mostly_slow and not has_all.all() else ()
