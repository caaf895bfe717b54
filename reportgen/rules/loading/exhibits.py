"""The evidence about waiting for data: share of the loop, and how long single waits are."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.facts.distributions import Tally, bin_together
from reportgen.facts.loader import Waiting
from reportgen.results import Details, Exhibit, ExhibitKind, exhibit
from reportgen.units import NS_PER_S, percentages, say_duration

WAITS = "waits"
LOOP_SHARE = "loop_share"


def loop_share(waiting: Sequence[Waiting]) -> tuple[Exhibit, ...]:
    """Return how much of the loops was waiting; nothing without waits."""
    if not waiting:
        return ()
    loop_ns = sum(item.loop_ns for item in waiting)
    waited_ns = sum(item.expected_ns for item in waiting)
    recorded_ns = sum(item.waited_ns for item in waiting)
    parts_s = (waited_ns / NS_PER_S, max(loop_ns - waited_ns, 0) / NS_PER_S)
    caption = "Union of the waits of each worker, as part of its loop, summed over the workers."
    lost_ns = sum(item.unrecorded_ns for item in waiting)
    if lost_ns:
        caption += f" {say_duration(lost_ns / NS_PER_S)} without any record are left out."
    if waited_ns > recorded_ns:
        caption += (
            f" Not every wait was recorded: {say_duration(recorded_ns / NS_PER_S)} were, the rest "
            "is estimated from their mean."
        )
    return (
        exhibit(
            LOOP_SHARE,
            ExhibitKind.SHARES,
            title="Waiting for data in the training loop",
            caption=caption,
            columns=[
                ("part", "", ["waiting for data", "rest of the loop"]),
                ("time_s", "s", parts_s),
                ("pct", "%", percentages(parts_s)),
            ],
        ),
    )


def wait_histogram(waits: Tally) -> tuple[Exhibit, ...]:
    """Return the histogram of all waits; nothing without waits."""
    bins = bin_together([waits])
    if not bins.edge_ns.size:
        return ()
    edges_s = bins.edge_ns / NS_PER_S
    return (
        exhibit(
            WAITS,
            ExhibitKind.HISTOGRAM,
            title="How long the loop waits for a batch",
            caption="Each recorded wait of all workers, initialization and validation included.",
            columns=[
                ("bin_start", "s", edges_s[:-1]),
                ("bin_end", "s", edges_s[1:]),
                ("waits", "", bins.counts[0]),
            ],
        ),
    )


def histogram_of_details(details: Details) -> tuple[Exhibit, ...]:
    """Return the histogram that AWS's JSON holds."""
    times = details.get("dataloading_time")
    if not isinstance(times, dict):
        return ()
    counts, edges = times.get("probs"), times.get("binedges")
    if not isinstance(counts, list) or not isinstance(edges, list):
        return ()
    if len(edges) != len(counts) + 1:
        return ()
    return (
        exhibit(
            WAITS,
            ExhibitKind.HISTOGRAM,
            title="Durations of loader events",
            caption="The source mixes waits with life times of loader processes.",
            columns=[
                ("bin_start", "s", edges[:-1]),
                ("bin_end", "s", edges[1:]),
                ("events", "", counts),
            ],
        ),
    )
