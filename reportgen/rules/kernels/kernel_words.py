"""KernelTime in words: the complete table, the largest by time and by launches, tiny kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, exhibit
from reportgen.rules.kernels.kernel_names import short_names
from reportgen.rules.kernels.kernel_times import KernelRow
from reportgen.rules.kernels.precision import Precision
from reportgen.rules.kernels.saying import pct_of, say_us
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import percentages, say_count, say_pct

TABLE, BY_TIME, BY_COUNT = "kernels", "top_by_time", "top_by_launches"
COMMUNICATION, COMPUTE = "communication", "compute"
TINY_US = 5.0
"""A shorter kernel that is also shorter than its launch is launch-bound. Source: D5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiny:
    """Launch-bound kernels of a rank or of all.

    Attributes:
        n_kernels, n_tiny: kernels with a recorded launch, and those that are tiny.
        idle_us: idle time right before tiny kernels.
        window_us: windows of all devices, first to last GPU operation.
    """

    n_kernels: int = 0
    n_tiny: int = 0
    idle_us: float = 0.0
    window_us: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All ranks: their kernels by total time, windows times devices, and tiny kernels."""

    kernels: Sequence[KernelRow]
    profile_us: float
    tiny: Tiny
    n_ranks: int


def exhibits_of(context: Context, *, top: int) -> tuple[Exhibit, ...]:
    """Return the largest by time and by launches, and the complete table."""
    if not context.kernels:
        return ()
    by_count = sorted(context.kernels, key=lambda row: (-row.count, row.name))
    times = [(row.name, row.sum_us) for row in context.kernels]
    counts = [(row.name, row.count) for row in by_count]
    category = {row.name: _category(row) for row in by_count}
    return (
        _largest(
            BY_TIME,
            times,
            top=top,
            title="Kernels by time",
            amount=("time_us", "us"),
            caption=f"Shares of the time of all kernels ({_kernel_time(context)}).",
            category=category,
        ),
        _largest(
            BY_COUNT,
            counts,
            top=top,
            title="Kernels by launches",
            amount=("launches", ""),
            caption=f"Shares of all {say_count(sum(row.count for row in by_count))} launches.",
            category=category,
        ),
        _table(context),
    )


def findings_of(context: Context, *, limit_pct: float, tiny_pct: float) -> tuple[Finding, ...]:
    """Return launch-bound tiny kernels as a fault, and the largest kernel as a reading."""
    if not context.kernels:
        return ()
    tiny = _tiny(context.tiny, limit_pct=limit_pct, tiny_pct=tiny_pct)
    return ((tiny,) if tiny else ()) + (_reading(context),)


def _largest(
    exhibit_id: str,
    amounts: Sequence[tuple[str, float]],
    *,
    top: int,
    title: str,
    amount: tuple[str, str],
    caption: str,
    category: Mapping[str, str],
) -> Exhibit:
    shown, rest = amounts[:top], amounts[top:]
    names: list[str | None] = [name for name, _ in shown]
    categories: list[str | None] = [category[name] for name, _ in shown]
    parts = short_names([name for name, _ in shown])
    values = [value for _, value in shown]
    if rest:
        names.append(None)
        categories.append(None)
        parts.append(f"others ({say_times(len(rest), 'kernel')})")
        values.append(sum(value for _, value in rest))
        caption += f" Showing {len(shown)} of {len(amounts):,}; the table of kernels has all."
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        caption=caption,
        columns=[
            ("part", "", parts),
            (*amount, values),
            ("pct", "%", percentages(values)),
            ("full_name", "", names),
            ("category", "", categories),
        ],
    )


def _table(context: Context) -> Exhibit:
    rows = context.kernels
    kernel_us = sum(row.sum_us for row in rows)
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="All kernels",
        caption=(
            "Over all ranks, by total time. pct_of_kernel_time is of the time of all kernels; "
            "pct_of_profile_time is of the time from the first to the last GPU operation, times "
            f"devices ({say_us(context.profile_us)}); kernels that run at the same time all "
            "count. Precision is read off the name, else off the inputs of the operator."
        ),
        columns=[
            ("name", "", [row.name for row in rows]),
            ("count", "", [row.count for row in rows]),
            ("sum_us", "us", [row.sum_us for row in rows]),
            ("mean_us", "us", [row.mean_us for row in rows]),
            ("p50_us", "us", [row.p50_us for row in rows]),
            ("p95_us", "us", [row.p95_us for row in rows]),
            ("min_us", "us", [row.min_us for row in rows]),
            ("max_us", "us", [row.max_us for row in rows]),
            ("std_us", "us", [row.std_us for row in rows]),
            ("pct_of_kernel_time", "%", [pct_of(row.sum_us, kernel_us) for row in rows]),
            ("pct_of_profile_time", "%", [pct_of(row.sum_us, context.profile_us) for row in rows]),
            ("precision", "", [row.reading.precision.value for row in rows]),
            ("tensor_core", "", [row.reading.tensor_core for row in rows]),
            ("category", "", [_category(row) for row in rows]),
        ],
    )


def _category(row: KernelRow) -> str:
    return COMMUNICATION if row.reading.precision is Precision.COMM else COMPUTE


def _tiny(tiny: Tiny, *, limit_pct: float, tiny_pct: float) -> Finding | None:
    count_pct = pct_of(tiny.n_tiny, tiny.n_kernels)
    idle_pct = pct_of(tiny.idle_us, tiny.window_us)
    if count_pct < tiny_pct or idle_pct < limit_pct or tiny.idle_us <= 0:
        return None
    return Finding(
        id="KERN-1",
        severity=fault_severity(idle_pct / 100),
        title=f"{say_pct(count_pct)} of the kernels are shorter than their launch",
        text=(
            f"{tiny.n_tiny:,} of {say_times(tiny.n_kernels, 'kernel')} take less than "
            f"{TINY_US:g} µs and less than the call that launches them; before them the GPU idles "
            f"{say_us(tiny.idle_us)}, {say_pct(idle_pct)} of the time from the first to the last "
            f"GPU operation ({say_us(tiny.window_us)} over all GPUs)."
        ),
        advice="Fuse them: torch.compile, CUDA graphs, fused optimizers, or a larger batch.",
        measured=round(count_pct, 4),
        threshold=tiny_pct,
        unit="%",
        estimate=estimate_of(idle_pct / 100),
        exhibit=BY_COUNT,
    )


def _reading(context: Context) -> Finding:
    first = context.kernels[0]
    kernel_us = sum(row.sum_us for row in context.kernels)
    share_pct = pct_of(first.sum_us, kernel_us)
    return Finding(
        id="KERN-2",
        severity=Severity.INFO,
        title=f"The kernel that takes most time takes {say_pct(share_pct)} of kernel time",
        text=(
            f"{short_names([first.name])[0]}: {say_us(first.sum_us)} of {_kernel_time(context)} "
            f"in {say_times(first.count, 'run')}, {say_us(first.mean_us)} on average, "
            f"of {say_times(len(context.kernels), 'different kernel')} in all."
        ),
        advice="A faster version of the first few kernels is worth most.",
        measured=round(share_pct, 4),
        unit="%",
        exhibit=BY_TIME,
    )


def _kernel_time(context: Context) -> str:
    total = say_us(sum(row.sum_us for row in context.kernels))
    return total if context.n_ranks == 1 else f"{total} over {context.n_ranks} ranks"
