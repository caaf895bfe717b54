"""Which function the extra time of slow steps went into, if one of them took most of it."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.rules.periods.contents import Contents, FunctionPart

NAMED_FROM_RATIO = 0.5
"""A cause explains more than half of the extra time. Source: ours."""
ALWAYS_THERE_RATIO = 0.98
"""What fills normal steps as well tells nothing about slow ones. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One function per slow and per normal step, in ns.

    Attributes:
        excess_ratio: how much of the extra time of a slow step it took; negative when it took
            less than in a normal one.
        evidence_ratio: the same beyond what something that always runs at its usual rate would
            have taken: 0 for a background thread, 1 for what filled all of the extra time.
    """

    part: FunctionPart
    slow_ns: float
    normal_ns: float
    excess_ratio: float
    evidence_ratio: float


def compare(contents: Contents) -> tuple[Compared, ...]:
    """Return the functions by how much more time they took in slow steps, most first.

    Edge cases: without a normal step, or when slow ones are no longer, there is nothing to tell.
    """
    if not contents.n_slow or not contents.n_normal:
        return ()
    slow_ns = contents.slow_ns / contents.n_slow
    normal_ns = contents.normal_ns / contents.n_normal
    extra_ns = slow_ns - normal_ns
    if extra_ns <= 0:
        return ()
    found = [_compared(part, contents, normal_ns, extra_ns) for part in contents.functions]
    return tuple(sorted(found, key=lambda item: (-item.excess_ratio, item.part.label)))


def cause_of(compared: tuple[Compared, ...]) -> Compared | None:
    """Return the function that took most of the extra time, ``None`` when none did."""
    likely = [item for item in compared if item.evidence_ratio > NAMED_FROM_RATIO]
    return max(likely, key=lambda item: (item.evidence_ratio, item.part.label), default=None)


def _compared(
    part: FunctionPart, contents: Contents, normal_step_ns: float, extra_ns: float
) -> Compared:
    slow_ns = part.slow_ns / contents.n_slow
    normal_ns = part.normal_ns / contents.n_normal
    rate = normal_ns / normal_step_ns if normal_step_ns else 0.0
    excess_ratio = (slow_ns - normal_ns) / extra_ns
    is_constant = rate > ALWAYS_THERE_RATIO
    return Compared(
        part=part,
        slow_ns=slow_ns,
        normal_ns=normal_ns,
        excess_ratio=excess_ratio,
        evidence_ratio=0.0 if is_constant else (excess_ratio - rate) / (1 - rate),
    )
