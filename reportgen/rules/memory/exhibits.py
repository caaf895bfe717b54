"""Evidence of GPU memory activity: a table of GPUs, a table of jumps, levels over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen.results import MAX_SERIES_POINTS, Exhibit, ExhibitKind, exhibit
from reportgen.rules.memory.episodes import Episode
from reportgen.rules.memory.growth import MemoryGrowth
from reportgen.rules.saying.intervals import MOST_INTERVALS, Interval, intervals_exhibit
from reportgen.rules.saying.wording import label
from reportgen.units import NS_PER_S, seconds

CAUTION = "The metric is memory-controller activity, not allocated bytes."
MAX_LINES = 16
MAX_ROWS = 500


def all_episodes(gpus: Sequence[MemoryGrowth]) -> Iterator[tuple[MemoryGrowth, Episode]]:
    """Return each kept episode with its GPU."""
    return ((gpu, episode) for gpu in gpus for episode in gpu.episodes)


def _importance(pair: tuple[MemoryGrowth, Episode]) -> tuple[bool, float]:
    """Sort lasting episodes first, then the largest."""
    return not pair[1].is_lasting, -pair[1].largest_increase_pct


def memory_table(gpus: Sequence[MemoryGrowth]) -> Exhibit:
    """Return one row per GPU: how high, how many jumps, which trend."""
    return exhibit(
        "memory",
        ExhibitKind.TABLE,
        title="Memory activity of each GPU",
        caption=(
            f"{CAUTION} Trend: median slope of the 95th percentiles of the minutes at work "
            "(Theil-Sen) and Kendall's tau."
        ),
        columns=[
            ("node", "", [gpu.node for gpu in gpus]),
            ("gpu", "", [gpu.gpu for gpu in gpus]),
            ("p50_pct", "%", [round(gpu.box.p50, 2) for gpu in gpus]),
            ("p95_pct", "%", [round(gpu.box.p95, 2) for gpu in gpus]),
            ("max_pct", "%", [round(gpu.max_pct, 2) for gpu in gpus]),
            ("triggers", "", [gpu.n_violations for gpu in gpus]),
            ("episodes", "", [gpu.n_episodes for gpu in gpus]),
            (
                "lasting_episodes",
                "",
                [gpu.n_lasting for gpu in gpus],
            ),
            (
                "trend_per_min_pct",
                "points/min",
                [round(gpu.trend.slope, 4) if gpu.trend else None for gpu in gpus],
            ),
            (
                "trend_rise_pct",
                "points",
                [round(gpu.trend.rise, 2) if gpu.trend else None for gpu in gpus],
            ),
            (
                "trend_tau",
                "",
                [round(gpu.trend.agreement, 2) if gpu.trend else None for gpu in gpus],
            ),
            ("samples", "", [gpu.n_samples for gpu in gpus]),
        ],
    )


def episode_table(gpus: Sequence[MemoryGrowth]) -> Iterator[Exhibit]:
    """Return the table of jumps, nothing without any."""
    rows = sorted(all_episodes(gpus), key=_importance)[:MAX_ROWS]
    if not rows:
        return
    rows.sort(key=lambda pair: pair[1].start_ns)
    episodes = [episode for _, episode in rows]
    n_all = sum(gpu.n_episodes for gpu in gpus)
    rest = f" {len(rows):,} of {n_all:,}: the lasting and the largest." if len(rows) < n_all else ""
    yield exhibit(
        "episodes",
        ExhibitKind.TABLE,
        title="Jumps of GPU memory activity",
        caption=(
            "Before: 95th percentile of the minute before; record: highest such minute of all; "
            "after: median of the minute after. Lasting: after exceeds the record by more than "
            f"the threshold without a rise of GPU utilization.{rest}"
        ),
        columns=[
            ("node", "", [gpu.node for gpu, _ in rows]),
            ("gpu", "", [gpu.gpu for gpu, _ in rows]),
            ("start_s", "s", [seconds(item.start_ns) for item in episodes]),
            ("end_s", "s", [seconds(item.end_ns) for item in episodes]),
            ("triggers", "", [item.n_violations for item in episodes]),
            ("increase_pct", "points", [round(item.largest_increase_pct, 2) for item in episodes]),
            ("before_pct", "%", [round(item.level_before_pct, 2) for item in episodes]),
            ("record_pct", "%", [round(item.record_before_pct, 2) for item in episodes]),
            ("after_pct", "%", [_rounded(item.level_after_pct) for item in episodes]),
            ("gpu_change_pct", "points", [_rounded(item.use_change_pct) for item in episodes]),
            ("is_lasting", "", [item.is_lasting for item in episodes]),
        ],
    )


def episode_intervals(gpus: Sequence[MemoryGrowth]) -> Iterator[Exhibit]:
    """Return when the lasting and the largest jumps were, nothing without any."""
    ranked = sorted(all_episodes(gpus), key=_importance)[:MOST_INTERVALS]
    if not ranked:
        return
    n_all = sum(gpu.n_episodes for gpu in gpus)
    rest = f" The {len(ranked):,} lasting and largest of {n_all:,}." if len(ranked) < n_all else ""
    yield intervals_exhibit(
        [
            Interval(
                node=gpu.node,
                device=gpu.gpu,
                what=(
                    f"{'lasting ' if item.is_lasting else ''}jump by "
                    f"{item.largest_increase_pct:.1f} points"
                ),
                start_s=seconds(item.start_ns),
                end_s=seconds(item.end_ns),
            )
            for gpu, item in ranked
        ],
        title="When GPU memory activity jumped",
        caption=f"From the first to the last sample that exceeds the increase.{rest}",
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def level_series(gpus: Sequence[MemoryGrowth]) -> Exhibit:
    """Return the level of each minute; of many GPUs those that rose most."""
    rises = [gpu.trend.rise if gpu.trend else 0.0 for gpu in gpus]
    ranked = sorted(range(len(gpus)), key=lambda index: -rises[index])
    shown = [gpus[index] for index in sorted(ranked[:MAX_LINES])]
    every = np.unique(np.concatenate([gpu.minute_ns for gpu in shown]))
    size = -(-every.size // MAX_SERIES_POINTS)
    starts = np.arange(0, every.size, size)
    n_nodes = len({gpu.node for gpu in gpus})
    lines = []
    for gpu in shown:
        level = np.full(every.size, -np.inf)
        level[np.searchsorted(every, gpu.minute_ns)] = gpu.level_pct
        highest = np.maximum.reduceat(level, starts)
        lines.append((label(gpu.node, gpu.gpu, n_nodes=n_nodes), "%", np.round(highest, 2)))
    is_cut = len(shown) < len(gpus)
    rest = f" {len(shown)} of {len(gpus)} GPUs, those that rose most." if is_cut else ""
    thinned = f" The highest of each {size} minutes of {every.size:,}." if size > 1 else ""
    return exhibit(
        "levels",
        ExhibitKind.SERIES,
        title="Level of GPU memory activity, minute by minute",
        caption=f"95th percentile of the samples of each minute.{thinned}{rest}",
        columns=[("time_s", "s", every[starts] / NS_PER_S), *lines],
    )
