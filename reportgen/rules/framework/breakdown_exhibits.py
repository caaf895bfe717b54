"""Charts of a breakdown: shares of phases, passes, operators, other work, communication."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.results import Details, Exhibit
from reportgen.rules.framework.breakdown import (
    OTHERS,
    Breakdown,
    forward_backward_ns,
    largest_first,
)
from reportgen.rules.framework.loop import shares_from_details, shares_of_time

_TITLES: Mapping[str, tuple[str, str]] = {
    "phase": ("phase_shares", "Step phases"),
    "forward_backward": ("forward_backward", "Forward and backward passes"),
    "ratio": ("operator_ratio", "Operators by device"),
    "general": ("general", "Other framework work"),
    "horovod": ("horovod", "Communication activities"),
}
"""AWS's member -> our exhibit id and title."""


def exhibits_of_breakdown(
    breakdown: Breakdown, *, with_others: bool, prefix: str = "", during: str = ""
) -> tuple[Exhibit, ...]:
    """Return one ``shares`` exhibit per member that has something to share.

    Args:
        breakdown: the sums.
        with_others: whether the phases include the time between steps.
        prefix: put before the ids, ``"outlier_"``.
        during: put behind the titles, ``" during slow steps"``.
    """
    steps = largest_first(breakdown.step_ns)
    if with_others and steps:
        steps[OTHERS] = breakdown.others_ns
    totals = {
        "phase": steps,
        "forward_backward": forward_backward_ns(breakdown),
        "ratio": largest_first(breakdown.device_ns),
        "general": largest_first(breakdown.general_ns),
        "horovod": largest_first(breakdown.horovod_ns),
    }
    return tuple(
        shares_of_time(f"{prefix}{exhibit_id}", totals[member], title=f"{title}{during}")
        for member, (exhibit_id, title) in _TITLES.items()
        if sum(totals[member].values())
    )


def exhibits_of_members(
    details: Details, *, prefix: str = "", during: str = ""
) -> tuple[Exhibit, ...]:
    """Return the same exhibits from AWS's JSON, which has percentages only.

    Numbers known to be wrong are shown as they are, with a remark.
    """
    found = (
        shares_from_details(
            f"{prefix}{exhibit_id}",
            details.get(member),
            title=f"{title}{during}",
            caption=_remark(details, member),
        )
        for member, (exhibit_id, title) in _TITLES.items()
    )
    return tuple(item for item in found if item is not None)


def _remark(details: Details, member: str) -> str:
    """Return what is known to be wrong with AWS's member. Source: oracle §10."""
    phase, ratio = details.get("phase"), details.get("ratio")
    is_overall = isinstance(phase, dict) and OTHERS in phase
    if member == "phase" and is_overall:
        return "AWS's rule tells about half of the time between steps."
    if member == "ratio" and not is_overall and isinstance(ratio, dict) and len(ratio) > 1:
        return "AWS's rule swaps the labels of CPU and GPU here."
    return ""
