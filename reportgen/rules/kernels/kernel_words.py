"""KernelTime in words: tiny kernels as a fault, the largest kernel as a reading."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.facts.kernel_names import short_names
from reportgen.results import Finding, Severity
from reportgen.rules.kernels.kernel_rankings import BY_COUNT, BY_TIME, Context, say_kernel_time
from reportgen.rules.kernels.saying import pct_of, say_ns
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_does, say_times
from reportgen.units import NS_PER_US, say_pct

TINY_NS = 5 * NS_PER_US
"""A shorter kernel that is also shorter than its launch is launch-bound. Source: D5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiny:
    """Launch-bound kernels of a rank or of all.

    Attributes:
        n_kernels, n_tiny: kernels with a recorded launch, and those that are tiny.
        idle_ns: idle time right before tiny kernels.
        window_ns: windows of all devices, first to last GPU operation.
    """

    n_kernels: int = 0
    n_tiny: int = 0
    idle_ns: int = 0
    window_ns: int = 0


def findings_of(
    context: Context, tiny: Tiny, *, limit_pct: float, tiny_pct: float
) -> tuple[Finding, ...]:
    """Return launch-bound tiny kernels as a fault, and the largest kernel as a reading."""
    if not context.kernels.by_name:
        return ()
    fault = _tiny(tiny, limit_pct=limit_pct, tiny_pct=tiny_pct)
    return ((fault,) if fault else ()) + (_reading(context),)


def _tiny(tiny: Tiny, *, limit_pct: float, tiny_pct: float) -> Finding | None:
    count_pct = pct_of(tiny.n_tiny, tiny.n_kernels)
    idle_pct = pct_of(tiny.idle_ns, tiny.window_ns)
    if count_pct < tiny_pct or idle_pct < limit_pct or tiny.idle_ns <= 0:
        return None
    return Finding(
        id="KERN-1",
        severity=fault_severity(idle_pct / 100),
        title=f"{say_pct(count_pct)} of the kernels are shorter than their launch",
        text=(
            f"{tiny.n_tiny:,} of {say_times(tiny.n_kernels, 'kernel')} "
            f"{say_does(tiny.n_tiny, 'take')} less than "
            f"{TINY_NS // NS_PER_US} µs and less than the call that launches them; before them the "
            f"GPU idles {say_ns(tiny.idle_ns)}, {say_pct(idle_pct)} of the time from the first to "
            f"the last GPU operation ({say_ns(tiny.window_ns)} over all GPUs)."
        ),
        advice="Fuse them: torch.compile, CUDA graphs, fused optimizers, or a larger batch.",
        measured=round(count_pct, 4),
        threshold=tiny_pct,
        unit="%",
        estimate=estimate_of(idle_pct / 100),
        exhibit=BY_COUNT,
    )


def _reading(context: Context) -> Finding:
    every = context.kernels.by_name
    first = every[0]
    kernel_ns = sum(row.sum_ns for row in every)
    share_pct = pct_of(first.sum_ns, kernel_ns)
    return Finding(
        id="KERN-2",
        severity=Severity.INFO,
        title=f"The kernel that takes most time takes {say_pct(share_pct)} of kernel time",
        text=(
            f"{short_names([first.key[0]])[0]}: {say_ns(first.sum_ns)} of "
            f"{say_kernel_time(every, n_ranks=context.n_ranks)} "
            f"in {say_times(first.count, 'run')}, {say_ns(first.mean_ns)} on average, "
            f"of {say_times(len(every), 'different kernel')} in all."
        ),
        advice="A faster version of the first few kernels is worth most.",
        measured=round(share_pct, 4),
        unit="%",
        exhibit=BY_TIME,
    )
