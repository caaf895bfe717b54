"""What ran at some moments against others: sums of functions, and the one that stands out.

Each event counts once with its full length; the divisor of a mean is the number of events of
that name and phase. Source: features 000-25 to 000-31.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import sums_by_code
from reportgen.profile import SpanTable
from reportgen.profile.spans import STEP_PREFIX
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import NS_PER_S, say_pct

LEAST_INCREASE = 1.5
LEAST_EVENTS = 10
"""A cause is named from this factor, and from so many events on both sides. Source: features
000-29."""

FunctionSums = Mapping[tuple[str, str], tuple[int, int]]
"""By name and phase: how many events, and their nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The function whose share of the time rose most, in numbers and in a sentence.

    ``factor`` is share by other share, infinite when the function did not run otherwise.
    """

    name: str
    share_pct: float
    other_share_pct: float
    factor: float
    text: str


def function_sums(spans: SpanTable, rows: NDArray[np.bool_]) -> FunctionSums:
    """Add up the chosen events of each function; steps are no functions and are left out."""
    if not spans.n_spans:
        return {}
    is_step = np.array([STEP_PREFIX in phase for phase in spans.phases], dtype=np.bool_)
    chosen = spans.where(rows & ~is_step[spans.phase])
    n_phases = len(spans.phases)
    pair = chosen.name.astype(np.int64) * n_phases + chosen.phase
    keys, code, count = np.unique(pair, return_inverse=True, return_counts=True)
    sums_ns = sums_by_code(code.reshape(-1), chosen.duration_ns, keys.size)
    return {
        (spans.names[key // n_phases], spans.phases[key % n_phases]): (n_events, int(sum_ns))
        for key, n_events, sum_ns in zip(keys.tolist(), count.tolist(), sums_ns, strict=True)
    }


def merge_function_sums(parts: Iterable[FunctionSums]) -> FunctionSums:
    """Add up the sums of several nodes."""
    merged: dict[tuple[str, str], tuple[int, int]] = {}
    for part in parts:
        for key, (count, sum_ns) in part.items():
            before = merged.get(key, (0, 0))
            merged[key] = (before[0] + count, before[1] + sum_ns)
    return merged


def main_cause(sums: FunctionSums, others: FunctionSums, *, at: str, against: str) -> Cause | None:
    """Return the function that takes much more of the time at the moments than otherwise.

    Of the functions whose share rose ``LEAST_INCREASE``-fold or more it is the one whose share
    rose by most points. The mean time alone does not tell: a function that is as long as ever,
    but runs at every bottleneck and at no other time, is the cause too.

    Args:
        sums, others: what ran at the moments, and otherwise.
        at, against: what the moments are, for the sentence: ``"during bottlenecks"``.

    Returns:
        ``None`` when the evidence is thin, so that no sentence is said: the function ran fewer
        than ``LEAST_EVENTS`` times at the moments, or fewer events than that are on the other
        side in all.
    """
    if sum(count for count, _ in others.values()) < LEAST_EVENTS:
        return None
    shares, other_shares = shares_pct(sums), shares_pct(others)
    risen = [
        (shares[key] - other_shares.get(key, 0.0), key)
        for key, (count, _) in sums.items()
        if count >= LEAST_EVENTS and shares[key] >= LEAST_INCREASE * other_shares.get(key, 0.0)
    ]
    increase, key = min(((-points, key) for points, key in risen), default=(0.0, ("", "")))
    if increase >= 0:
        return None
    share_pct, other_pct = shares[key], other_shares.get(key, 0.0)
    factor = share_pct / other_pct if other_pct else math.inf
    times = f": {factor:.1f} times as much" if other_pct else ""
    return Cause(
        name=key[0],
        share_pct=share_pct,
        other_share_pct=other_pct,
        factor=factor,
        text=(
            f"{key[0]} takes {say_pct(share_pct)} of the time of all functions {at} and "
            f"{say_pct(other_pct)} {against}{times}."
        ),
    )


def compared_functions(
    exhibit_id: str, sums: FunctionSums, others: FunctionSums, *, title: str, caption: str
) -> tuple[Exhibit, ...]:
    """Return the table of both sides, largest increase of the share first; none without events."""
    if not sums:
        return ()
    shares, other_shares = shares_pct(sums), shares_pct(others)
    keys = sorted(
        {*sums, *others},
        key=lambda key: (other_shares.get(key, 0.0) - shares.get(key, 0.0), key),
    )
    means, other_means = (
        {key: sum_ns / count / NS_PER_S for key, (count, sum_ns) in side.items()}
        for side in (sums, others)
    )
    ratios = [
        means[key] / other_means[key] if key in means and other_means.get(key) else None
        for key in keys
    ]
    return (
        exhibit(
            exhibit_id,
            ExhibitKind.TABLE,
            title=title,
            caption=caption,
            columns=[
                ("function", "", [name for name, _ in keys]),
                ("phase", "", [phase for _, phase in keys]),
                ("count", "", [sums.get(key, (0, 0))[0] for key in keys]),
                ("mean_s", "s", [means.get(key) for key in keys]),
                ("share_pct", "%", [shares.get(key, 0.0) for key in keys]),
                ("other_count", "", [others.get(key, (0, 0))[0] for key in keys]),
                ("other_mean_s", "s", [other_means.get(key) for key in keys]),
                ("other_share_pct", "%", [other_shares.get(key, 0.0) for key in keys]),
                ("times_as_long", "", ratios),
            ],
        ),
    )


def shares_pct(sums: FunctionSums) -> dict[tuple[str, str], float]:
    """Return the share of each function in the time of all, 0-100."""
    whole_ns = sum(sum_ns for _, sum_ns in sums.values()) or 1
    return {key: 100 * sum_ns / whole_ns for key, (_, sum_ns) in sums.items()}
