"""Communication operations of a rank, or of all ranks, as one table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reportgen.arrays import Integers, Mask
from reportgen.facts.device_busy import communication_rows, headline, unions_of, windows_of
from reportgen.facts.intervals import gaps_of, union_of
from reportgen.merging import rows_between, sums_by_code
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from reportgen.units import NS_PER_US

SHORT_REST_NS = 10 * NS_PER_US
"""A shorter rest between two kernels does not expose what runs beside them."""
_BYTES = {
    name: size
    for size, names in {
        1: "bool byte char int8 uint8",
        2: "short int16 half float16 bfloat16",
        4: "int int32 float float32",
        8: "long int64 double float64",
    }.items()
    for name in names.split()
}
"""Bytes of an element by the names that PyTorch writes, lower case."""
_MOST_ELEMENTS = 1 << 40
"""No GPU holds as many: a larger number is damage, and its bytes are unknown."""
SEND = re.compile(r"^i?(?:send|recv)$")
"""Names of exchanges between two ranks. Source: PyTorch's ProcessGroupNCCL."""
MAYBE_SEND = re.compile("send|recv", re.IGNORECASE)
"""The same, and kernels that may be of an all-to-all, too: ncclDevKernel_SendRecv."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """Communication operations, (n,) each: those of a rank in order, then those of the next rank.

    Attributes:
        labels: texts, ascending, so that their codes compare as they do.
        group: code of the process group and its ranks, of ``""`` where unknown.
        name: code of the name of the collective where it was recorded, else of the kernel.
        seq: number in the group, ``NONE`` where unknown.
        group_size: ranks in the group; ``bytes``: larger of input and output; ``NONE`` where
            unknown.
        start_ns, end_ns: UTC.
        alone_row: (n_parts,) ascending, the operation of each part of the time with nothing
            computed beside it; ``alone_start_ns`` and ``alone_end_ns``: that part, UTC.
    """

    labels: tuple[str, ...]
    rank: Integers
    group: Integers
    name: Integers
    seq: Integers
    group_size: Integers
    bytes: Integers
    duration_ns: Integers
    start_ns: Integers
    end_ns: Integers
    alone_row: Integers
    alone_start_ns: Integers
    alone_end_ns: Integers

    @property
    def n(self) -> int:
        """Return how many there are."""
        return self.rank.size

    def texts(self, codes: Integers) -> list[str]:
        """Return the labels of some codes."""
        return [self.labels[code] for code in codes.tolist()]

    def alone_between_ns(self, low_ns: Integers, high_ns: Integers) -> Integers:
        """Return (n,) how long each was alone between two moments, (n,) each."""
        row = self.alone_row
        begin_ns = np.maximum(self.alone_start_ns, low_ns[row])
        parts_ns = np.minimum(self.alone_end_ns, high_ns[row]) - begin_ns
        return sums_by_code(row, parts_ns.clip(min=0), self.n)

    def take(self, rows: Integers) -> Exchanges:
        """Return some rows, in the order given."""
        first, after = np.searchsorted(self.alone_row, (rows, rows + 1))
        alone_row, parts = rows_between(first, after)
        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in _COLUMNS},
            alone_row=alone_row,
            alone_start_ns=self.alone_start_ns[parts],
            alone_end_ns=self.alone_end_ns[parts],
        )

    def moved(self, ahead_ns: Integers) -> Exchanges:
        """Return them on clocks that show less, each by (n,) ``ahead_ns``."""
        return replace(
            self,
            start_ns=self.start_ns - ahead_ns,
            end_ns=self.end_ns - ahead_ns,
            alone_start_ns=self.alone_start_ns - ahead_ns[self.alone_row],
            alone_end_ns=self.alone_end_ns - ahead_ns[self.alone_row],
        )


_COLUMNS = (
    *("rank", "group", "name", "seq", "group_size", "bytes"),
    *("duration_ns", "start_ns", "end_ns"),
)


def joined(ranks: Sequence[Exchanges]) -> Exchanges:
    """Return the exchanges of at least one rank as one table."""
    labels = tuple(sorted({label for one in ranks for label in one.labels}))
    place = {label: at for at, label in enumerate(labels)}
    codes = [np.array([place[label] for label in one.labels], dtype=np.int64) for one in ranks]
    before = np.cumsum([0, *(one.n for one in ranks)])
    found: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in ranks])
        for name in (*_COLUMNS, "alone_start_ns", "alone_end_ns")
    }
    for name in ("group", "name"):
        coded = [of[getattr(one, name)] for of, one in zip(codes, ranks, strict=True)]
        found[name] = np.concatenate(coded)
    alone = [one.alone_row + n for one, n in zip(ranks, before.tolist(), strict=False)]
    return Exchanges(labels=labels, alone_row=np.concatenate(alone), **found)


def alone_in_ns(every: Exchanges, pattern: re.Pattern[str]) -> int:
    """Return how long exchanges of some names ran with nothing computed beside them, added up."""
    is_meant = _is_named(every, pattern)[every.alone_row]
    return int((every.alone_end_ns - every.alone_start_ns)[is_meant].sum())


def without_sends(every: Exchanges, pattern: re.Pattern[str]) -> Exchanges:
    """Return the other exchanges."""
    return every.take(np.flatnonzero(~_is_named(every, pattern)))


def _is_named(every: Exchanges, pattern: re.Pattern[str]) -> Mask:
    codes = [code for code, label in enumerate(every.labels) if pattern.search(label)]
    return np.isin(every.name, codes)


@fact
def exchanges_of(trace: RankTrace, more_names: str | None) -> Exchanges:
    """Return the communication operations of a rank in order; ``more_names`` finds more."""
    ops, args, texts = trace.gpu_ops, trace.collectives, (*trace.labels, "")
    rows = np.flatnonzero(communication_rows(trace, more_names))
    labels = (args.name, args.dtype, args.group, args.group_ranks)
    numbers = (args.seq, args.group_size, args.in_elements, args.out_elements)
    # ``NONE`` is the last of a vocabulary and of a table, as in Python's counting from the end.
    said = np.pad(np.array([*labels, *numbers]), ((0, 0), (0, 1)), constant_values=NONE)
    name, dtype, group, ranks, seq, group_size, *elements = said[:, ops.collective[rows]]
    names = list(zip(name.tolist(), ops.name[rows].tolist(), strict=True))
    groups = list(zip(group.tolist(), ranks.tolist(), strict=True))
    name_of = {pair: texts[pair[0]] or trace.names[pair[1]] for pair in set(names)}
    group_of = {pair: f"{texts[pair[0]]} {texts[pair[1]]}".strip() for pair in set(groups)}
    every = sorted({*name_of.values(), *group_of.values()})
    code = {text: at for at, text in enumerate(every)}
    size_of = {at: _bytes_of(texts[at]) for at in set(dtype.tolist())}
    size, largest = _whole([size_of[at] for at in dtype.tolist()]), np.maximum(*elements)
    is_known = (largest >= 0) & (largest < _MOST_ELEMENTS) & (size > 0)
    alone_row, alone_start_ns, alone_end_ns = _alone(trace, rows, more_names)
    return Exchanges(
        labels=tuple(every),
        rank=np.full(rows.size, trace.rank),
        group=_whole([code[group_of[pair]] for pair in groups]),
        name=_whole([code[name_of[pair]] for pair in names]),
        seq=seq,
        group_size=group_size,
        bytes=np.where(is_known, largest * size, NONE),
        duration_ns=ops.duration_ns[rows],
        start_ns=trace.origin_ns + ops.start_ns[rows],
        end_ns=trace.origin_ns + ops.end_ns[rows],
        alone_row=alone_row,
        alone_start_ns=trace.origin_ns + alone_start_ns,
        alone_end_ns=trace.origin_ns + alone_end_ns,
    )


def _whole(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def _bytes_of(dtype: str) -> int:
    text = dtype.lower().removeprefix("c10::")
    return 1 if text.startswith("float8") else _BYTES.get(text, 0)


def _alone(trace: RankTrace, rows: Integers, more_names: str | None) -> Integers:
    """Return when each operation ran with nothing computed and no earlier exchange beside it.

    Returns:
        (3, n_parts): place among the rows, ascending, begin and end, of the clock of the trace.
    """
    ops, found = trace.gpu_ops, [np.empty((3, 0), dtype=np.int64)]
    for item in unions_of(trace, more_names):
        places = np.flatnonzero(ops.device[rows] == item.device)
        if not places.size:
            continue
        window, on_device = headline(windows_of(trace)), rows[places]
        high_ns = np.minimum(ops.end_ns[on_device], window.end_ns)
        reach_ns = np.maximum.accumulate(np.append(window.start_ns, high_ns))
        low_ns = np.maximum(ops.start_ns[on_device], reach_ns[:-1])
        # Short rests count as work.
        work = union_of(item.compute.start_ns, item.compute.end_ns + SHORT_REST_NS)
        free = gaps_of(work, window.start_ns, int(reach_ns[-1]))
        first = np.searchsorted(free.end_ns, low_ns, side="right")
        after = np.where(low_ns < high_ns, np.searchsorted(free.start_ns, high_ns), first)
        at, gap = rows_between(first, after)
        begin_ns = np.maximum(free.start_ns[gap], low_ns[at])
        found.append(np.stack([places[at], begin_ns, np.minimum(free.end_ns[gap], high_ns[at])]))
    parts = np.concatenate(found, axis=1)
    return parts[:, np.argsort(parts[0], kind="stable")]
