"""Nodes that were not sampled for a long part of the job: late, lost, interrupted or paused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.activity import least_pause_ns, sampling_pauses
from reportgen.profile import SystemTable
from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, Where, exhibit
from reportgen.rules.saying.wording import say_of, say_times
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

TABLE = "not_sampled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """When a node was sampled: first and last tick, and the long pauses between them, in ns."""

    first_ns: int
    last_ns: int
    least_ns: int
    pauses: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Absence:
    """A stretch of the job in which a node was not sampled."""

    node: str
    part: str
    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Return how long it took."""
        return self.end_ns - self.start_ns


_LATE, _PAUSE, _LOST = "before its first sample", "between its samples", "after its last sample"


def recording_of(system: SystemTable) -> Recording | None:
    """Return when a node was sampled, ``None`` without samples."""
    if not system.n_ticks:
        return None
    starts, ends = sampling_pauses(system)
    return Recording(
        first_ns=int(system.tick_ns[0]),
        last_ns=int(system.tick_ns[-1]),
        least_ns=least_pause_ns(system.interval_ns),
        pauses=tuple(zip(starts.tolist(), ends.tolist(), strict=True)),
    )


def recording_readings(
    recordings: Sequence[tuple[str, Recording]],
) -> tuple[tuple[Finding, ...], tuple[Exhibit, ...]]:
    """Return a reading and its table if a node was not sampled for minutes, else nothing.

    Args:
        recordings: (node, when it was sampled), in node order.
    """
    found = _absences(recordings)
    if not found:
        return (), ()
    job_ns = _job_ns(recordings)
    length_ns = job_ns[1] - job_ns[0]
    total_ns: dict[str, int] = {}
    for absence in found:
        total_ns[absence.node] = total_ns.get(absence.node, 0) + absence.length_ns
    worst = max(total_ns, key=lambda node: total_ns[node])
    its = [absence for absence in found if absence.node == worst]
    longest = max(its, key=lambda absence: absence.length_ns)
    share_pct = 100 * total_ns[worst] / length_ns
    parts = ", ".join(_say(its, part) for part in (_LATE, _PAUSE, _LOST) if _say(its, part))
    finding = Finding(
        id="SYS-7",
        severity=Severity.INFO,
        title=f"{worst} was not sampled for {say_duration(total_ns[worst] / NS_PER_S)} of the job",
        text=(
            f"{worst} has no samples in {say_pct(share_pct)} of the time from the first to the "
            f"last sample of the job: {parts}. This concerns "
            f"{say_of(len(total_ns), len(recordings), 'node')}. What happened then is unknown and "
            "counts nowhere."
        ),
        advice=(
            "Unless profiling was paused on purpose, look in the job's log for a restart, an "
            "interruption or a node that stopped; compare the clocks of the nodes."
        ),
        where=Where(node=worst, start_s=seconds(longest.start_ns), end_s=seconds(longest.end_ns)),
        measured=round(share_pct, 4),
        unit="%",
        exhibit=TABLE,
    )
    return (finding,), (_table(found),)


def _absences(recordings: Sequence[tuple[str, Recording]]) -> list[_Absence]:
    if not recordings:
        return []
    first_ns, last_ns = _job_ns(recordings)
    return [
        _Absence(node=node, part=part, start_ns=start_ns, end_ns=end_ns)
        for node, its in recordings
        for part, start_ns, end_ns in (
            (_LATE, first_ns, its.first_ns),
            *((_PAUSE, *pause) for pause in its.pauses),
            (_LOST, its.last_ns, last_ns),
        )
        if end_ns - start_ns > its.least_ns
    ]


def _job_ns(recordings: Sequence[tuple[str, Recording]]) -> tuple[int, int]:
    return min(its.first_ns for _, its in recordings), max(its.last_ns for _, its in recordings)


def _say(absences: Sequence[_Absence], part: str) -> str:
    """Say how long a node was absent in one part of the job, ``""`` when it was not."""
    lengths_ns = [absence.length_ns for absence in absences if absence.part == part]
    if not lengths_ns:
        return ""
    total = say_duration(sum(lengths_ns) / NS_PER_S)
    if part != _PAUSE:
        return f"{total} {part}"
    return f"{total} {part} ({say_times(len(lengths_ns), 'pause')})"


def _table(absences: Sequence[_Absence]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="When nodes were not sampled",
        caption="Stretches of more than 3 minutes and 5 samples, from the job's first to its last.",
        columns=[
            ("node", "", [item.node for item in absences]),
            ("part", "", [item.part for item in absences]),
            ("start_s", "s", [seconds(item.start_ns) for item in absences]),
            ("end_s", "s", [seconds(item.end_ns) for item in absences]),
            ("duration_s", "s", [item.length_ns / NS_PER_S for item in absences]),
        ],
    )
