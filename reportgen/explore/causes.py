"""Functions that ran at some moments, against other moments: behind bottlenecks and outliers.

Each event counts once, with its full length, however many moments or intervals it meets; the
divisor of a mean is the number of events of that name. (smdebug's notebook takes the first event
of each name, divides by the events of all names; AWS's rule adds an event once per moment.)

Rows of frames stand for moments of their node: instants have ``timestamp_us`` and ``nodeID``,
intervals ``start_time_us``, ``end_time_us`` and ``nodeID`` (a node or a worker of one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.arrays import Instants
from reportgen.explore.job import Job
from reportgen.explore.selection import Instant, instant_ns
from reportgen.facts.breakdown import (
    LEAST_EVENTS,
    LEAST_INCREASE,
    FunctionSums,
    event_sums,
    is_function,
    is_step,
    largest_increase,
)
from reportgen.facts.intervals import overlaps_any
from reportgen.profile import SpanTable
from reportgen.rules.functions import cause_text
from reportgen.units import NS_PER_US


def functions_at(
    spans: SpanTable, start_ns: Instants, end_ns: Instants | None = None
) -> pd.DataFrame:
    """Return the functions that ran at some instants or in some intervals, longest first.

    Steps are no functions, nor are the lives of loader processes.

    Args:
        spans: events.
        start_ns, end_ns: closed intervals, or instants where there are no ends; ns UTC, any order.

    Returns:
        One row per function (name and phase): ``function``, ``process``, ``count``, ``total_us``
        (sum of full durations), ``mean_us`` (total by count), ``inside_us`` (the part of the
        total that lies in the intervals; NaN for instants), ``share_pct`` (of all totals).
    """
    return _sums(spans, is_function(spans), start_ns, end_ns)


def phases_at(spans: SpanTable, start_ns: Instants, end_ns: Instants | None = None) -> pd.DataFrame:
    """Return the step phases (``Step:ModeKeys.TRAIN``) at some times; see ``functions_at``."""
    return _sums(spans, is_step(spans), start_ns, end_ns)


def merge_functions(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add up tables of ``functions_at``, for example those of several nodes."""
    filled = [table for table in tables if len(table)]
    if not filled:
        return _finished(pd.DataFrame(columns=_SUMMED).astype(dict.fromkeys(_SUMMED[2:], float)))
    sums = pd.concat(filled).groupby(["function", "process"], as_index=False, sort=True)
    return _finished(sums[["count", "total_us", "inside_us"]].sum(min_count=1))


def compare(
    functions: pd.DataFrame, others: pd.DataFrame, *, suffixes: tuple[str, str] = ("", "_other")
) -> pd.DataFrame:
    """Join two tables of functions: how long each ran on average, and what share it had.

    Returns:
        One row per function of either: the columns of both with ``suffixes``; ``factor`` = mean
        by other mean, NaN where a function is missing on a side; ``increase_points`` = share less
        other share, in points of percent, 0 standing for a missing function. Largest increase
        first.
    """
    joined = functions.merge(others, on=["function", "process"], how="outer", suffixes=suffixes)
    left, right = (f"mean_us{suffix}" for suffix in suffixes)
    joined["factor"] = joined[left] / joined[right].where(joined[right] > 0)
    share, other = (joined[f"share_pct{suffix}"].fillna(0.0) for suffix in suffixes)
    joined["increase_points"] = share - other
    return joined.sort_values(
        ["increase_points", "function", "process"], ascending=[False, True, True], ignore_index=True
    )


def _sums_of(functions: pd.DataFrame) -> FunctionSums:
    keys = list(zip(functions["function"], functions["process"], strict=True))
    total_ns = [round(total_us * NS_PER_US) for total_us in functions["total_us"]]
    return FunctionSums(
        count=dict(zip(keys, functions["count"].tolist(), strict=True)),
        total_ns=dict(zip(keys, total_ns, strict=True)),
    )


def _sums(
    spans: SpanTable, rows: NDArray[np.bool_], start_ns: Instants, end_ns: Instants | None
) -> pd.DataFrame:
    windows = (start_ns, start_ns if end_ns is None else end_ns)
    rows = rows & overlaps_any(spans.start_ns, spans.end_ns, *windows)
    found = event_sums(spans, rows, called=spans.called(), windows=windows)
    inside_ns = np.array([*found.inside_ns.values()], dtype=np.int64)
    return _finished(
        pd.DataFrame(
            {
                "function": [function for function, _ in found.count],
                "process": [process for _, process in found.count],
                "count": np.array([*found.count.values()], dtype=np.int64),
                "total_us": np.array([*found.total_ns.values()], dtype=np.int64) / NS_PER_US,
                "inside_us": np.nan if end_ns is None else inside_ns / NS_PER_US,
            }
        )
    )


_SUMMED = ("function", "process", "count", "total_us", "inside_us")


