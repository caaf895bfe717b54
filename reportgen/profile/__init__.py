"""The waist's upper half: what a job's raw data look like once they are read.

``job`` holds the job, its nodes and the notes made while reading; ``system`` one node's samples
on a grid of ticks; ``spans`` one node's framework events.
"""

from reportgen.profile.job import (
    Clock,
    JobInfo,
    JobProfile,
    NodeId,
    NodeProfile,
    PartRef,
    Quality,
    SourceNote,
    TimeRange,
)
from reportgen.profile.spans import NO_STEP, SpanArguments, SpanSource, SpanTable
from reportgen.profile.system import Series, SeriesKind, SystemTable

__all__ = [
    "NO_STEP",
    "Clock",
    "JobInfo",
    "JobProfile",
    "NodeId",
    "NodeProfile",
    "PartRef",
    "Quality",
    "Series",
    "SeriesKind",
    "SourceNote",
    "SpanArguments",
    "SpanSource",
    "SpanTable",
    "SystemTable",
    "TimeRange",
]
