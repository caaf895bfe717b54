"""Names from before ``rules.kit``, ``reportgen.text`` and ``reportgen.units`` had them."""

from __future__ import annotations

from typing import Any

from reportgen.results import Counters, Reason, ReasonCode, RuleId, RuleResult
from reportgen.rules import kit
from reportgen.rules.base import Presentation
from reportgen.rules.kit import TOP, share_limit, top_k
from reportgen.rules.saying.verdict import conclude
from reportgen.text import format_ns, format_ns_range
from reportgen.units import pct_of, ratio_of

OURS = "chosen: see the meaning"
say_ns, say_range, say_window = format_ns, format_ns_range, kit.window_name

__all__ = [
    "OURS",
    "TOP",
    "pct_of",
    "ratio_of",
    "reason_without_gpu",
    "result_of",
    "say_device",
    "say_ns",
    "say_range",
    "say_window",
    "share_limit",
    "top_k",
]


def reason_without_gpu(*, n_ranks: int, n_ops: int) -> Reason | None:
    """Return why there is nothing to look at, ``None`` when there are GPU operations."""
    if n_ranks == 0:
        return Reason(code=ReasonCode.NO_EVENTS, text="No kernel trace was given.")
    return kit.reason_without_gpu(n_ops)


def result_of(
    rule_id: RuleId,
    *,
    params: Any,
    reason: Reason | None,
    presentation: Presentation,
    metrics: dict[str, float | int | None],
) -> RuleResult:
    """Return the result of a rule without an AWS counterpart: zero counters, no details."""
    return conclude(
        rule_id,
        params=params,
        reason=reason,
        counters=Counters(),
        details={},
        metrics=metrics,
        presentation=presentation,
    )


def say_device(rank: int, device: int, *, n_ranks: int) -> str:
    """Name a device: ``gpu0``, or ``rank 3 gpu3`` when there are several ranks."""
    return f"gpu{device}" if n_ranks == 1 else f"rank {rank} gpu{device}"
