"""What SageMaker's MaxInitializationTime writes, and the phases of a job that it tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reportgen.results import ColumnType, Details, Exhibit, ExhibitKind, Role, column, exhibit
from reportgen.results.charts import floats
from reportgen.rules.aws.details import numbers_of
from reportgen.units import NS_PER_US, percentages, seconds

AWS_END = "in SageMaker's result the loop ends where its last step begins"
_PARTS = ("initialization", "training loop", "finalization")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """The start of a job, and how long initialization, training loop and finalization took."""

    start_s: float
    parts_s: tuple[float, float, float]


def details_of(
    job_ns: tuple[int | None, int | None], steps_ns: tuple[int | None, int | None]
) -> Details:
    """Return SageMaker's details of the first and the last instant of a job, and of its steps."""
    start_s, end_s = (None if at_ns is None else seconds(at_ns) for at_ns in job_ns)
    return {"step_num": step_num(*steps_ns), "job_start": start_s, "job_end": end_s}


def step_num(first_ns: int | None, last_ns: int | None) -> Details:
    """Return the member with the ends of the loop, empty without steps."""
    if first_ns is None or last_ns is None:
        return {}
    return {"first": first_ns // NS_PER_US, "last": last_ns // NS_PER_US}


def phases_of(details: Details) -> Phases | None:
    """Return the phases that details tell; ``None`` where a number is absent."""
    found = numbers_of(details) | numbers_of(details.get("step_num"))
    if not found.keys() >= {"first", "last", "job_start", "job_end"}:
        return None
    first_us, last_us, start_s = found["first"], found["last"], found["job_start"]
    first_s, last_s = first_us / 1e6, last_us / 1e6
    loop_s = round((last_us - first_us) / 1e6, 6)
    before_s, after_s = max(first_s - start_s, 0.0), max(found["job_end"] - last_s, 0.0)
    return Phases(start_s=start_s, parts_s=(round(before_s, 6), loop_s, round(after_s, 6)))


def phases_exhibit(phases: Phases | None, *, end: str) -> Iterator[Exhibit]:
    """Yield how the job divides; ``end`` says where the loop ends."""
    if phases is None:
        return
    pct = percentages(phases.parts_s, decimals=1)
    yield exhibit(
        "phases",
        ExhibitKind.SHARES,
        title="Phases of the job",
        caption=f"From the first sample to the last; {end}.",
        columns=[
            column("part", "", _PARTS, type=ColumnType.TEXT),
            *floats(("time_s", "s", phases.parts_s), ("pct", "%", pct)),
        ],
        row_roles=(Role.START, Role.GPU, Role.OTHER),
    )
