"""What the rules over framework events share: why they cannot look, and shares of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reportgen.facts.activity import training_loop_ns
from reportgen.profile import SpanTable
from reportgen.results import Exhibit, ExhibitKind, JsonValue, Reason, ReasonCode, exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, percentages, say_pct

HOW_TO_RECORD = "Switch on framework profiling (or import a trace) to get this part."


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """How many events and steps a node has, and its training loop in ns UTC."""

    n_spans: int
    n_steps: int
    start_ns: int | None = None
    end_ns: int | None = None


def loop_of(spans: SpanTable) -> Loop:
    """Return the training loop of one node: first start to last end over all step events."""
    limits = training_loop_ns(spans)
    n_steps = spans.steps().n_spans
    if limits is None:
        return Loop(n_spans=spans.n_spans, n_steps=n_steps)
    return Loop(n_spans=spans.n_spans, n_steps=n_steps, start_ns=limits[0], end_ns=limits[1])


def join_loops(loops: list[Loop]) -> Loop:
    """Return the loop of a job from those of its nodes."""
    starts = [loop.start_ns for loop in loops if loop.start_ns is not None]
    ends = [loop.end_ns for loop in loops if loop.end_ns is not None]
    return Loop(
        n_spans=sum(loop.n_spans for loop in loops),
        n_steps=sum(loop.n_steps for loop in loops),
        start_ns=min(starts, default=None),
        end_ns=max(ends, default=None),
    )


def loop_length_ns(loop: Loop) -> int:
    """Return the length of a loop, 0 without steps."""
    if loop.start_ns is None or loop.end_ns is None:
        return 0
    return loop.end_ns - loop.start_ns


def reason_without_steps(loop: Loop) -> Reason | None:
    """Return why a rule about steps cannot look: no framework events, or none that is a step."""
    if loop.n_spans == 0:
        return Reason(
            code=ReasonCode.NO_FRAMEWORK_METRICS,
            text=f"The job has no framework events. {HOW_TO_RECORD}",
        )
    if loop.n_steps == 0:
        return Reason(
            code=ReasonCode.NO_STEPS,
            text=f"Of {say_times(loop.n_spans, 'framework event')} none is a training step.",
        )
    return None


def shares_of_time(exhibit_id: str, total_ns: Mapping[str, int], *, title: str) -> Exhibit:
    """Build a ``shares`` exhibit: seconds per part, and percentages that sum to 100.0."""
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        columns=[
            ("part", "", list(total_ns)),
            ("time_s", "s", [value / NS_PER_S for value in total_ns.values()]),
            ("pct", "%", percentages(list(total_ns.values()))),
        ],
    )


def shares_from_details(
    exhibit_id: str, member: JsonValue, *, title: str, caption: str
) -> Exhibit | None:
    """Build the same exhibit from a percentage map of AWS's JSON, which knows no seconds.

    The percentages are AWS's own. Negative parts, which AWS's ``others`` may be, cannot be drawn:
    then the caption holds AWS's values, and the parts that are drawn add up to 100.
    """
    if not isinstance(member, dict) or not member:
        return None
    parts = {name: float(value) for name, value in member.items() if isinstance(value, int | float)}
    kept = {name: value for name, value in parts.items() if value >= 0}
    shown, remark = list(kept.values()), ""
    if len(kept) < len(parts):
        given = ", ".join(f"{name} {say_pct(value)}" for name, value in parts.items())
        shown = list(percentages(shown))
        remark = (
            f" AWS's shares are impossible ({given}); without the negative ones they are these."
        )
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        caption=f"{caption}{remark}".strip(),
        columns=[
            ("part", "", list(kept)),
            ("time_s", "s", [None for _ in kept]),
            ("pct", "%", shown),
        ],
    )
