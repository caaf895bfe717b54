"""The panels of the dashboard: which exhibit each shows, under which title, in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reportgen.results import Exhibit
from reportgen.units import say_pct
from reportgen.views.charts.arrays import numbers
from reportgen.views.values import say, shorten

_LONGEST_PART = 48
_NOT_TOLD = ("others (", "GPU busy")


def first_part(exhibit: Exhibit) -> str:
    """Return a title that tells the first part of shares: ``GPU active time: 56.6 %``."""
    return f"{exhibit.title}: {say_pct(_parts_of(exhibit)[0][1])}"


def largest_part(exhibit: Exhibit) -> str:
    """Return a title that tells the largest part of shares, not what is neither cause nor name."""
    told = [part for part in _parts_of(exhibit) if not part[0].startswith(_NOT_TOLD)]
    if not told:
        return exhibit.title
    name, pct = max(told, key=lambda part: part[1])
    return f"{exhibit.title}: {say_pct(pct)} {shorten(name, most=_LONGEST_PART).text}"


def longest_stretch(exhibit: Exhibit) -> str:
    """Return a title that tells the longest stretch: ``...: the longest 69 ms before Memcpy``."""
    columns = {column.name: column.values for column in exhibit.columns}
    if not {"duration_us", "before"} <= columns.keys():
        return exhibit.title
    length_us = [value or 0.0 for value in numbers(columns["duration_us"])]
    at = length_us.index(max(length_us))
    name = shorten(str(columns["before"][at]), most=_LONGEST_PART).text
    return f"{exhibit.title}: the longest {say(length_us[at], 'us')} before {name}"


def own_title(exhibit: Exhibit) -> str:
    """Return the title of the rule, which tells the finding itself."""
    return exhibit.title


def _parts_of(exhibit: Exhibit) -> list[tuple[str, float]]:
    columns = {column.name: column.values for column in exhibit.columns}
    pairs = zip(columns["part"], numbers(columns["pct"]), strict=True)
    return [(str(name), pct or 0.0) for name, pct in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A picture of the dashboard.

    Attributes:
        rule_id, exhibit_id: whose it is.
        says: its title.
        is_wide: whether it fills the width.
        is_ranking: whether shares are shown as bars below each other, for many long names.
        choice: other pictures that may be shown in its place.
        shares_axis: whether its time axis is that of utilization.
    """

    rule_id: str
    exhibit_id: str
    says: Callable[[Exhibit], str] = own_title
    is_wide: bool = False
    is_ranking: bool = False
    choice: Choice | None = None
    shares_axis: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What may be shown in the place of a panel's exhibit.

    Attributes:
        question: what is chosen.
        options: label, the end of the exhibit's id, what its rows are; the panel's own exhibit
            comes first and has no end of its own.
        switch: words of a tick box for exhibits with a twin whose id ends in ``twin``.
    """

    question: str
    options: tuple[tuple[str, str, str], ...]
    switch: str = ""
    twin: str = ""


_GROUPS = Choice(
    question="Group by",
    options=(
        ("name", "", "kernel"),
        ("name, grid and block", "_shape", "kernel"),
        ("operator", "_operator", "operator"),
        ("category", "_category", "category"),
    ),
    switch="Leave out communication",
    twin="_compute",
)
_FORMATS = Choice(
    question="Formats",
    options=(
        ("as they are", "", "format"),
        ("as SageMaker Profiler shows them", "_folded", "format"),
    ),
)


PANELS: tuple[Panel, ...] = (
    Panel(rule_id="GPUActivity", exhibit_id="active_time", says=first_part),
    Panel(rule_id="GPUActivity", exhibit_id="activity_split", says=largest_part),
    Panel(rule_id="GPUActivity", exhibit_id="utilization", is_wide=True, shares_axis=True),
    Panel(
        rule_id="IdleTime",
        exhibit_id="idle_stretches",
        says=longest_stretch,
        is_wide=True,
        shares_axis=True,
    ),
    Panel(rule_id="IdleTime", exhibit_id="idle_shares", says=largest_part),
    Panel(rule_id="StepTime", exhibit_id="step_times"),
    Panel(rule_id="Collectives", exhibit_id="transfer_and_waiting", says=largest_part),
    Panel(rule_id="GPUActivity", exhibit_id="overlap", says=largest_part),
    Panel(rule_id="Collectives", exhibit_id="waiting_by_rank", is_wide=True),
    Panel(
        rule_id="KernelTime",
        exhibit_id="top_by_time",
        says=largest_part,
        is_ranking=True,
        is_wide=True,
        choice=_GROUPS,
    ),
    Panel(
        rule_id="KernelTime",
        exhibit_id="top_by_launches",
        says=largest_part,
        is_ranking=True,
        is_wide=True,
        choice=_GROUPS,
    ),
    Panel(
        rule_id="KernelPrecision",
        exhibit_id="precision_shares",
        says=largest_part,
        choice=_FORMATS,
    ),
    Panel(rule_id="KernelPrecision", exhibit_id="matrix_units", says=first_part),
    Panel(rule_id="MemoryOperations", exhibit_id="memory_shares", says=largest_part),
    Panel(rule_id="GPUActivity", exhibit_id="activity_sums", says=largest_part),
    Panel(rule_id="DeviceMemory", exhibit_id="memory_over_time"),
    Panel(rule_id="LaunchQueue", exhibit_id="queue_over_time"),
    Panel(rule_id="LaunchLatency", exhibit_id="launch_delays"),
    Panel(rule_id="HostThreads", exhibit_id="busy_threads"),
    Panel(rule_id="Annotations", exhibit_id="annotation_durations", is_wide=True),
)
"""In the order of SageMaker Profiler's dashboard: activity, steps, kernels, memory, host."""
