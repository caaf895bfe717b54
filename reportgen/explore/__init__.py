"""Analysis by hand: a job's frames, and what ran at some moments against others."""

from reportgen.explore.causes import compare, functions_at, merge_functions, phases_at
from reportgen.explore.job import Job, Latest, open_job, wait_for_job

__all__ = [
    "Job", "Latest", "compare", "functions_at", "merge_functions", "open_job", "phases_at",
    "wait_for_job",
]  # fmt: skip
