"""Long idle stretches as evidence: a list, and when they were."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.budget.parts import NodeBudget, Part
from reportgen.rules.budget.stretches import Stretch
from reportgen.rules.saying.intervals import MOST_INTERVALS, Interval, intervals_exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_duration, seconds

STRETCHES = "idle_stretches"


def stretch_exhibits(nodes: Sequence[NodeBudget], *, least_idle_s: float) -> tuple[Exhibit, ...]:
    """Return the table and the intervals of the longest stretches; nothing without any."""
    every = [(node.node, stretch) for node in nodes for stretch in node.stretches]
    every.sort(key=lambda pair: (-pair[1].duration_ns, pair[1].start_ns, pair[0], pair[1].device))
    shown = sorted(
        every[:MOST_INTERVALS], key=lambda pair: (pair[1].start_ns, pair[0], pair[1].device)
    )
    if not shown:
        return ()
    gpus = [gpu for node in nodes for gpu in node.gpus]
    n_all = sum(gpu.n_stretches for gpu in gpus)
    caption = (
        f"A GPU at 10 % or less for at least {say_duration(least_idle_s)} within the training "
        f"loop: {say_times(n_all, 'time')}, "
        f"{say_duration(sum(gpu.stretches_ns for gpu in gpus) / NS_PER_S)} of GPU time together."
    )
    return (
        _table(shown, n_all=n_all, caption=caption),
        intervals_exhibit(
            [
                Interval(
                    node=node,
                    device=stretch.device,
                    what=f"idle {say_duration(stretch.duration_ns / NS_PER_S)}, "
                    f"{_cause(stretch).value.replace('_', ' ')}",
                    start_s=seconds(stretch.start_ns),
                    end_s=seconds(stretch.end_ns),
                )
                for node, stretch in shown
            ],
            title="When GPUs idled",
            caption=caption,
            n_all=n_all,
        ),
    )


def _table(shown: Sequence[tuple[str, Stretch]], *, n_all: int, caption: str) -> Exhibit:
    stretches = [stretch for _, stretch in shown]
    rest = f" The {len(shown):,} longest are listed." if len(shown) < n_all else ""
    return exhibit(
        STRETCHES,
        ExhibitKind.TABLE,
        title="Long idle stretches of GPUs",
        caption=(
            f"{caption}{rest} The cause is the part that took most of a stretch, cause_pct of it."
        ),
        columns=[
            ("node", "", [node for node, _ in shown]),
            ("device", "", [stretch.device for stretch in stretches]),
            ("start_s", "s", [seconds(stretch.start_ns) for stretch in stretches]),
            ("end_s", "s", [seconds(stretch.end_ns) for stretch in stretches]),
            ("duration_s", "s", [stretch.duration_ns / NS_PER_S for stretch in stretches]),
            ("cause", "", [_cause(stretch).value for stretch in stretches]),
            (
                "cause_pct",
                "%",
                [round(100 * item.cause_ns / item.duration_ns, 1) for item in stretches],
            ),
        ],
    )


def _cause(stretch: Stretch) -> Part:
    return list(Part)[stretch.cause]
