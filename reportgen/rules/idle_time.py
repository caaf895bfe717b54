"""IdleTime: why the GPUs idled, in causes that add up exactly, from kernel traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.profile.trace import RankTrace
from reportgen.results import (
    LARGEST_PART,
    OTHERS,
    Counters,
    DashboardPanel,
    Details,
    Place,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.device_time import DeviceUnions, time_in, unions_of
from reportgen.rules.kernels.idle import causes_of_gaps, gaps_in, totals_by_cause
from reportgen.rules.kernels.idle_stretches import long_stretches
from reportgen.rules.kernels.idle_words import (
    BUSY,
    DeviceIdle,
    Limits,
    exhibits_of,
    findings_of,
    headline_rows,
    totals_ns,
)
from reportgen.rules.kernels.saying import ratio_of, reason_without_gpu, result_of, share_limit
from reportgen.rules.kernels.windows import Window, windows_of

ID = RuleId("IdleTime")
ABOUT = About(
    checks="Why each GPU idled: data loading, synchronization, a slow host, gaps, waits.",
    reading=(
        "Each gap belongs to the operation that ends it: until its launch was called the host was "
        "late, then the call itself took time, then the device did. The causes add up to the idle "
        "time. The speed-up is an upper bound: what is gained if the cause vanishes."
    ),
    advice="Begin with the largest cause; the bound tells what it can be worth.",
    section=Section(id="idle-time", title="Idle time", order=40),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """From which share of the window on idling is a fault."""

    threshold_loader_pct: float = share_limit(
        5.0, "idling for the data loader is a fault from this share of the window on"
    )
    threshold_cause_pct: float = share_limit(
        10.0, "idling for any other cause is a fault from this share of the window on"
    )
    threshold_start_pct: float = share_limit(
        50.0,
        "without steps, a recording whose longest idle stretch takes this share is of a start",
    )
    min_stretch_pct: float = share_limit(
        1.0, "an idle stretch is marked and listed from this share of its rank's window on"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank: its number of GPU operations and a row per device and window."""

    n_ops: int
    rows: tuple[DeviceIdle, ...]


def measure(part: RankTrace, params: Params) -> Measurement:
    """Measure every device of a rank in every window."""
    rows = [
        _row(part, unions, window, params)
        for unions in unions_of(part)
        for window in windows_of(part)
    ]
    return Measurement(n_ops=part.gpu_ops.start_ns.size, rows=tuple(rows))


def _row(trace: RankTrace, unions: DeviceUnions, window: Window, params: Params) -> DeviceIdle:
    gaps = gaps_in(trace, unions, window)
    causes = causes_of_gaps(trace, gaps)
    return DeviceIdle(
        rank=trace.rank,
        node=trace.node,
        device=unions.device,
        window=window,
        busy_ns=time_in(unions, window, rank=trace.rank).busy_ns,
        cause_ns=totals_by_cause(causes, window),
        long=long_stretches(
            trace,
            gaps,
            causes,
            device=unions.device,
            window=window,
            least_pct=params.min_stretch_pct,
        ),
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    rows = [row for rank in measurements for row in rank.rows]
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, rows),
        metrics=_metrics(rows),
    )


def _metrics(rows: Sequence[DeviceIdle]) -> dict[str, float | int | None]:
    told = headline_rows(rows)
    window_ns = sum(row.window.length_ns for row in told)
    return {
        f"{'gpu_' if name == BUSY else 'idle_'}{name.replace(':', '_')}_ratio": ratio_of(
            time_ns, window_ns
        )
        for name, time_ns in totals_ns(told).items()
        if told
    }


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[DeviceIdle] | None,
) -> Presentation:
    """Say why the GPUs idled; ``context`` is a row per device and window."""
    rows = context or ()
    limits = Limits(
        loader_pct=params.threshold_loader_pct,
        cause_pct=params.threshold_cause_pct,
        start_pct=params.threshold_start_pct,
    )
    return Presentation(findings=findings_of(rows, limits), exhibits=exhibits_of(rows))


RULE = Rule(
    id=ID,
    title="Idle time",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={
        "idle_stretches": Place(
            dashboard=DashboardPanel(
                order=40,
                headline="{title}: the longest {duration_us} before {before}",
                row_of="duration_us",
                is_wide=True,
                shares_axis=True,
            )
        ),
        "idle_shares": Place(
            dashboard=DashboardPanel(
                order=50,
                headline=LARGEST_PART,
                row_of="pct",
                passed_over=(OTHERS, "GPU busy"),
            )
        ),
    },
)
