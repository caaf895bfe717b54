"""Analysis by hand: a job's frames, and what ran at some moments against others."""

from reportgen.explore.causes import (
    Cause,
    Moments,
    active_at,
    at_moments,
    cause_of,
    compare,
    functions_at,
    in_intervals,
    merge_functions,
    phases_at,
)
from reportgen.explore.job import Job, Latest, open_job, wait_for_job

__all__ = [
    "Cause", "Job", "Latest", "Moments", "active_at", "at_moments", "cause_of", "compare",
    "functions_at", "in_intervals", "merge_functions", "open_job", "phases_at", "wait_for_job",
]  # fmt: skip
