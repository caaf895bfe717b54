"""How much the bottlenecks of a job matter: when they happened and how wide they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.rules.bottlenecks.ticks import Bottlenecks, NodeBottlenecks

NARROW_RATIO = 0.1
"""Fewer hot cores than a tenth of the host are no bottleneck of the CPU. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How much the bottlenecks of a job matter.

    Attributes:
        share: of the ticks of nodes with GPUs, 0-1; a GPU idled in them that the job uses at other
            times.
        loop_share: of their ticks in the training loop, ``None`` when it is unknown.
        hot_ratio: median share of hot cores over the bottlenecks.
    """

    share: float
    loop_share: float | None
    hot_ratio: float

    @property
    def relevant(self) -> float:
        """Return the share that training could win."""
        return self.share if self.loop_share is None else self.loop_share

    @property
    def is_narrow(self) -> bool:
        """Return whether only a few cores of many were hot."""
        return self.hot_ratio < NARROW_RATIO


def weigh(nodes: Sequence[NodeBottlenecks]) -> Weight | None:
    """Return how much the bottlenecks matter, ``None`` without any."""
    nodes = [node for node in nodes if node.n_gpus]
    n_ticks = sum(node.n_ticks for node in nodes)
    hot = [node.n_cores_hot / max(node.n_cores, 1) for node in nodes if node.n_bottlenecks]
    if not hot:
        return None
    loops = [node.loop for node in nodes if node.loop]
    in_loop = sum(loop.ticks[1] for loop in loops)
    return Weight(
        share=sum(node.n_felt for node in nodes) / n_ticks,
        loop_share=sum(loop.bottlenecks[1] for loop in loops) / in_loop if in_loop else None,
        hot_ratio=float(np.median(np.concatenate(hot))),
    )


def bottleneck_metrics(job: Bottlenecks) -> dict[str, float | int | None]:
    """Return the numbers that comparisons read; none without GPUs."""
    weight = weigh(job.nodes)
    if not job.counters.datapoints or not any(node.n_gpus for node in job.nodes):
        return {}
    has_loop = any(node.loop for node in job.nodes)
    loop_share = weight.loop_share if weight else 0.0 if has_loop else None
    return {
        "bottleneck_ratio": round(weight.share, 6) if weight else 0.0,
        "bottleneck_loop_ratio": None if loop_share is None else round(loop_share, 6),
        "bottleneck_peak_ratio": round(job.peak_pct / 100, 6),
        "hot_core_median_ratio": round(weight.hot_ratio, 6) if weight else None,
        "low_gpu_ticks": sum(node.n_low_ticks for node in job.nodes),
    }
