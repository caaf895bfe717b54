"""NetworkBottleneck in words: when, how much, and against which limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import Presentation
from reportgen.rules.saying.intervals import Interval, intervals_exhibit
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import say_bytes, say_duration, say_pct

EPISODES = "episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A time in which a GPU idled while its node received close to the limit."""

    node: str
    start_s: float
    end_s: float
    mean_bytes_per_s: float
    gpu_mean_pct: float

    @property
    def duration_s(self) -> float:
        """Return the time from the first to the last tick."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """From which rate on the network is busy: a share of the limit, and never below a floor."""

    share_pct: float
    floor_bytes_per_s: float

    def of(self, limit_bytes_per_s: float) -> float:
        """Return the least rate in bytes/s."""
        return max(limit_bytes_per_s * self.share_pct / 100, self.floor_bytes_per_s)


def present_episodes(
    counters: Counters, details: Details, *, gpu_pct: float, least: Least
) -> Presentation:
    """Return SYS-5 and the episodes; nothing where there are none."""
    episodes = _episodes(details)
    if not episodes:
        return Presentation()
    finding = _finding(counters, details, episodes, gpu_pct=gpu_pct, least=least)
    return Presentation(
        findings=(finding,) if counters.rule_triggered else (),
        exhibits=(_times(episodes), _table(episodes, details)),
    )


def _episodes(details: Details) -> tuple[Episode, ...]:
    by_node = details.get("episodes")
    found = []
    for node, items in by_node.items() if isinstance(by_node, dict) else ():
        for item in items if isinstance(items, list) else ():
            assert isinstance(item, dict)
            found.append(
                Episode(
                    node=node,
                    start_s=_number(item["start"]),
                    end_s=_number(item["end"]),
                    mean_bytes_per_s=_number(item["mean_bytes_per_s"]),
                    gpu_mean_pct=_number(item["gpu_mean"]),
                )
            )
    return tuple(found)


def _finding(
    counters: Counters,
    details: Details,
    episodes: Sequence[Episode],
    *,
    gpu_pct: float,
    least: Least,
) -> Finding:
    longest = max(episodes, key=lambda item: item.duration_s)
    is_own = details.get("limit_source") == "own_p99"
    share = counters.violations / counters.datapoints if counters.datapoints else 0.0
    limit_bytes = _limit(details, longest.node)
    limit = f"{say_bytes(limit_bytes)}/s"
    remark = (
        f"That limit of {limit} is the job's own maximum (99th percentile), not what the network "
        "can do."
        if is_own
        else f"The limit is {limit}, as given."
    )
    return Finding(
        id="SYS-5",
        severity=Severity.WARNING if is_own else fault_severity(share),
        title=f"A GPU idles while the network is busy: {say_pct(100 * share)} of the job",
        text=(
            f"In {say_times(len(episodes), 'episode')} a GPU was below {say_pct(gpu_pct)} while "
            f"its node received close to its limit; in the longest {longest.node} received "
            f"{say_bytes(longest.mean_bytes_per_s)}/s for {say_duration(longest.duration_s)}. "
            f"{remark}"
        ),
        advice=(
            "Read smaller or compressed records, keep a local copy of what is read again, or take "
            "an instance with more network bandwidth."
        ),
        where=Where(node=longest.node, start_s=longest.start_s, end_s=longest.end_s),
        measured=round(longest.mean_bytes_per_s, 1),
        threshold=round(least.of(limit_bytes), 1),
        unit="bytes/s",
        estimate=None if is_own else estimate_of(share),
        exhibit=EPISODES,
    )


def _times(episodes: Sequence[Episode]) -> Exhibit:
    return intervals_exhibit(
        [
            Interval(
                node=item.node,
                device="",
                what="network busy, GPU idle",
                start_s=item.start_s,
                end_s=item.end_s,
            )
            for item in episodes
        ],
        title="When a GPU idled while the network was busy",
    )


def _table(episodes: Sequence[Episode], details: Details) -> Exhibit:
    return exhibit(
        EPISODES,
        ExhibitKind.TABLE,
        title="Episodes",
        caption="Means over the ticks in which a GPU idled and the node received at its limit.",
        columns=[
            ("node", "", [item.node for item in episodes]),
            ("start_s", "s", [item.start_s for item in episodes]),
            ("end_s", "s", [item.end_s for item in episodes]),
            ("duration_s", "s", [item.duration_s for item in episodes]),
            ("received", "bytes/s", [item.mean_bytes_per_s for item in episodes]),
            ("limit", "bytes/s", [_limit(details, item.node) for item in episodes]),
            ("gpu_mean_pct", "%", [item.gpu_mean_pct for item in episodes]),
        ],
    )


def _limit(details: Details, node: str) -> float:
    limits = details.get("limit_bytes_per_s")
    return _number(limits.get(node)) if isinstance(limits, dict) else 0.0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
