"""Evidence of workload balance: shares of work, distances of pairs, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.distributions import BIN_PCT, N_BINS
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.gpu.share import GpuLoad, NodeLoad, PairDistance
from reportgen.rules.saying.wording import label

MAX_GROUPS = 16
"""More histograms than this cannot be told apart; then only the most uneven nodes'. Ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnevenPair:
    """A pair above the threshold and the node it lives on."""

    load: NodeLoad
    pair: PairDistance

    @property
    def is_of_used(self) -> bool:
        """Return whether the job uses both throughout."""
        names = {gpu.gpu for gpu in self.load.used}
        return {self.pair.gpu, self.pair.other_gpu} <= names

    @property
    def means_pct(self) -> tuple[float, float]:
        """Return the mean utilization of both."""
        by_name = {gpu.gpu: gpu.mean_pct for gpu in self.load.gpus}
        return by_name[self.pair.gpu], by_name[self.pair.other_gpu]

    @property
    def gap_pct(self) -> float:
        """Return how far the means lie apart."""
        one, other = self.means_pct
        return abs(one - other)


def shares_pct(gpus: Sequence[GpuLoad]) -> list[float]:
    """Return the share of each GPU in the work of its node, 0-100."""
    total = sum(gpu.mean_pct for gpu in gpus)
    return [100 * gpu.mean_pct / total if total else 0.0 for gpu in gpus]


def work_table(loads: Sequence[NodeLoad]) -> Exhibit:
    """Return what each GPU did, and its share on its node."""
    rows = [
        (load.node, gpu, share)
        for load in loads
        for gpu, share in zip(load.gpus, shares_pct(load.gpus), strict=True)
    ]
    return exhibit(
        "work",
        ExhibitKind.TABLE,
        title="Share of the work of each GPU on its node",
        caption="Mean utilization over the whole job, and its share of the node's sum.",
        columns=[
            ("node", "", [node for node, _, _ in rows]),
            ("gpu", "", [gpu.gpu for _, gpu, _ in rows]),
            ("mean_pct", "%", [round(gpu.mean_pct, 2) for _, gpu, _ in rows]),
            ("share_pct", "%", [round(share, 2) for *_, share in rows]),
            ("samples", "", [gpu.n_samples for _, gpu, _ in rows]),
        ],
    )


def distance_table(loads: Sequence[NodeLoad], threshold: float) -> Exhibit:
    """Return the distance of every pair, the largest first."""
    rows = [UnevenPair(load=load, pair=pair) for load in loads for pair in load.pairs]
    rows.sort(key=lambda item: -item.pair.distance)
    return exhibit(
        "distances",
        ExhibitKind.TABLE,
        title="Distance of the utilization histograms of each pair of GPUs",
        caption=(
            f"Jensen-Shannon distance over the whole job, 0 (equal) to 0.83; uneven above "
            f"{threshold:g}."
        ),
        columns=[
            ("node", "", [item.load.node for item in rows]),
            ("gpu", "", [item.pair.gpu for item in rows]),
            ("other_gpu", "", [item.pair.other_gpu for item in rows]),
            ("distance", "", [round(item.pair.distance, 6) for item in rows]),
            (
                "last_uneven_distance",
                "",
                [
                    round(item.pair.violating_distance, 6) if item.pair.n_uneven_minutes else None
                    for item in rows
                ],
            ),
            ("mean_gap_pct", "points", [round(item.gap_pct, 2) for item in rows]),
            ("uneven_minutes", "", [item.pair.n_uneven_minutes for item in rows]),
            ("judged_minutes", "", [item.pair.n_judged_minutes for item in rows]),
        ],
    )


def load_histogram(loads: Sequence[NodeLoad]) -> Exhibit:
    """Return a histogram per GPU; of many nodes only the most uneven."""
    nodes = sorted(
        (load for load in loads if load.gpus),
        key=lambda load: -max((pair.distance for pair in load.pairs), default=0.0),
    )
    shown: list[tuple[NodeLoad, GpuLoad]] = []
    for load in nodes:
        if not shown or len(shown) + len(load.gpus) <= MAX_GROUPS:
            shown += [(load, gpu) for gpu in load.gpus]
    n_gpus = sum(len(load.gpus) for load in loads)
    rest = f" {len(shown)} of {n_gpus} GPUs, the most uneven nodes." if len(shown) < n_gpus else ""
    return bins_exhibit(
        [
            (label(load.node, gpu.gpu, n_nodes=len(loads)), gpu.counts.tolist())
            for load, gpu in shown
        ],
        caption=f"All samples of the job; the last bin holds 98 to 100 %.{rest}",
        n_bins=N_BINS,
    )


def bins_exhibit(
    groups: Sequence[tuple[str, Sequence[object]]], *, caption: str, n_bins: int
) -> Exhibit:
    """Return the ``workloads`` histogram from (name, counts)."""
    starts = list(range(0, n_bins * BIN_PCT, BIN_PCT))
    return exhibit(
        "workloads",
        ExhibitKind.HISTOGRAM,
        title="Samples by GPU utilization",
        caption=caption,
        columns=[
            ("bin_start", "%", starts),
            ("bin_end", "%", [start + BIN_PCT for start in starts]),
            *((name, "", counts) for name, counts in groups),
        ],
    )
