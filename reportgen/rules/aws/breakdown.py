"""The breakdown members of AWS's results, ``ratio`` to ``horovod``: written, read, and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reportgen.facts.breakdown import (
    FORWARD_PASS,
    OTHERS,
    Breakdown,
    forward_backward_ns,
    largest_first,
    listed,
    shares_pct,
)
from reportgen.profile.spans import LOADER_PROCESS
from reportgen.results import ColumnType, Details, Exhibit, ExhibitKind, Role, column, exhibit
from reportgen.rules.aws.details import numbers_of
from reportgen.rules.kit import floats, ranking
from reportgen.text import format_pct
from reportgen.units import NS_PER_S, NS_PER_US, percentages

_TITLES: Mapping[str, tuple[str, str]] = {
    "phase": ("phase_shares", "Step phases"),
    "forward_backward": ("forward_backward", "Forward and backward passes"),
    "ratio": ("operator_ratio", "Operators by device"),
    "general": ("general", "Other framework work"),
    "horovod": ("horovod", "Communication activities"),
}
"""AWS's member -> our exhibit id and title."""
_ROLES = {"loader": Role.IO, "backward": Role.STEP, "forward": Role.GPU}
"""Roles of other framework work, by the first of these words in its name."""


def breakdown_details(
    breakdown: Breakdown, *, with_others: bool, phases_first: bool = False
) -> Details:
    """Return AWS's members with correct labels.

    ``with_others``: ``phase`` has the time between steps, as in OverallFrameworkMetrics alone.
    ``phases_first``: AWS's order for steps; its bottleneck rules begin with the operators.
    Without events exactly ``{"ratio": {}, "phase": {}, "phase_time": {}}``.
    """
    operators = _operators("CPU", breakdown.cpu_ns) | _operators("GPU", breakdown.gpu_ns)
    steps_ns = _steps_ns(breakdown.step_ns, breakdown, with_others=with_others)
    phases: Details = {"phase": _pct(steps_ns), "phase_time": {}}
    device_first = "gpu" if phases_first else "cpu"
    devices = sorted(breakdown.device_ns, key=lambda name: (device_first not in name, name))
    details: Details = {"ratio": _pct({name: breakdown.device_ns[name] for name in devices})}
    details |= phases | operators if phases_first else operators | phases
    rest = {
        "general": largest_first(breakdown.general_ns),
        "forward_backward": forward_backward_ns(breakdown),
        "horovod": listed(breakdown.horovod_ns),
    }
    return details | {name: share for name, total in rest.items() if (share := _pct(total))}


def exhibits_of_breakdown(
    breakdown: Breakdown, *, with_others: bool, prefix: str = "", during: str = ""
) -> Iterator[Exhibit]:
    """Yield one ``shares`` exhibit per member that has something to share.

    The lives of loader processes are no part of any: they run beside the loop. AWS's JSON has them.
    ``with_others`` adds the time between steps; ``prefix`` (``"outlier_"``) precedes the ids,
    ``during`` (``" during outlier steps"``) behind the titles.
    """
    step_ns = largest_first(breakdown.step_ns)
    in_loop_ns = {k: v for k, v in breakdown.general_ns.items() if k != LOADER_PROCESS}
    totals = {
        "phase": _steps_ns(step_ns, breakdown, with_others=with_others),
        "forward_backward": forward_backward_ns(breakdown),
        "ratio": largest_first(breakdown.device_ns),
        "general": largest_first(in_loop_ns),
        "horovod": largest_first(breakdown.horovod_ns),
    }
    for member, (exhibit_id, title) in _TITLES.items():
        if sum((total := totals[member]).values()):
            yield ranking(
                f"{prefix}{exhibit_id}",
                list(total.items()),
                title=f"{title}{during}",
                amount=("time_s", "s"),
                per=NS_PER_S,
                roles=[_role(member, name) for name in total],
            )


def exhibits_of_members(
    details: Details, *, prefix: str = "", during: str = ""
) -> Iterator[Exhibit]:
    """Yield the same exhibits from AWS's JSON, which has percentages only.

    Numbers known to be wrong are shown as they are, with a remark. Negative parts, which AWS's
    ``others`` may be, cannot be drawn: then the caption holds AWS's values, and the parts that
    are drawn add up to 100.
    """
    for member, (exhibit_id, title) in _TITLES.items():
        parts = numbers_of(details.get(member))
        if not parts:
            continue
        kept = {name: value for name, value in parts.items() if value >= 0}
        pct, caption = list(kept.values()), _remark(details, member)
        if len(kept) < len(parts):
            given = ", ".join(f"{name} {format_pct(value)}" for name, value in parts.items())
            pct = list(percentages(pct))
            caption += f""" AWS's shares are impossible ({given}); without the negative ones they
                are these."""
        yield exhibit(
            f"{prefix}{exhibit_id}",
            ExhibitKind.SHARES,
            title=f"{title}{during}",
            caption=caption.strip(),
            columns=[
                column("part", "", kept, type=ColumnType.TEXT),
                *floats(("time_s", "s", [None for _ in kept]), ("pct", "%", pct)),
            ],
            row_roles=[_role(member, name) for name in kept],
        )


def _steps_ns(
    step_ns: Mapping[str, int], breakdown: Breakdown, *, with_others: bool
) -> dict[str, int]:
    return {**step_ns, **({OTHERS: breakdown.others_ns} if with_others and step_ns else {})}


def _operators(device: str, total_ns: Mapping[str, int]) -> Details:
    entries = listed(total_ns)
    if not entries:
        return {}
    total_us: Details = {name: round(value / NS_PER_US) for name, value in entries.items()}
    return {device: _pct(entries), f"{device}_total": total_us}


def _pct(total_ns: Mapping[str, int]) -> Details:
    return {**shares_pct(total_ns)}


def _role(member: str, name: str) -> Role:
    if name == OTHERS:
        return Role.IDLE
    if member == "ratio":
        return Role.CPU if "cpu" in name.casefold() else Role.GPU
    if member == "general":
        said = name.casefold()
        return next((role for word, role in _ROLES.items() if word in said), Role.OTHER)
    if member == "horovod":
        return Role.NETWORK
    return Role.GPU if name == FORWARD_PASS else Role.STEP


def _remark(details: Details, member: str) -> str:
    """Return the known error of AWS's member (docs/rules.md)."""
    phase, ratio = details.get("phase"), details.get("ratio")
    is_overall = isinstance(phase, dict) and OTHERS in phase
    if member == "phase" and is_overall:
        return "AWS's rule reports about half of the time between steps."
    if member == "ratio" and not is_overall and isinstance(ratio, dict) and len(ratio) > 1:
        return "AWS's rule swaps the labels of CPU and GPU here."
    return ""
