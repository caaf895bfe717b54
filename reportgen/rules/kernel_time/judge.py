"""What KernelTime reports: rankings by time and by launches, a table of each grouping, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reportgen.facts.kernel_names import short_names
from reportgen.facts.operators import DurationRow, join_ranks
from reportgen.results import (
    Column,
    ColumnType,
    Exhibit,
    ExhibitKind,
    Finding,
    Role,
    column,
    exhibit,
)
from reportgen.rules.base import Outcome
from reportgen.rules.kernel_time.measure import (
    COMMUNICATION,
    COMPUTE,
    NOT_TOLD,
    TINY_NS,
    Grouping,
    Params,
    RankKernels,
    category_of,
)
from reportgen.rules.kernel_time.texts import (
    AS_BY_NAME,
    CAPTIONS,
    LABELS,
    LARGEST,
    OTHERS,
    TINY,
    TITLES,
)
from reportgen.rules.kit import fault_severity, floats, merge, ranking, reason_without_gpu
from reportgen.text import format_ns, plural, write
from reportgen.units import NS_PER_US, pct_of

Rows = Sequence[DurationRow]


def judge(ranks: Sequence[RankKernels], params: Params) -> Outcome:
    """Report the largest kernels, and tiny ones as a fault."""
    if not ranks:
        return Outcome()
    job = merge(ranks)
    missing = reason_without_gpu(job.n_ops)
    groups = {way: join_ranks([rank[way] for rank in job.durations]) for way in Grouping}
    kernels = groups[Grouping.NAME]
    if not kernels:
        return Outcome(missing=missing)
    return Outcome(
        missing=missing,
        findings=[_tiny(job, params), _largest(kernels, n_ranks=len(ranks))],
        exhibits=[
            *_rankings(groups, job, top=params.top),
            *(_table(way, rows, job) for way, rows in groups.items()),
        ],
        metrics={
            "n_kernels": sum(item.count for item in kernels),
            "n_distinct_kernels": len(kernels),
            "kernel_time_us": sum(item.sum_ns for item in kernels) / NS_PER_US,
            "tiny_kernels_ratio": round(pct_of(job.n_tiny, job.n_launched) / 100, 6),
        },
    )


def _tiny(job: RankKernels, params: Params) -> Finding | None:
    count_pct = pct_of(job.n_tiny, job.n_launched)
    idle_pct = pct_of(job.idle_ns, job.profile_ns)
    is_fault = count_pct >= params.threshold_tiny_pct and idle_pct >= params.threshold_idle_pct
    if not is_fault or job.idle_ns <= 0:
        return None
    return TINY.finding(
        measured=count_pct,
        threshold=params.threshold_tiny_pct,
        severity=fault_severity(idle_pct / 100),
        share=idle_pct / 100,
        n_tiny=job.n_tiny,
        n_launched=job.n_launched,
        tiny_us=TINY_NS // NS_PER_US,
        idle=job.idle_ns,
        idle_pct=idle_pct,
        profile=job.profile_ns,
    )


def _largest(kernels: Rows, *, n_ranks: int) -> Finding:
    first = kernels[0]
    return LARGEST.finding(
        measured=pct_of(first.sum_ns, sum(item.sum_ns for item in kernels)),
        name=short_names(first.key)[0],
        time=first.sum_ns,
        every=_total_time(kernels, n_ranks=n_ranks),
        n_runs=first.count,
        mean=first.mean_ns,
        n_names=len(kernels),
    )


def _total_time(rows: Rows, *, n_ranks: int) -> str:
    total = format_ns(sum(item.sum_ns for item in rows))
    return total if n_ranks == 1 else f"{total} over {n_ranks} ranks"


def _category(way: Grouping, item: DurationRow, job: RankKernels) -> str:
    """Return whether kernels communicate or compute."""
    return category_of(job.readings[item.key[0]]) if way.is_by_kernel else item.key[-1]


def _rankings(groups: Mapping[Grouping, Rows], job: RankKernels, *, top: int) -> Iterator[Exhibit]:
    """Yield what took most time, then what was launched most, the rest as one part."""
    is_mixed = len(groups[Grouping.CATEGORY]) > 1
    for by in ("time", "launches"):
        for way, rows in groups.items():
            if way is Grouping.CATEGORY:
                if is_mixed:
                    yield _ranking(by, way, rows, job, top=top)
            elif way is Grouping.NAME or any(NOT_TOLD not in item.key for item in rows):
                yield _ranking(by, way, rows, job, top=top)
                own = [item for item in rows if _category(way, item, job) == COMPUTE]
                if own and is_mixed:
                    yield _ranking(by, way, own, job, top=top, but=" but communication")


def _ranking(
    by: str, way: Grouping, rows: Rows, job: RankKernels, *, top: int, but: str = ""
) -> Exhibit:
    """Return the largest rows; ``but`` says what was left out."""
    is_time = by == "time"
    parts = [(item.sum_ns if is_time else item.count, item) for item in rows]
    parts.sort(key=lambda part: (-part[0], part[1].key))
    shown = [item for _, item in parts[:top]]
    labels = [*_labels(shown, way), *("" for _ in parts[top:])]
    of_all = f"the time of all kernels{but} ({_total_time(rows, n_ranks=len(job.durations))})"
    launches = plural(sum(item.count for item in rows), "launch", "launches")
    categories = [_category(way, item, job) for item in shown]
    names = [", ".join(item.key) if way.is_by_kernel else item.key[0] for item in shown]
    rest = [None] * (len(parts) > top)
    found = ranking(
        f"top_by_{by}{way.suffix}{'_compute' if but else ''}",
        [(label, amount) for label, (amount, _) in zip(labels, parts, strict=True)],
        title=f"{TITLES[way]} by {by}",
        caption=f"Shares of {of_all if is_time else launches + but}.",
        amount=("time_us", "us") if is_time else ("launches", ""),
        per=NS_PER_US,
        most=top,
        others=OTHERS[way],
        roles=[Role.NETWORK if item == COMMUNICATION else Role.GPU for item in categories],
    )
    more = (_text("full_name", [*names, *rest]), _text("category", [*categories, *rest]))
    return replace(found, columns=(*found.columns, *more))


def _labels(rows: Rows, way: Grouping) -> list[str]:
    """Return how each row is called: kernels by a short name, the same for rows of one kernel."""
    if not way.is_by_kernel:
        return [item.key[0] for item in rows]
    names = list(dict.fromkeys(item.key[0] for item in rows))
    short = dict(zip(names, short_names(names), strict=True))
    return [" · ".join((short[item.key[0]], *item.key[1:])) for item in rows]


def _table(way: Grouping, rows: Rows, job: RankKernels) -> Exhibit:
    """Return all rows of one grouping."""
    is_by_name = way is Grouping.NAME
    caption = write(CAPTIONS[way], profile=job.profile_ns) + ("" if is_by_name else AS_BY_NAME)
    names = ("name", "shape") if way is Grouping.SHAPE else (way.value,)
    return exhibit(
        way.table_id,
        ExhibitKind.TABLE,
        title="All kernels" if is_by_name else f"All kernels by {LABELS[way]}",
        caption=caption,
        columns=[
            *(_text(name, [item.key[at] for item in rows]) for at, name in enumerate(names)),
            *_figures(rows, profile_ns=job.profile_ns),
            *_readings(way, rows, job),
        ],
    )


def _figures(rows: Rows, *, profile_ns: int) -> Iterator[Column]:
    sums_ns = [item.sum_ns for item in rows]
    kernels_ns = sum(sums_ns)
    yield column("count", "", [item.count for item in rows], type=ColumnType.INT)
    for name in ("sum", "mean", "p50", "p95", "min", "max", "std"):
        values_us = [getattr(item, f"{name}_ns") / NS_PER_US for item in rows]
        yield column(f"{name}_us", "us", values_us, type=ColumnType.FLOAT)
    yield from floats(
        ("pct_of_kernel_time", "%", [pct_of(own, kernels_ns) for own in sums_ns]),
        ("pct_of_profile_time", "%", [pct_of(own, profile_ns) for own in sums_ns]),
    )


def _readings(way: Grouping, rows: Rows, job: RankKernels) -> Iterator[Column]:
    """Yield what names say, and whether kernels communicate where rows are not of that."""
    if way is Grouping.NAME:
        read = [job.readings[item.key[0]] for item in rows]
        yield _text("precision", [item.precision.value for item in read])
        yield column("tensor_core", "", [item.tensor_core for item in read], type=ColumnType.BOOL)
    if way is not Grouping.CATEGORY:
        yield _text("category", [_category(way, item, job) for item in rows])


def _text(name: str, values: Sequence[str | None]) -> Column:
    return column(name, "", values, type=ColumnType.TEXT)
