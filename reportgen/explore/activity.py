"""What ran on a node at some rows of frames: instants, or intervals such as slow steps.

Rows that are instants have ``timestamp_us`` and ``nodeID``; rows that are intervals have
``start_time_us``, ``end_time_us`` and ``nodeID`` (a node or a worker of one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reportgen.explore.causes import (
    Moments,
    at_moments,
    cause_of,
    functions_at,
    in_intervals,
    merge_functions,
    phases_at,
)
from reportgen.explore.selection import Instant, instant_ns
from reportgen.profile import SpanTable
from reportgen.units import NS_PER_US

if TYPE_CHECKING:
    import pandas as pd

    from reportgen.explore.job import Job


def functions_at_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the functions that ran on the same node at some instants; see ``functions_at``."""
    return _of_rows(job, rows, _instants, functions_at)


def phases_at_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the step phases that ran on the same node at some instants; see ``functions_at``."""
    return _of_rows(job, rows, _instants, phases_at)


def functions_in_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the functions of the same node that overlap some intervals; see ``functions_at``."""
    return _of_rows(job, rows, _intervals, functions_at)


def functions_between(job: Job, since: Instant, until: Instant) -> pd.DataFrame:
    """Return the functions that overlap a range of time on all nodes; see ``functions_at``."""
    edges = in_intervals(*(np.array([_held(instant_ns(end))]) for end in (since, until)))
    return merge_functions([functions_at(spans, edges) for spans in job.spans()])


def longest_in_each(job: Job, rows: pd.DataFrame, *, n: int = 3) -> pd.DataFrame:
    """Return the ``n`` functions with most time inside each of some intervals.

    Intervals should be few, such as the slowest batches: each is looked at by itself.

    Returns:
        ``start_time_us``, ``end_time_us``, ``nodeID`` of the interval, and of each function
        ``function``, ``process``, ``count``, ``inside_us``; most time first.
    """
    import pandas as pd

    columns = ["start_time_us", "end_time_us", "nodeID"]
    names = [*columns, "function", "process", "count", "inside_us"]
    each = [rows.iloc[[place]] for place in range(len(rows))]
    tables: list[list[pd.DataFrame]] = [[] for _ in each]
    for spans in job.spans():
        for row, its in zip(each, tables, strict=True):
            its.extend(_sums_of(spans, row, _intervals, functions_at, job.origin_us))
    found = [
        merge_functions(its).nlargest(n, "inside_us").assign(**row[columns].iloc[0])[names]
        for row, its in zip(each, tables, strict=True)
    ]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=names)


def say_cause(functions: pd.DataFrame, others: pd.DataFrame, *, at: str, against: str) -> str:
    """Return the sentence that names the cause, or one that says why none is named."""
    cause = cause_of(functions, others, at=at, against=against)
    if cause is not None:
        return cause.text
    return (
        f"No function with ten events or more takes at least 1.5 times the share of the time {at} "
        f"that it takes {against}; no cause is named."
    )


_MomentsOf = Callable[["pd.DataFrame", int], Moments]
_SumsAt = Callable[[SpanTable, Moments], "pd.DataFrame"]


def _of_rows(
    job: Job, rows: pd.DataFrame, moments_of: _MomentsOf, sums_at: _SumsAt
) -> pd.DataFrame:
    return merge_functions(
        [
            table
            for spans in job.spans()
            for table in _sums_of(spans, rows, moments_of, sums_at, job.origin_us)
        ]
    )


def _sums_of(
    spans: SpanTable, rows: pd.DataFrame, moments_of: _MomentsOf, sums_at: _SumsAt, origin_us: int
) -> Iterator[pd.DataFrame]:
    """Yield what ran on each worker at its rows, and at those of the node it runs on."""
    for code, worker in enumerate(spans.workers):
        own = rows[rows["nodeID"].isin([worker, worker.rpartition("-")[0]])]
        if len(own):
            yield sums_at(spans.where(spans.worker == code), moments_of(own, origin_us))


def _instants(rows: pd.DataFrame, origin_us: int) -> Moments:
    return at_moments(_ns(rows["timestamp_us"], origin_us))


def _intervals(rows: pd.DataFrame, origin_us: int) -> Moments:
    return in_intervals(*(_ns(rows[name], origin_us) for name in ("start_time_us", "end_time_us")))


def _held(time_ns: int) -> int:
    """Return an instant that int64 holds, and its distance to any other: 146 years from 1970."""
    return min(max(time_ns, -(2**62)), 2**62)


def _ns(time_us: pd.Series, origin_us: int) -> NDArray[np.int64]:
    return np.asarray((time_us.to_numpy(dtype=np.int64) + origin_us) * NS_PER_US)
