"""Share out the lost time: parts of causes that do not overlap, and what no cause accounts for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reportgen.diagnosis.explanations import IDLES, share_of
from reportgen.results import Cause, Exhibit, ExhibitKind, Finding, RuleResult, column, exhibit
from reportgen.text import write
from reportgen.units import percentages

BUDGET = "GPUTimeBudget"
UNKNOWN = "no cause found"
LEAST_S = 1e-3
"""Less GPU time than a millisecond is an error of rounding."""
_OUTSIDE = ("initialization", "finalization")
_CAPTION = """Shares of the lost GPU time, {every:s}: the time in which GPUs were idle, and the time
    that known causes cost although the GPUs looked busy. Time with several causes is counted for
    the largest one only: so a share says where the time went, not how much you gain by fixing the
    cause."""


def parts_of(causes: Sequence[Finding], results: Sequence[RuleResult]) -> dict[int, float]:
    """Return by ``id()`` the share of the time of each cause when larger ones are gone already.

    The shares are upper bounds, each for mending one cause alone, and may overlap; one after the
    other, beginning with the largest, each takes its share of the time that the former ones left.
    Causes for which GPUs wait take together at most the time in which the GPUs did not work.
    """
    left, idle, parts = 1.0, _unused_ratio(results), dict[int, float]()
    for item in sorted(causes, key=lambda item: -share_of(item)):
        is_waiting = item.cause in IDLES
        part = min(left * share_of(item), idle if is_waiting else 1.0)
        parts[id(item)] = round(part, 6)
        left -= part
        idle -= part if is_waiting else 0.0
    return parts


def with_lost_time(result: RuleResult, causes: Sequence[Finding]) -> RuleResult:
    """Return the GPU time budget with what the lost time is due to; any other result as it is."""
    attributed = [item for item in causes if item.attributed_ratio]
    if result.id != BUDGET or not attributed:
        return result
    budget = next((item for item in result.exhibits if item.id == "budget"), None)
    if budget is None:
        return result
    shown = _exhibit(attributed, result, _seconds_of(budget))
    others = [item for item in result.exhibits if item.id != budget.id]
    return replace(result, exhibits=(budget, *([shown] if shown.n_rows else []), *others))


def _unused_ratio(results: Sequence[RuleResult]) -> float:
    metrics = next((result.metrics for result in results if result.id == BUDGET), {})
    unused_pct, idle_ratio = metrics.get("unused_in_loop_pct"), metrics.get("gpu_idle_ratio")
    if unused_pct is not None:
        return unused_pct / 100
    return 1.0 if idle_ratio is None else idle_ratio


def _seconds_of(budget: Exhibit) -> Mapping[str, float]:
    names, amounts = (item.values for item in budget.columns if item.name in {"part", "gpu_s"})
    return {str(name): float(value or 0) for name, value in zip(names, amounts, strict=True)}


def _exhibit(causes: Sequence[Finding], result: RuleResult, part_s: Mapping[str, float]) -> Exhibit:
    outside_s = sum(part_s.get(name, 0.0) for name in _OUTSIDE)
    loop_s = sum(part_s.values()) - outside_s - part_s.get("not_measured", 0.0)
    unknown_s, lost_s = loop_s * _unused_ratio([result]), dict[str, float]()
    for item in causes:
        time_s = (item.attributed_ratio or 0.0) * loop_s
        if item.cause == Cause.LONG_START:
            time_s = min((item.attributed_ratio or 0.0) * (loop_s + outside_s), outside_s)
            outside_s -= time_s
        else:
            unknown_s -= time_s
        name = f"{item.cause.replace('_', ' ')} ({item.id})"
        lost_s[name] = lost_s.get(name, 0.0) + time_s
    lost_s |= {"start and end": outside_s, UNKNOWN: unknown_s}
    lost_s = {name: round(time_s, 6) for name, time_s in lost_s.items() if time_s > LEAST_S}
    return exhibit(
        "lost_time",
        ExhibitKind.SHARES,
        title="Causes of the GPUs' lost time",
        caption=write(_CAPTION, every=sum(lost_s.values())),
        columns=[
            column("part", "", lost_s),
            column("gpu_s", "s", lost_s.values()),
            column("pct", "%", percentages([*lost_s.values()])),
        ],
    )
