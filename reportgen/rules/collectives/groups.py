"""Process groups: which parallelism they serve, by their names, ranks and collectives."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts.exchanges import SEND, Exchanges, sends_of
from reportgen.facts.meetings import Meetings
from reportgen.merging import rows_by_code
from reportgen.results import Exhibit
from reportgen.rules import kit
from reportgen.text import join_names
from reportgen.units import NS_PER_US

CAPTION = """The kind of parallelism is taken from the name of the group. If the name does not say
    it, it is guessed from the collectives (send and receive: pipeline; all-to-all: expert), then
    from the ranks (neighbours: tensor parallel; others: data parallel). time_us is added up over
    all ranks; wait_us is the waiting in it, which is not known of sends and receives."""
_WORDS = {
    "data": re.compile(r"\b(?:dp|ddp|fsdp|hsdp)\b|data|shard|replicate"),
    "tensor": re.compile(r"\b(?:tp|mp)\b|tensor"),
    "pipeline": re.compile(r"\bpp\b|pipe"),
    "expert": re.compile(r"\bep\b|expert|moe"),
    "context": re.compile(r"\b(?:cp|sp)\b|context|sequence"),
}
_SEPARATOR = re.compile(r"[^a-z]+")


@kit.row
class Group:
    """The process groups of one parallelism, size and set of collectives."""

    parallelism: str = kit.col()
    known_by: str = kit.col()
    groups: int = kit.col()
    group_size: int = kit.col()
    first_ranks: str = kit.col()
    collectives: str = kit.col()
    time_ns: int = kit.col("us", name="time_us", per=NS_PER_US)
    wait_ns: int | None = kit.col("us", name="wait_us", per=NS_PER_US)


def parallelism_of(
    name: str, ranks: Sequence[int], collectives: Sequence[str], *, is_whole: bool = False
) -> tuple[str, str]:
    """Return the parallelism of a process group, and how it is known.

    Example:
        >>> parallelism_of("3 mesh_tp", [0, 1], ["allreduce"])
        ('tensor', 'name')
        >>> parallelism_of("7", [0, 8, 16], ["allreduce"])
        ('data', 'ranks')
    """
    words = _SEPARATOR.sub(" ", name.lower())
    bare = [_SEPARATOR.sub("", item.lower()) for item in collectives]
    for kind, pattern in _WORDS.items():
        if pattern.search(words):
            return kind, "name"
    if all("send" in item or "recv" in item for item in bare):
        return "pipeline", "collectives"
    if any("alltoall" in item for item in bare):
        return "expert", "collectives"
    are_neighbours = ranks[-1] - ranks[0] == len(ranks) - 1 and not is_whole
    reduces = any("allreduce" in item for item in bare)
    return "tensor" if are_neighbours and reduces else "data", "ranks"


def tables_of(every: Exchanges, meetings: Meetings) -> Iterator[Exhibit]:
    """Yield the process groups by parallelism, most time first, where groups are known.

    How much of its sends and receives a rank waits is not known.
    """
    table = [
        *_groups(meetings.members, meetings.wait_ns),
        *_groups(sends_of(every, SEND), None),
    ]
    table.sort(key=lambda item: -item.time_ns)
    title = "Process groups by parallelism"
    if table:
        yield kit.table("groups", table, Group, title=title, caption=CAPTION)


def _groups(members: Exchanges, waits_ns: Integers | None) -> Iterator[Group]:
    found = [of for of in rows_by_code(members.group) if members.labels[of[0]]]
    found.sort(key=lambda of: (members.rank[of[1][0]], of[1][0]))
    n_ranks = len({rank for _, rows in found for rank in members.rank[rows].tolist()})
    alike: dict[tuple[str, str, int, str], list[Integers]] = defaultdict(list)
    first: dict[tuple[str, str, int, str], str] = {}
    for code, rows in found:
        ranks = sorted(set(members.rank[rows].tolist()))
        names = members.texts(np.unique(members.name[rows]))
        is_whole, name = len(ranks) == n_ranks, members.labels[code].partition("[")[0]
        kind, known_by = parallelism_of(name, ranks, names, is_whole=is_whole)
        size = max(int(members.group_size[rows[0]]), len(ranks))
        key = (kind, known_by, size, join_names(names, most=4))
        first.setdefault(key, join_names([str(rank) for rank in ranks], most=8))
        alike[key].append(rows)
    for key, parts in alike.items():
        every = np.concatenate(parts)
        yield Group(
            parallelism=key[0],
            known_by=key[1],
            groups=len(parts),
            group_size=key[2],
            first_ranks=first[key],
            collectives=key[3],
            time_ns=int(members.duration_ns[every].sum()),
            wait_ns=None if waits_ns is None else int(waits_ns[every].sum()),
        )