def _finished(sums: pd.DataFrame) -> pd.DataFrame:
    whole = float(sums["total_us"].sum())
    frame = sums.assign(
        mean_us=sums["total_us"] / sums["count"], share_pct=100 * sums["total_us"] / (whole or 1.0)
    )
    frame = frame[["function", "process", "count", "total_us", "mean_us", "inside_us", "share_pct"]]
    return frame.sort_values(
        ["total_us", "function", "process"], ascending=[False, True, True], ignore_index=True
    )


def functions_at_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the functions that ran on the same node at some instants; see ``functions_at``."""
    return _of_rows(job, rows, functions_at, _INSTANT)


def phases_at_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the step phases that ran on the same node at some instants; see ``functions_at``."""
    return _of_rows(job, rows, phases_at, _INSTANT)


def functions_in_rows(job: Job, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the functions of the same node that overlap some intervals; see ``functions_at``."""
    return _of_rows(job, rows, functions_at, _INTERVAL)


def functions_between(job: Job, since: Instant, until: Instant) -> pd.DataFrame:
    """Return the functions that overlap a range of time on all nodes; see ``functions_at``."""
    edges_ns = (instant_ns(end, origin_us=job.origin_us) for end in (since, until))
    edges = [np.array([_held(edge_ns)]) for edge_ns in edges_ns]
    return merge_functions([functions_at(spans, *edges) for spans in job.spans()])


def longest_in_each(job: Job, rows: pd.DataFrame, *, n: int = 3) -> pd.DataFrame:
    """Return the ``n`` functions with most time inside each of some intervals.

    Intervals should be few, such as the slowest batches: each is looked at by itself.

    Returns:
        ``start_time_us``, ``end_time_us``, ``nodeID`` of the interval, and of each function
        ``function``, ``process``, ``count``, ``inside_us``; most time first.
    """
    columns = ["start_time_us", "end_time_us", "nodeID"]
    names = [*columns, "function", "process", "count", "inside_us"]
    each = [rows.iloc[[place]] for place in range(len(rows))]
    tables: list[list[pd.DataFrame]] = [[] for _ in each]
    for spans in job.spans():
        for row, found_in_row in zip(each, tables, strict=True):
            found_in_row.extend(_rows_sums(spans, row, functions_at, _INTERVAL, job.origin_us))
    found = [
        merge_functions(of_row).nlargest(n, "inside_us").assign(**row[columns].iloc[0])[names]
        for row, of_row in zip(each, tables, strict=True)
    ]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=names)


def describe_cause(functions: pd.DataFrame, others: pd.DataFrame, *, at: str, against: str) -> str:
    """Return the sentence that names the cause, or says why it names no cause.

    The cause is found as the report finds it: the share of a function must have risen by half or
    more, and of those functions the one whose share rose by most points is named.

    Args:
        functions, others: from ``functions_at_rows`` or ``functions_in_rows``.
        at, against: words for the moments: ``"during bottlenecks"``.
    """
    found = largest_increase(_sums_of(functions), _sums_of(others))
    if found is not None:
        return cause_text(found, at=at, against=against)
    return f"No cause is named: {_why_none(functions, others, at, against)}."


def _why_none(functions: pd.DataFrame, others: pd.DataFrame, at: str, against: str) -> str:
    for sums, when in ((functions, at), (others, against)):
        if not len(sums):
            return f"no function was recorded {when}"
    if others["count"].sum() < LEAST_EVENTS:
        return f"fewer than {LEAST_EVENTS} events of functions were recorded {against}"
    return (
        f"no function that ran at least {LEAST_EVENTS} times {at} took {LEAST_INCREASE:g} times as "
        f"large a share of the time as {against}"
    )


_SumsAt = Callable[..., "pd.DataFrame"]
_INSTANT, _INTERVAL = ("timestamp_us",), ("start_time_us", "end_time_us")


def _of_rows(job: Job, rows: pd.DataFrame, sums_at: _SumsAt, edges: Sequence[str]) -> pd.DataFrame:
    return merge_functions(
        [
            table
            for spans in job.spans()
            for table in _rows_sums(spans, rows, sums_at, edges, job.origin_us)
        ]
    )


def _rows_sums(
    spans: SpanTable, rows: pd.DataFrame, sums_at: _SumsAt, edges: Sequence[str], origin_us: int
) -> Iterator[pd.DataFrame]:
    for code, worker in enumerate(spans.workers):
        of_worker = rows[rows["nodeID"].isin([worker, worker.rpartition("-")[0]])]
        if len(of_worker):
            edges_ns = (
                (of_worker[name].to_numpy(dtype="i8") + origin_us) * NS_PER_US for name in edges
            )
            yield sums_at(spans.where(spans.worker == code), *edges_ns)


def _held(time_ns: int) -> int:
    """Return an instant that int64 holds, and its distance to any other: 146 years from 1970."""
    return min(max(time_ns, -(2**62)), 2**62)
