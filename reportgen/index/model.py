"""An index: plain values, and ``profiler-index.json``. History of ``format``: 1, first version."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from reportgen.masking import json_without_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job of an index; ``None`` and empty text are what its report does not say.

    Attributes:
        job: its name; ``group`` is the name without what counts the runs at its end.
        path: where its report lies; ``page`` is the page as seen from the index, empty without one.
        version: identity of ``report.json`` when it was read: size and time, or ETag.
        created: start of the job, ISO 8601 in UTC.
        status: in SageMaker's words; ``Unreadable`` where the report cannot be read.
        problem: why there is no finding: the reason, or the command that makes the report.
        n_findings: of warnings and worse.
        top_cause, top_finding, top_severity: of the most important finding.
        top_saves_pct: share of the time that mending that finding may save at most.
    """

    job: str
    group: str
    path: str
    page: str = ""
    version: str = ""
    created: str | None = None
    status: str = "Unknown"
    duration_s: float | None = None
    n_nodes: int | None = None
    n_gpus: int | None = None
    data: str = ""
    step_p50_s: float | None = None
    step_period_p50_s: float | None = None
    step_gpu_span_p50_s: float | None = None
    steps_per_s: float | None = None
    samples_per_s: float | None = None
    gpu_busy_pct: float | None = None
    mfu_pct: float | None = None
    n_findings: int = 0
    top_severity: str = ""
    top_finding: str = ""
    top_cause: str = ""
    top_saves_pct: float | None = None
    wasted_gpu_hours: float | None = None
    wasted_usd: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """All jobs, those that waste or could save most first, and the sums of known waste."""

    jobs: tuple[JobRow, ...]
    wasted_gpu_hours: float
    wasted_usd: float | None
    n_unreadable: int


FORMAT = 1
FILE = "profiler-index.json"


def encode(index: Index) -> bytes:
    """Return the bytes of ``profiler-index.json``, the same for equal indexes."""
    tree = {"format": FORMAT, **msgspec.to_builtins(index)}
    return json_without_secrets(msgspec.json.format(msgspec.json.encode(tree), indent=1)) + b"\n"
