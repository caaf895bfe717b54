"""Timeline: how many events each lane of the timeline has, counted on the whole input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen import results
from reportgen.profile.trace import hosts_of_ranks
from reportgen.rules.base import About, Need, Outcome, Part, Rule
from reportgen.rules.kit import col, communication_names, left_out, row, table
from reportgen.timeline import lanes_of

MOST_LANES = 2_000
"""More are not listed one by one; the file of the timeline has all of them."""

ABOUT = About(
    checks="Every event in time, on each thread, process and stream.",
    reading="""Each lane is a thread of the host, a stream of a GPU, a phase of a worker or a
        counter; an arrow leads from a call to the operation that it started.""",
    advice="Look at the moments that findings name.",
    section=results.Section(id="timeline", title="Timeline", order=5),
)


@row
class LaneCount:
    """One lane, and how many events of the input it has."""

    lane: str = col()
    kind: str = col()
    node: str = col()
    events: int = col()
    host: str | None = col()


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Further names of communication."""

    communication_names: str | None = communication_names()


def measure(part: Part, params: Params) -> tuple[LaneCount, ...]:
    """Return how many events each lane of a part has; groups have none."""
    lanes = lanes_of(part, params.communication_names)
    return tuple(
        LaneCount(
            lane=lane.label,
            kind=lane.kind.value,
            node=lanes.node,
            host=lanes.host,
            events=lane.n_events,
        )
        for lane in lanes.lanes
        if lane.strips is not None or lane.track is not None
    )


def judge(parts: Sequence[tuple[LaneCount, ...]], _params: Params) -> Outcome:
    """List the lanes."""
    filled = [part for part in parts if part]
    hosts = hosts_of_ranks([part[0].host or "" for part in filled])
    by_host = zip(hosts, filled, strict=True)
    lanes = [replace(lane, host=host or None) for host, part in by_host for lane in part]
    n_events = sum(lane.events for lane in lanes)
    if not n_events:
        return Outcome(missing="Neither events nor samples were recorded.")
    rest = left_out(" The first {shown} of {every:n}.", shown=MOST_LANES, every=len(lanes))
    listed = table(
        "lanes",
        lanes[:MOST_LANES],
        LaneCount,
        drawn_as=results.ExhibitKind.TIMELINE,
        title="Lanes",
        caption=f"Events of the whole input, drawn or not; of counters their values.{rest}",
    )
    return Outcome(exhibits=[listed], metrics={"n_lanes": len(lanes), "n_events": n_events})


RULE = Rule(
    id=results.RuleId("Timeline"),
    title="Timeline",
    about=ABOUT,
    needs=(Need.KERNELS, Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
)
