"""Compare what was planted in a trace with the report on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.exam.traces.faults import ACCEPTED
from benchmarks.exam.traces.kineto_file import at_unix_s
from benchmarks.exam.traces.simulate import Truth
from reportgen.report import RankedFinding
from reportgen.results import Finding, Severity

TOO_LOW, TOO_HIGH = -0.03, 0.05
"""A bound may lie so far from the truth."""
SIZES = ((0.05, "3-5 %"), (0.12, "5-12 %"), (1.0, ">12 %"))
UNPLANTED = 0.03
"""A smaller fault is not asked for: other faults of the job hide it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One planted fault, or one healthy trace, and what the report said.

    Attributes:
        kind: of the fault; empty for a healthy trace, whose kind ``detail`` has.
        share: of the time, 0-1; what the steps take less without the fault.
        place, time: ``None`` where the fault is everywhere, or always.
        bound_off: estimate minus truth, in shares; ``None`` where none was given.
        found: all findings from a warning on, as text.
    """

    seed: int
    trace: str
    family: str
    detail: str
    kind: str = ""
    share: float = 0.0
    is_only: bool = True
    is_named: bool = False
    is_first: bool = False
    place: bool | None = None
    time: bool | None = None
    bound_off: float | None = None
    is_advised: bool = False
    found: tuple[str, ...] = ()

    @property
    def size(self) -> str:
        """Return the class of its size."""
        return next(word for limit, word in SIZES if self.share <= limit or limit == 1.0)


def alarms_of(findings: Sequence[RankedFinding]) -> list[RankedFinding]:
    """Return the findings from a warning on, in order."""
    loud = (Severity.WARNING, Severity.CRITICAL)
    return [item for item in findings if item.finding.severity in loud]


def describe(ranked: RankedFinding) -> str:
    """Return a finding in one line."""
    finding, where = ranked.finding, ranked.finding.where
    share = f" {100 * finding.estimate.share_ratio:.1f}%" if finding.estimate else ""
    node = f" on {where.node}" if where.node else ""
    return f"{finding.id} [{finding.cause}] {finding.severity.value}{share}{node}: {finding.title}"


def score(
    row: Row, truth: Truth, findings: Sequence[RankedFinding], *, place: int, nodes: Sequence[str]
) -> dict[str, object]:
    """Return the fields of a row that say how well one fault was found.

    Args:
        row: what is known of it already.
        truth: what was planted.
        findings: of the report, most important first.
        place: how many larger faults the trace has; as many causes may stand before it.
        nodes: names of the ranks in the report.
    """
    accepted, loud = ACCEPTED[truth.fault.kind], alarms_of(findings)
    naming = [item for item in loud if item.finding.cause in accepted]
    if not naming:
        return {"is_named": False}
    wanted = None if truth.fault.rank is None or len(nodes) < 2 else nodes[truth.fault.rank]
    best = next((item for item in naming if item.finding.where.node == wanted), naming[0])
    before = [item.finding.cause for item in loud[: loud.index(naming[0])]]
    return {
        "is_named": True,
        "is_first": len(set(before)) <= place,
        "place": None if wanted is None else best.finding.where.node == wanted,
        "time": None if truth.reach_us is None else _meets(best.finding, truth.reach_us),
        "bound_off": _bound(best.finding, row.share),
        "is_advised": not best.finding.advice.startswith("Do first what")
        or any(f"what {item.finding.id} " in best.finding.advice for item in naming),
    }


def _bound(finding: Finding, share: float) -> float | None:
    return None if finding.estimate is None else finding.estimate.share_ratio - share


def _meets(finding: Finding, reach_us: tuple[float, float]) -> bool:
    """Return whether a finding's time is the fault's: half of it lies in it, and it is no longer.

    It may be shorter: the GPU stands still only when the lead of the host is used up.
    """
    start_s, end_s = finding.where.start_s, finding.where.end_s
    if start_s is None or end_s is None:
        return False
    low_s, high_s = (at_unix_s(each) for each in reach_us)
    both_s = min(end_s, high_s) - max(start_s, low_s)
    return both_s >= 0.5 * (end_s - start_s) and end_s - start_s <= 2 * (high_s - low_s) + 1e-3


def is_asked(truth: Truth) -> bool:
    """Return whether a fault is large enough to be asked for."""
    return truth.share >= UNPLANTED
