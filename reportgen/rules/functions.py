"""Functions at some moments against others, as several rules show and say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reportgen.facts.breakdown import FunctionSums, Increase
from reportgen.profile.spans import LOADER_PROCESS
from reportgen.results import Depth, Exhibit, ExhibitKind, exhibit
from reportgen.rules.kit import col, row, table
from reportgen.text import write
from reportgen.units import NS_PER_S

MOST_BARS = 15
COUNTED = """ Each event counts once in each group, with its full length. Functions whose share grew
    most come first."""


@row
class _Compared:
    function: str = col()
    phase: str = col()
    count: int = col()
    mean_s: float | None = col("s")
    share_pct: float = col("%")
    other_count: int = col()
    other_mean_s: float | None = col("s")
    other_share_pct: float = col("%")
    times_as_long: float | None = col()


def compared_functions(
    exhibit_id: str, sums: FunctionSums, others: FunctionSums, *, title: str, caption: str
) -> Iterator[Exhibit]:
    """Yield the table of both sides, largest increase of the share first; none without events."""
    if not sums.count:
        return
    share, other_share = sums.share_pct, others.share_pct
    mean, other_mean = (
        {key: total_ns / side.count[key] / NS_PER_S for key, total_ns in side.total_ns.items()}
        for side in (sums, others)
    )
    keys = sorted(
        {*sums.count, *others.count},
        key=lambda key: (other_share.get(key, 0.0) - share.get(key, 0.0), key),
    )
    rows = [
        _Compared(
            function=key[0],
            phase=key[1],
            count=sums.count.get(key, 0),
            mean_s=mean.get(key),
            share_pct=share.get(key, 0.0),
            other_count=others.count.get(key, 0),
            other_mean_s=other_mean.get(key),
            other_share_pct=other_share.get(key, 0.0),
            times_as_long=mean[key] / usual
            if key in mean and (usual := other_mean.get(key))
            else None,
        )
        for key in keys
    ]
    whole = table(exhibit_id, rows, _Compared, title=title, caption=f"{caption}{COUNTED}")
    means = _side_by_side(f"{exhibit_id}_means", rows, title)
    yield from (means, replace(whole, depth=Depth.FOLDED)) if means.n_rows else (whole,)


def _side_by_side(exhibit_id: str, rows: Sequence[_Compared], title: str) -> Exhibit:
    """Return bars of the mean duration on both sides, largest excess first."""
    # A loader process lives as long as its epoch: that is no call.
    ran = [row for row in rows if row.mean_s is not None and row.function != LOADER_PROCESS]
    ran.sort(key=lambda row: (row.other_mean_s or 0.0) - (row.mean_s or 0.0))
    shown = ran[:MOST_BARS]
    return exhibit(
        exhibit_id,
        ExhibitKind.BARS,
        title=f"{title}: mean duration",
        caption="Mean duration of one call in either group, the largest difference first.",
        columns=[
            ("function", "", [f"{row.function} ({row.phase})" for row in shown]),
            ("mean_s", "s", [row.mean_s for row in shown]),
            ("other_mean_s", "s", [row.other_mean_s for row in shown]),
        ],
    )


def cause_text(found: Increase, *, at: str, against: str) -> str:
    """Say which function takes more of the time ``at`` some moments than ``against`` others."""
    times = ": {factor:.1f} times as much" if found.other_share_pct else ""
    return write(
        "{name} takes {share:pct} of the time of all functions {at} and {other:pct} {against}"
        + times
        + ".",
        name=found.name,
        share=found.share_pct,
        other=found.other_share_pct,
        factor=found.factor,
        at=at,
        against=against,
    )


STALL_MARGIN_PCT = 10.0
"""CPU and GPU medians must both be lower by at least this to speak of a stall: less may be the
scatter of a few samples."""


def stall_text(
    medians_pct: Mapping[str, tuple[float | None, float | None]], *, slow: str, normal: str
) -> str:
    """Say that devices wait where all of them are less busy in slow intervals than in normal ones.

    Args:
        medians_pct: of each kind of device the medians in both; ``None`` without samples.
        slow, normal: names of the intervals.

    Returns:
        Nothing unless every median is lower by ``STALL_MARGIN_PCT`` points or more.
    """
    drops = {
        name: other_pct - pct
        for name, (pct, other_pct) in medians_pct.items()
        if pct is not None and other_pct is not None
    }
    if len(drops) < len(medians_pct) or min(drops.values()) < STALL_MARGIN_PCT:
        return ""
    return (
        f"{' and '.join(drops)} are both less busy in {slow} than in {normal} (medians lower by "
        f"{' and '.join(f'{drop:.1f}' for drop in drops.values())} points; {STALL_MARGIN_PCT:g} "
        "are required): they wait for something else, such as a disk or the network."
    )
