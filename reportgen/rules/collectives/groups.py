"""Process groups: which parallelism they serve, by their names, ranks and collectives."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from reportgen.facts.exchanges import Exchange, Meeting
from reportgen.results import Exhibit
from reportgen.rules import kit
from reportgen.rules.kit import col
from reportgen.text import join_names
from reportgen.units import NS_PER_US

CAPTION = """The kind of parallelism is taken from the name of the group. If the name does not say
    it, it is guessed from the collectives (send and receive: pipeline; all-to-all: expert), then
    from the ranks (neighbours: tensor parallel; others: data parallel). time_us is added up over
    all ranks; wait_us is the waiting in it."""
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

    parallelism: str = col()
    known_by: str = col()
    groups: int = col()
    group_size: int = col()
    first_ranks: str = col()
    collectives: str = col()
    time_ns: int = col("us", name="time_us", per=NS_PER_US)
    wait_ns: int = col("us", name="wait_us", per=NS_PER_US)


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


def tables_of(meetings: Sequence[Meeting]) -> Iterator[Exhibit]:
    """Yield the process groups by parallelism, most time first, where groups are known."""
    members: dict[str, list[tuple[Exchange, int]]] = defaultdict(list)
    for meeting in meetings:
        for item in meeting.members:
            if item.group:
                members[item.group].append((item, meeting.last_ns - item.start_ns))
    n_ranks = len({item.rank for found in members.values() for item, _ in found})
    alike: dict[tuple[str, str, int, str], list[tuple[int, int]]] = defaultdict(list)
    first: dict[tuple[str, str, int, str], str] = {}
    for group, found in sorted(members.items(), key=lambda of: of[1][0][0].rank):
        ranks = sorted({item.rank for item, _ in found})
        names = sorted({item.name for item, _ in found})
        is_whole, name = len(ranks) == n_ranks, group.partition("[")[0]
        kind, known_by = parallelism_of(name, ranks, names, is_whole=is_whole)
        key = (kind, known_by, max(found[0][0].group_size, len(ranks)), join_names(names, most=4))
        first.setdefault(key, join_names([str(rank) for rank in ranks], most=8))
        time_ns = sum(item.duration_ns for item, _ in found)
        alike[key].append((time_ns, sum(wait_ns for _, wait_ns in found)))
    rows = [
        Group(
            parallelism=key[0],
            known_by=key[1],
            groups=len(sums),
            group_size=key[2],
            first_ranks=first[key],
            collectives=key[3],
            time_ns=sum(time_ns for time_ns, _ in sums),
            wait_ns=sum(wait_ns for _, wait_ns in sums),
        )
        for key, sums in alike.items()
    ]
    rows.sort(key=lambda item: -item.time_ns)
    title = "Process groups by parallelism"
    if rows:
        yield kit.table("groups", rows, Group, title=title, caption=CAPTION)
