"""Dataloader: how many loader processes feed the training, and whether it waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.distributions import tally_values
from reportgen.profile import NodeProfile
from reportgen.profiling import ProfilingKind
from reportgen.results import (
    Counters,
    Details,
    JsonValue,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.kit import HOW_TO_RECORD
from reportgen.rules.loading import words
from reportgen.rules.loading.facts import Limits, worst_waiting
from reportgen.rules.loading.host import are_cores_used_up
from reportgen.rules.loading.node import Measurement, all_waits, measure_node
from reportgen.rules.loading.seconds import (
    LEAST_SECONDS,
    Seconds,
    join_seconds,
    median_loaders,
    minutes_out_of_range,
)
from reportgen.rules.loading.uses import (
    longest_active,
)
from reportgen.rules.saying.verdict import conclude
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S

ID = RuleId("Dataloader")
AWS_BINS = 100

ABOUT = About(
    checks="Whether the number of loader processes fits the cores, and whether training waits.",
    reading=(
        "Loader processes at work are counted in each second with loader activity; their median "
        "is compared with the cores of a node. Whether that matters is decided by how long the "
        "training loop waited for batches."
    ),
    advice=(
        "If the loop waits: more workers up to the number of cores, prefetching, cheaper "
        "preprocessing, faster storage. If there are more workers than cores: fewer."
    ),
    section=Section(id="data-loading", title="Data loading", order=180),
    has_counters=True,
    recorded_by=ProfilingKind.LOADER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order, then ours."""

    min_threshold: float = param(
        70,
        unit="% of the cores",
        meaning="fewer loader processes than this are too few",
        source="AWS developer guide; observed, rules-spec §0.5",
        minimum=0,
    )
    max_threshold: float = param(
        200,
        unit="% of the cores",
        meaning="more loader processes than this are too many",
        source="AWS developer guide; observed, rules-spec §0.5",
        minimum=0,
    )
    wait_pct: float = param(
        10,
        unit="% of the loop",
        meaning="waiting for data matters from this share on",
        source="ours",
        minimum=0,
        maximum=100,
        is_printed=False,
    )


def measure(part: NodeProfile, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Measure the loaders of one node."""
    return measure_node(part)


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Count minutes in which the number of loaders did not fit, and say whether it matters."""
    busy = join_seconds([item.seconds for item in measurements])
    cores = {core for item in measurements for core in item.cores}
    n_events = sum(item.n_events for item in measurements)
    violations = _violations(busy, len(cores), params) if cores else 0
    counters = Counters(
        rule_triggered=int(violations > 0), violations=violations, datapoints=n_events
    )
    details = _details(measurements, busy, n_cores=len(cores)) if n_events else {}
    reason = _reason(measurements, n_seconds=int(busy.second.size), has_cores=bool(cores))
    context = words.Context(
        is_judged=reason is None,
        has_gpu=any(item.has_gpu for item in measurements),
        is_pipeline_known=any(item.is_pipeline_known for item in measurements),
        has_prefetch=any(item.has_prefetch for item in measurements),
        has_processes=any(item.is_pytorch or not item.is_tensorflow for item in measurements),
        processes_per_node=max((len(item.waiting) for item in measurements), default=0),
        waits=tally_values(all_waits(measurements)),
        are_cores_used_up=are_cores_used_up([item.hot_ratio for item in measurements]),
        is_host_full=are_cores_used_up([item.loop_hot_ratio for item in measurements]),
        waiting=tuple(one for item in measurements for one in item.waiting),
        loaders=tuple(one for item in measurements for one in item.loaders),
        life_times=tuple(one for item in measurements for one in item.life_times),
        batches=tuple(one for item in measurements for one in item.batches),
    )
    return conclude(
        ID,
        params=params,
        reason=reason,
        counters=counters,
        details=details,
        metrics=_metrics(measurements, busy, context),
        presentation=present(counters, details, params, context),
    )


def present(
    counters: Counters, details: Details, params: Params, context: words.Context | None
) -> Presentation:
    """Say what to change; ``context`` holds waits, loaders and life times."""
    limits = Limits(
        min_pct=params.min_threshold, max_pct=params.max_threshold, wait_pct=params.wait_pct
    )
    return words.present(counters, details, context, limits)


def _violations(busy: Seconds, n_cores: int, params: Params) -> int:
    return minutes_out_of_range(
        busy,
        fewest=params.min_threshold / 100 * n_cores,
        most=params.max_threshold / 100 * n_cores,
    )


def _details(measurements: Sequence[Measurement], busy: Seconds, *, n_cores: int) -> Details:
    setup = longest_active([one for item in measurements for one in item.loaders])
    details: Details = {
        "pin_memory": setup.pin_memory if setup else None,
        "num_workers": setup.num_workers if setup else None,
        "cores": n_cores,
        "dataloaders": int(median_loaders(busy)),
    }
    if any(item.is_tensorflow for item in measurements):
        details["prefetch"] = any(item.has_prefetch for item in measurements)
    details["dataloading_time"] = _times(all_waits(measurements))
    return details


def _times(wait_ns: NDArray[np.int64]) -> dict[str, JsonValue]:
    if wait_ns.size == 0:
        return {}
    wait_s = wait_ns / NS_PER_S
    p25, p50, p95 = np.percentile(wait_s, (25, 50, 95)).tolist()
    counts, edges = np.histogram(wait_s, bins=AWS_BINS)
    return {
        "p25": p25,
        "p50": p50,
        "p95": p95,
        "probs": counts.tolist(),
        "binedges": edges.tolist(),
    }


def _reason(
    measurements: Sequence[Measurement], *, n_seconds: int, has_cores: bool
) -> Reason | None:
    if not any(item.n_spans for item in measurements):
        return Reason(
            code=ReasonCode.NO_FRAMEWORK_METRICS,
            text=f"The job has no framework events. {HOW_TO_RECORD}",
        )
    if not any(item.n_events for item in measurements):
        return Reason(code=ReasonCode.NO_EVENTS, text="No framework event is about loading data.")
    if n_seconds <= LEAST_SECONDS:
        return Reason(
            code=ReasonCode.TOO_FEW_SAMPLES,
            text=(
                f"Too short to judge: loaders were active in {say_times(n_seconds, 'second')}, "
                f"more than {LEAST_SECONDS} are needed."
            ),
        )
    if not has_cores:
        return Reason(
            code=ReasonCode.TOO_FEW_SAMPLES,
            text="Without system metrics the number of cores is unknown.",
        )
    return None


def _metrics(
    measurements: Sequence[Measurement], busy: Seconds, context: words.Context
) -> dict[str, float | int | None]:
    if not busy.second.size and not context.waiting:
        return {}
    wait_s = all_waits(measurements) / NS_PER_S
    p50, p95 = np.percentile(wait_s, (50, 95)).tolist() if wait_s.size else (None, None)
    worst = worst_waiting(context.waiting)
    return {
        "waits": int(wait_s.size),
        "wait_p50_s": p50,
        "wait_p95_s": p95,
        "slow_batches": sum(item.slow_batches.n_slow for item in context.batches),
        "slow_waits": sum(item.slow_waits.n_slow for item in context.batches),
        "waited_ratio": worst.ratio if worst else None,
        "loaders_p50": median_loaders(busy) if busy.second.size else None,
    }


RULE = Rule(
    id=ID,
    title="Data loading",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("batch_functions", "workers"),
)
