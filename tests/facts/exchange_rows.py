"""Exchanges of a rank by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.exchanges import Exchanges

NAME = "allreduce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One all-reduce of 1,000 bytes between two ranks."""

    rank: int
    start_ns: int
    end_ns: int
    group: str = "0"
    seq: int = -1
    is_alone: bool = True


def exchanges(rows: Sequence[Row]) -> Exchanges:
    """Return rows as a table; one that is alone is so all the time."""
    labels = tuple(sorted({NAME, *(row.group for row in rows)}))
    alone = [at for at, row in enumerate(rows) if row.is_alone]
    start_ns = np.array([row.start_ns for row in rows], dtype=np.int64)
    end_ns = np.array([row.end_ns for row in rows], dtype=np.int64)
    return Exchanges(
        labels=labels,
        rank=np.array([row.rank for row in rows], dtype=np.int64),
        group=np.array([labels.index(row.group) for row in rows], dtype=np.int64),
        name=np.full(len(rows), labels.index(NAME)),
        seq=np.array([row.seq for row in rows], dtype=np.int64),
        group_size=np.full(len(rows), 2),
        bytes=np.full(len(rows), 1_000),
        duration_ns=end_ns - start_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        alone_row=np.array(alone, dtype=np.int64),
        alone_start_ns=start_ns[alone],
        alone_end_ns=end_ns[alone],
    )
