"""KernelTime: which kernels took the time and the launches, from kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reportgen import results
from reportgen.facts.kernel_names import short_names
from reportgen.facts.operators import DurationRow, join_ranks
from reportgen.results import (
    Choice,
    Column,
    ColumnType,
    DashboardPanel,
    Exhibit,
    ExhibitKind,
    Finding,
    Place,
    Role,
)
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.kernel_time.measure import (
    COMMUNICATION,
    COMPUTE,
    NOT_TOLD,
    TINY_NS,
    Grouping,
    Params,
    RankKernels,
    category_of,
    measure,
)
from reportgen.text import format_ns, plural, write
from reportgen.units import NS_PER_US, pct_of

ABOUT = About(
    checks="Which kernels take the GPU's time and which are launched most.",
    reading=(
        "Durations are added up per full name over all ranks. A kernel shorter than its launch "
        "cannot keep the GPU busy however many there are."
    ),
    advice="Improve or fuse the first few by time, and those launched most.",
    section=results.Section(id="kernels", title="Kernels", order=60),
)
TINY = kit.Message(
    id="KERN-1",
    title="{measured:pct} of the kernels are shorter than their launch",
    text=(
        "{job.n_tiny:n} of {job.n_launched:count kernel} {job.n_tiny:verb take} less than "
        "{tiny_us} µs and less than the call that launches them; before them the GPU idles "
        "{job.idle_ns:ns}, {idle:pct} of the time from the first to the last GPU operation "
        "({job.profile_ns:ns} over all GPUs)."
    ),
    advice="Fuse them: torch.compile, CUDA graphs, fused optimizers, or a larger batch.",
    exhibit="top_by_launches",
)
LARGEST = kit.Message(
    id="KERN-2",
    title="The kernel that takes most time takes {measured:pct} of kernel time",
    text=(
        "{name}: {first.sum_ns:ns} of {every} in {first.count:count run}, {first.mean_ns:ns} on "
        "average, of {n_names:count different kernel} in all."
    ),
    advice="A faster version of the first few kernels is worth most.",
    exhibit="top_by_time",
)
TITLES = {
    Grouping.NAME: "Kernels",
    Grouping.SHAPE: "Kernels and launch sizes",
    Grouping.OPERATOR: "Operators with kernels",
    Grouping.CATEGORY: "Categories of kernels",
}
"""Of rankings; "by time" and the like is appended."""
LABELS = {way: way.value for way in Grouping} | {Grouping.SHAPE: "name, grid and block"}
"""How the reader's choices are called."""
OTHERS = {
    Grouping.NAME: "kernel",
    Grouping.SHAPE: "kernel and launch size/kernels and launch sizes",
    Grouping.OPERATOR: "operator",
    Grouping.CATEGORY: "category/categories",
}
"""How the rows are counted that a ranking does not show one by one."""
CAPTIONS = {
    Grouping.NAME: (
        "Over all ranks, by total time. pct_of_kernel_time is of the time of all kernels; "
        "pct_of_profile_time is of the time from the first to the last GPU operation, times "
        "devices ({profile:ns}); kernels that run at the same time all count. Precision is read "
        "off the name, else off the inputs of the operator."
    ),
    Grouping.SHAPE: "Every kernel with each size in which it was launched, by total time.",
    Grouping.OPERATOR: (
        "Kernels by the operator that launched them: the innermost on the thread of the launch."
    ),
    Grouping.CATEGORY: "Kernels that exchange data with other GPUs, and all others.",
}
"""Of the complete tables."""
AS_BY_NAME = " Over all ranks; columns as in the table by name."

Rows = Sequence[DurationRow]


