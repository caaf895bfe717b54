"""What the machine did in slow batches against the others: use of devices, functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.inside import FunctionSums, function_sums
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.parts import merge
from reportgen.facts.samples import totals_over
from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.functions import compared_functions

KINDS = {
    "gpu_pct": SeriesKind.GPU_UTILIZATION,
    "cpu_pct": SeriesKind.CPU_UTILIZATION,
    "io_wait_pct": SeriesKind.IO_WAIT,
}
USE, FUNCTIONS = "batch_use", "batch_functions"

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Samples of each of ``KINDS`` in some stretches: (n, 3) sums and counts; additive."""

    sums: Floats
    counts: Integers

    def means(self) -> list[list[float | None]]:
        """Return the mean of each kind for each stretch, ``None`` where no sample lies in it."""
        return [
            [float(total) / count if count else None for total, count in zip(*row, strict=True)]
            for row in zip(self.sums, self.counts.tolist(), strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchContents:
    """What was in the batches of one training process.

    Attributes:
        use: of slow batches, and of the others; two rows.
        functions, other_functions: what overlaps either.
    """

    use: Use
    functions: FunctionSums
    other_functions: FunctionSums


def use_between(system: SystemTable, start_ns: Integers, end_ns: Integers) -> Use:
    """Return the samples of a node from each start to before each end."""
    first, after = (np.searchsorted(system.tick_ns, times) for times in (start_ns, end_ns))
    sums, counts = [], []
    for kind in KINDS.values():
        totals, counts_there = totals_over(system.matrix(kind))
        total = np.append(0.0, np.cumsum(totals))
        count = np.append(0, np.cumsum(counts_there))
        sums.append(total[after] - total[first])
        counts.append(count[after] - count[first])
    return Use(sums=np.column_stack(sums), counts=np.column_stack(counts))


def contents_of(
    spans: SpanTable, system: SystemTable, start_ns: Integers, end_ns: Integers, is_slow: Mask
) -> BatchContents | None:
    """Return what was in slow and other batches, ``None`` without a slow one.

    Args:
        spans: events of the process and its loaders.
        system: samples of its node.
        start_ns, end_ns, is_slow: (n,) the batches.
    """
    if not is_slow.any():
        return None
    sides = (is_slow, ~is_slow)
    use = use_between(system, start_ns, end_ns)
    functions = [
        function_sums(spans, overlaps_any(spans.start_ns, spans.end_ns, start_ns[of], end_ns[of]))
        for of in sides
    ]
    return BatchContents(
        use=Use(
            sums=np.array([use.sums[of].sum(axis=0) for of in sides]),
            counts=np.array([use.counts[of].sum(axis=0) for of in sides]),
        ),
        functions=functions[0],
        other_functions=functions[1],
    )


def content_exhibits(contents: Sequence[BatchContents]) -> tuple[Exhibit, ...]:
    """Return the use of devices and the functions in slow and other batches, of all processes."""
    if not contents:
        return ()
    use = Use(
        sums=np.sum([item.use.sums for item in contents], axis=0),
        counts=np.sum([item.use.counts for item in contents], axis=0),
    )
    means = use.means()
    return (
        exhibit(
            USE,
            ExhibitKind.TABLE,
            title="Use of devices in slow batches and in the others",
            caption="Means over all devices of the node; short batches may hold no sample.",
            columns=[
                ("batches", "", ["slow", "others"]),
                *((name, "%", [row[at] for row in means]) for at, name in enumerate(KINDS)),
                ("samples", "", use.counts.sum(axis=1).tolist()),
            ],
        ),
        *compared_functions(
            FUNCTIONS,
            merge([item.functions for item in contents]),
            merge([item.other_functions for item in contents]),
            title="Functions in slow batches and in the others",
            caption=(
                "Other columns: batches that are not slow. Each event counts once on a side, with "
                "its full length; largest increase of the share first."
            ),
        ),
    )
