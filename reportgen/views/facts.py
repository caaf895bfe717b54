"""The job in names and values: the facts of the first screen and the rows of the summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen.report import JobStatus, JobSummary, Report
from reportgen.report.steps import first_number, training_tables
from reportgen.results import RuleId
from reportgen.text import format_count, format_duration, format_pct
from reportgen.views.outline import is_of_traces
from reportgen.views.values import ABSENT, LONGEST_TEXT, format_iso, format_names, shorten

_MS_PER_S = 1000
_LATE_FROM_STEP = 10
"""A recording that begins so late does not show when the training began."""
_MAY_RUN = (JobStatus.IN_PROGRESS, JobStatus.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name, its value, and a remark; ``full_text`` and ``full`` are these two unshortened."""

    name: str
    text: str
    full_text: str = ""
    note: str = ""
    full: str = ""


def facts_of(report: Report) -> tuple[Fact, ...]:
    """Return the facts of the first screen."""
    summary = report.summary
    facts = []
    if summary.job_duration_in_seconds is not None:
        facts.append(Fact(name="Duration", text=format_duration(summary.job_duration_in_seconds)))
    if summary.start_time:
        facts.append(Fact(name="Started", text=_instant(summary.start_time, report)))
    if report.nodes:
        facts.append(_nodes(report, most=3))
    if report.sampling_interval_ms is not None:
        facts.append(Fact(name="Sampled every", text=_interval(report.sampling_interval_ms)))
    status = report.figures.status if report.figures else JobStatus.UNKNOWN
    if report.job.running_until and status in _MAY_RUN:
        until = _instant(report.job.running_until, report)
        said, note = "no end marker", "it still runs, or it ended without notice"
        if status is JobStatus.IN_PROGRESS:
            said, note = "still running", ""
        facts.append(Fact(name="State", text=f"{said}, data until {until}", note=note))
    if report.job.range:
        facts.append(Fact(name="Only a part of the job", text="cut", note=report.job.range))
    return tuple(facts)


def summary_rows(report: Report) -> tuple[Fact, ...]:
    """Return every row of the summary; an absent value is a dash with its reason."""
    summary = report.summary
    if is_of_traces(report):
        return (*_whole_rows(report, "recording"), _nodes(report, most=12))
    unknown = "no steps recorded"
    result = report.results.get(RuleId("MaxInitializationTime"))
    has_phases = result is not None and any(item.id == "phases" for item in result.exhibits)
    if has_phases and summary.training_loop_start is None:
        unknown = "no steps recorded; the section Initialization uses the work of GPUs or cores"
    rows = [
        *_whole_rows(report, "job"),
        _moment("Start of the training loop", summary.training_loop_start, unknown, report),
        _moment("End of the training loop", summary.training_loop_end, unknown, report),
        *(_duration(name, lasted_s, pct, unknown) for name, lasted_s, pct in phases_of(summary)),
    ]
    first = first_number(training_tables(report.results.values()))
    if first is not None and first >= _LATE_FROM_STEP:
        rows[-3] = replace(rows[-3], note=f"{rows[-3].note}; until step {first:,}, recorded first")
    if (summary.training_loop_end or "") > (summary.end_time or ""):
        rows[-1] = replace(rows[-1], note="not negative: the loop ends after the last sample")
    if report.sampling_interval_ms is not None:
        rows.append(Fact(name="Sampling interval", text=_interval(report.sampling_interval_ms)))
    rows.append(_nodes(report, most=12))
    return tuple(rows)


def phases_of(summary: JobSummary) -> tuple[tuple[str, float | None, float | None], ...]:
    """Return name, seconds and percentage of each phase of the job."""
    return (
        ("Initialization", summary.initialization_in_seconds, summary.initialization_pct),
        ("Training loop", summary.training_loop_duration_in_seconds, summary.training_loop_pct),
        ("Finalization", summary.finalization_in_seconds, summary.finalization_pct),
    )


def _whole_rows(report: Report, whole: str) -> list[Fact]:
    summary = report.summary
    return [
        Fact(name=f"Start of the {whole}", text=_instant(summary.start_time, report)),
        Fact(name=f"End of the {whole}", text=_instant(summary.end_time, report)),
        _duration(f"Duration of the {whole}", summary.job_duration_in_seconds, None, ""),
    ]


def _interval(interval_ms: int) -> str:
    return format_duration(interval_ms / _MS_PER_S)


def _nodes(report: Report, *, most: int) -> Fact:
    note = format_names(report.nodes, most=most)
    listed = shorten(", ".join(report.nodes), most=LONGEST_TEXT).text
    full = listed if listed != note else ""
    return Fact(
        name=_parts_name(report.nodes), text=format_count(len(report.nodes)), note=note, full=full
    )


def _parts_name(names: Sequence[str]) -> str:
    n_ranks = sum(name.startswith("rank ") for name in names)
    if not n_ranks:
        return "Nodes"
    return "Ranks" if n_ranks == len(names) else "Nodes and ranks"


def _instant(text: str | None, report: Report) -> str:
    if text is not None and report.job.clock != "unix":
        return "not known (the recording has no wall clock)"
    return format_iso(text)


def _moment(name: str, text: str | None, unknown: str, report: Report) -> Fact:
    return Fact(name=name, text=_instant(text, report), note=unknown if text is None else "")


def _duration(name: str, duration_s: float | None, pct: float | None, unknown: str) -> Fact:
    if duration_s is None:
        return Fact(name=name, text=ABSENT, note=unknown)
    exact = f"{duration_s:,.3f} s" if duration_s >= 1 else f"{duration_s:.6f} s"
    parts = [exact] if duration_s else []
    parts += [] if pct is None else [f"{format_pct(pct)} of the job"]
    text = format_duration(duration_s) if duration_s else "0 s"
    return Fact(name=name, text=text, note=", ".join(parts))