def judge(ranks: Sequence[RankKernels], params: Params) -> Outcome:
    """Report the largest kernels, and tiny ones as a fault."""
    if not ranks:
        return Outcome()
    job = kit.merge(ranks)
    missing = kit.reason_without_gpu(job.n_ops)
    groups = {way: join_ranks([rank[way] for rank in job.durations]) for way in Grouping}
    kernels = groups[Grouping.NAME]
    if not kernels:
        return Outcome(missing=missing)
    first, every_ns = kernels[0], sum(item.sum_ns for item in kernels)
    largest = LARGEST.finding(
        measured=pct_of(first.sum_ns, every_ns),
        first=first,
        name=short_names(first.key)[0],
        every=_time(kernels, n_ranks=len(ranks)),
        n_names=len(kernels),
    )
    return Outcome(
        missing=missing,
        findings=[_tiny(job, params), largest],
        exhibits=[
            *_rankings(groups, job, top=params.top),
            *(_table(way, rows, job) for way, rows in groups.items()),
        ],
        metrics={
            "n_kernels": sum(item.count for item in kernels),
            "n_distinct_kernels": len(kernels),
            "kernel_time_us": every_ns / NS_PER_US,
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
        severity=kit.fault_severity(idle_pct / 100),
        share=idle_pct / 100,
        job=job,
        tiny_us=TINY_NS // NS_PER_US,
        idle=idle_pct,
    )


def _time(rows: Rows, *, n_ranks: int) -> str:
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
    launches = plural(sum(item.count for item in rows), "launch", "launches") + but
    of_all = f"the time of all kernels{but} ({_time(rows, n_ranks=len(job.durations))})"
    names = [", ".join(item.key) if way.is_by_kernel else item.key[0] for item in shown]
    categories = [_category(way, item, job) for item in shown]
    found = kit.ranking(
        f"top_by_{by}{way.suffix}{'_compute' if but else ''}",
        [(label, amount) for label, (amount, _) in zip(labels, parts, strict=True)],
        title=f"{TITLES[way]} by {by}",
        caption=f"Shares of {of_all if is_time else launches}.",
        amount=("time_us", "us") if is_time else ("launches", ""),
        per=NS_PER_US,
        most=top,
        others=OTHERS[way],
        roles=[Role.NETWORK if item == COMMUNICATION else Role.GPU for item in categories],
    )
    rest = [None] * (len(parts) > top)
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
    names = ("name", "shape") if way is Grouping.SHAPE else (way.value,)
    sums_ns = [item.sum_ns for item in rows]
    kernels_ns = sum(sums_ns)
    columns = [
        *(_text(name, [item.key[at] for item in rows]) for at, name in enumerate(names)),
        results.column("count", "", [item.count for item in rows], type=ColumnType.INT),
        *kit.floats(
            *(
                (f"{name}_us", "us", [getattr(item, f"{name}_ns") / NS_PER_US for item in rows])
                for name in ("sum", "mean", "p50", "p95", "min", "max", "std")
            ),
            ("pct_of_kernel_time", "%", [pct_of(own_ns, kernels_ns) for own_ns in sums_ns]),
            ("pct_of_profile_time", "%", [pct_of(own_ns, job.profile_ns) for own_ns in sums_ns]),
        ),
    ]
    if is_by_name:
        read = [job.readings[item.key[0]] for item in rows]
        on_units = [item.tensor_core for item in read]
        columns.append(_text("precision", [item.precision for item in read]))
        columns.append(results.column("tensor_core", "", on_units, type=ColumnType.BOOL))
    if way is not Grouping.CATEGORY:
        columns.append(_text("category", [_category(way, item, job) for item in rows]))
    return results.exhibit(
        way.table_id,
        ExhibitKind.TABLE,
        title="All kernels" if is_by_name else f"All kernels by {LABELS[way]}",
        caption=write(CAPTIONS[way], profile=job.profile_ns) + ("" if is_by_name else AS_BY_NAME),
        columns=columns,
    )


def _text(name: str, values: Sequence[str | None]) -> Column:
    return results.column(name, "", values, type=ColumnType.TEXT)


def _places(by: str, order: int) -> dict[str, Place]:
    """Return where the rankings stand that the reader chooses from."""
    group = f"top_by_{by}"
    return {
        f"{group}{way.suffix}": Place(
            dashboard=DashboardPanel(
                order=order,
                headline=results.LARGEST_PART,
                row_of="pct",
                row_noun="kernel" if way.is_by_kernel else way.value,
                is_wide=True,
            ),
            choice=Choice(
                group=group,
                question="Group by",
                label=LABELS[way],
                twin=f"{group}{way.suffix}_compute",
                switch="Leave out communication",
            ),
        )
        for way in Grouping
    }


_TABLES = {
    way.table_id: Place(choice=Choice(group="tables", question="Group by", label=LABELS[way]))
    for way in Grouping
}
RULE = Rule(
    id=results.RuleId("KernelTime"),
    title="Kernels",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={**_places("time", 100), **_places("launches", 110), **_TABLES},
)
