"""How busy GPUs and cores are within outlier steps, against the other steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen.arrays import Instants
from reportgen.facts.distributions import PCT_EDGES, pct_histogram
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.samples import Counts, present_values
from reportgen.profile import SeriesKind, SystemTable
from reportgen.results import ColumnType, Exhibit, Role
from reportgen.rules.functions import stall_text
from reportgen.rules.kit import histogram, merged, row, sum_by_key
from reportgen.text import plural, write

OUTLIERS, OTHERS = "outlier steps", "other steps"
_KINDS = {Role.GPU: SeriesKind.GPU_UTILIZATION, Role.CPU: SeriesKind.CPU_UTILIZATION}
_NAMED = ((Role.CPU, "CPU"), (Role.GPU, "GPU"))
_MEANING = """Where no step is an outlier, steps longer than twice the median take the place of
    outliers."""
_TENTHS = 1_001
_Group = tuple[Role, str]


@row
class UseInSteps:
    """Samples of utilization within outlier and other steps.

    Attributes:
        bins, tenths: by device and group (50,) counts in bins of 2 %, (1001,) in tenths of one.
    """

    n_outliers: int = merged(sum, default=0)
    bins: dict[_Group, Counts] = merged(sum_by_key, default_factory=dict)
    tenths: dict[_Group, Counts] = merged(sum_by_key, default_factory=dict)

    def n_samples(self, group: _Group) -> int:
        """Return how many samples lie within the steps of a group."""
        return int(self.tenths[group].sum())

    def median_pct(self, group: _Group) -> float | None:
        """Return the median of these samples to a tenth of a percent."""
        n_samples, ends = self.n_samples(group), np.cumsum(self.tenths[group])
        middle = np.searchsorted(ends, [(n_samples - 1) // 2, n_samples // 2], side="right")
        return float(middle.mean()) / 10 if n_samples else None


def use_in_steps(
    system: SystemTable, outliers_ns: Sequence[tuple[int, int]], steps_ns: tuple[Instants, Instants]
) -> UseInSteps:
    """Count a node's samples within outlier steps, ends included, and those in none.

    Args:
        system: the node's samples.
        outliers_ns: start and end of each outlier step of its workers.
        steps_ns: (n,) starts and ends of all of its steps.
    """
    edges = np.array(outliers_ns, dtype=np.int64).reshape(-1, 2).T
    ticks = (system.tick_ns, system.tick_ns)
    is_outlier = overlaps_any(*ticks, edges[0], edges[1])
    rows = {OUTLIERS: is_outlier, OTHERS: overlaps_any(*ticks, *steps_ns) & ~is_outlier}
    bins: dict[_Group, Counts] = {}
    tenths: dict[_Group, Counts] = {}
    for role, kind in _KINDS.items() if outliers_ns else ():
        for column in system.each(kind):
            for name, inside in rows.items():
                values = present_values(column[inside])
                tenth = np.rint(10 * np.clip(values, 0, 100)).astype(np.int64)
                counts = np.bincount(tenth, minlength=_TENTHS)
                tenths[role, name] = tenths.get((role, name), 0) + counts
                bins[role, name] = bins.get((role, name), 0) + pct_histogram(values)
    return UseInSteps(n_outliers=len(outliers_ns), bins=bins, tenths=tenths)


def exhibits_of_use(use: UseInSteps) -> Iterator[Exhibit]:
    """Yield a histogram of GPUs and one of cores; nothing without outlier steps or samples."""
    medians = {group: use.median_pct(group) for group in use.tenths}
    pairs = {
        name: (medians.get((device, OUTLIERS)), medians.get((device, OTHERS)))
        for device, name in _NAMED
    }
    stall = stall_text(pairs, slow=OUTLIERS, normal=OTHERS)
    for role, what in ((Role.GPU, "GPU"), (Role.CPU, "CPU core")):
        if (role, OUTLIERS) not in use.tenths:
            continue
        sentences = [
            _of_group(use, (role, name), medians[role, name]) for name in (OUTLIERS, OTHERS)
        ]
        yield histogram(
            f"{role}_in_slow_steps",
            PCT_EDGES,
            [(name, use.bins[role, name].tolist()) for name in (OUTLIERS, OTHERS)],
            unit="%",
            edge_type=ColumnType.INT,
            title=f"{what} samples within outlier steps and within the others",
            caption=" ".join(filter(None, (f"{sentences[0]}; {sentences[1]}.", _MEANING, stall))),
            role=role,
        )


def _of_group(use: UseInSteps, group: _Group, median_pct: float | None) -> str:
    _, name = group
    what = plural(use.n_outliers, "outlier step") if name == OUTLIERS else name
    if median_pct is None:
        return f"No sample lies within {what}"
    n_samples = plural(use.n_samples(group), "sample")
    return write("{n} within {what}, median {pct:pct}", n=n_samples, what=what, pct=median_pct)
