"""A recording of a start: one idle stretch outweighs all else, and no step was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reportgen.results import Finding, Severity
from reportgen.rules.kernels.idle_stretches import (
    STRETCHES,
    DeviceStretches,
    Stretch,
    place_of,
    say_before,
)
from reportgen.rules.kernels.saying import pct_of, say_ns, say_window
from reportgen.rules.kernels.windows import WindowKind
from reportgen.units import NS_PER_S, say_pct

LEAST_START_NS = NS_PER_S
"""A context and libraries take seconds; a shorter stretch may be anything. Source: ours."""


def start_of(
    devices: Sequence[tuple[str, DeviceStretches]], *, limit_pct: float, words: Mapping[str, str]
) -> Finding | None:
    """Return that the recording is of a start, ``None`` where it is not.

    Args:
        devices: node and long stretches of each device in its headline window.
        limit_pct: from which share of the windows on the longest stretches make a start.
        words: causes for people.
    """
    with_any = [(node, item) for node, item in devices if item.stretches]
    if not with_any or any(item.window.kind is WindowKind.STEPS for _, item in devices):
        return None
    longest = [(node, item, _longest(item)) for node, item in with_any]
    node, item, stretch = max(longest, key=lambda entry: entry[2].length_ns)
    share_pct = pct_of(
        sum(one.length_ns for _, _, one in longest), sum(i.window.length_ns for _, i in devices)
    )
    if share_pct < limit_pct or stretch.length_ns < LEAST_START_NS:
        return None
    window = say_window([item.window for _, item in devices])
    cause = words.get(stretch.cause, stretch.cause)
    return Finding(
        id="IDLE-9",
        severity=Severity.WARNING,
        title=f"One idle stretch takes {say_pct(share_pct)}: it looks like a start, not like steps",
        text=(
            f"For {say_ns(stretch.length_ns)} before {say_before(stretch)} nothing ran on the GPU "
            f"({cause}); that is {say_pct(share_pct)} of {window}. No steps were recorded. "
            "Creating a context, loading libraries and choosing algorithms happen once; shares of "
            "such a recording say little of training."
        ),
        advice=(
            "Record after warm-up: torch.profiler.schedule(wait=1, warmup=1, active=3), with "
            "prof.step() at the end of each step."
        ),
        where=place_of(node, item, stretch),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        exhibit=STRETCHES,
    )


def of_a_start(fault: Finding) -> Finding:
    """Return a fault of idling as a reading: what happens once is nothing to win in each step."""
    text = f"{fault.text} The recording looks like a start."
    return replace(fault, severity=Severity.INFO, estimate=None, text=text)


def _longest(item: DeviceStretches) -> Stretch:
    return max(item.stretches, key=lambda stretch: stretch.length_ns)
