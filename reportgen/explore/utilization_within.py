"""How busy the machine was inside some intervals, such as slow steps, against others.

Intervals are rows with ``start_time_us``, ``end_time_us`` and ``nodeID`` (a node or a worker of
one); a sample lies inside when it is of the same node, both ends included.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.facts.intervals import overlaps_any
from reportgen.rules.functions import stall_text

_USE = {"GPUUtilization": "GPU", "CPUUtilization": "CPU", "I/OWaitPercentage": "I/O wait"}


def samples_inside(system: pd.DataFrame, intervals: pd.DataFrame) -> pd.DataFrame:
    """Return the samples inside some intervals, for a histogram of them."""
    return system[_is_inside(system, intervals)].reset_index(drop=True)


def utilization_of_each(system: pd.DataFrame, intervals: pd.DataFrame) -> pd.DataFrame:
    """Return the intervals with the means inside each: ``GPU_pct``, ``CPU_pct``, ``I/O wait_pct``.

    NaN where no sample lies inside.
    """
    found = intervals.copy()
    for dimension, metric in _USE.items():
        chosen = system[system["dimension"] == dimension]
        means = np.full(len(intervals), np.nan)
        for node, rows in chosen.sort_values("timestamp_us").groupby("nodeID", sort=True):
            of_node = np.flatnonzero(_of_node(intervals["nodeID"], str(node)))
            time_us = rows["timestamp_us"].to_numpy()
            sums = np.concatenate([[0.0], np.cumsum(rows["value"].to_numpy())])
            first = np.searchsorted(time_us, intervals["start_time_us"].to_numpy()[of_node], "left")
            after = np.searchsorted(time_us, intervals["end_time_us"].to_numpy()[of_node], "right")
            count = after - first
            means[of_node] = (sums[after] - sums[first]) / np.where(count > 0, count, np.nan)
        found[f"{metric}_pct"] = means
    return found


def utilization_inside(system: pd.DataFrame, groups: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return mean and median of GPU, CPU and I/O wait inside the intervals of each group.

    Args:
        system: a SYSTEM frame.
        groups: name to intervals; only samples of the same node count.

    Returns:
        One row per group and metric: ``group``, ``metric``, ``samples``, ``mean_pct``,
        ``median_pct``. Short intervals may hold no sample at all: then ``samples`` is 0.
    """
    rows = []
    chosen = system[system["dimension"].isin(list(_USE))]
    for name, intervals in groups.items():
        inside = chosen[_is_inside(chosen, intervals)]
        for dimension, metric in _USE.items():
            values = inside.loc[inside["dimension"] == dimension, "value"]
            rows.append(
                {
                    "group": name,
                    "metric": metric,
                    "samples": len(values),
                    "mean_pct": float(values.mean()) if len(values) else np.nan,
                    "median_pct": float(values.median()) if len(values) else np.nan,
                }
            )
    return pd.DataFrame(rows)


def describe_stall(use: pd.DataFrame, *, slow: str, normal: str) -> str:
    """Return the sentence about a stall when CPU and GPU are both lower in slow intervals.

    ``use`` is from ``utilization_inside``; ``slow`` and ``normal`` name two of its groups. Empty
    unless both medians are lower by a margin that the sentence states.
    """
    known = use.set_index(["group", "metric"])["median_pct"].dropna().to_dict()
    pairs = {name: (known.get((slow, name)), known.get((normal, name))) for name in ("CPU", "GPU")}
    return stall_text(pairs, slow=slow, normal=normal)


def _of_node(named: pd.Series, node: str) -> NDArray[np.bool_]:
    return np.array([name == node or name.rpartition("-")[0] == node for name in named], dtype=bool)


def _is_inside(samples: pd.DataFrame, intervals: pd.DataFrame) -> NDArray[np.bool_]:
    inside = np.zeros(len(samples), dtype=bool)
    edges = ["start_time_us", "end_time_us"]
    for node, rows in samples.groupby("nodeID").indices.items():
        of_node = intervals.loc[_of_node(intervals["nodeID"], str(node)), edges]
        time_us = samples["timestamp_us"].to_numpy()[rows]
        inside[rows] = overlaps_any(time_us, time_us, *of_node.to_numpy(dtype=np.int64).T)
    return inside
