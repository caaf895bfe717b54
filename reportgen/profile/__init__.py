"""Upper half of the waist: the form of a job's raw data after reading.

``job`` holds the job, its nodes and the notes made while reading; ``system`` one node's samples
on a grid of ticks; ``spans`` one node's framework events; ``python`` its Python profiles;
``trace`` one rank's kernel trace, whose columns are in ``trace_tables``.
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
from reportgen.profile.memo import Memo, fact
from reportgen.profile.python import (
    NO_CALLS,
    ProfileInterval,
    ProfileMoment,
    PythonFunction,
    PythonProfile,
    PythonTable,
)
from reportgen.profile.spans import NO_STEP, SpanArguments, SpanSource, SpanTable
from reportgen.profile.system import Series, SeriesKind, SystemTable
from reportgen.profile.trace import Device, RankTrace, Thread

__all__ = [
    "NO_CALLS", "NO_STEP", "Clock", "Device", "JobInfo", "JobProfile", "Memo", "NodeId",
    "NodeProfile", "PartRef", "ProfileInterval", "ProfileMoment", "PythonFunction", "PythonProfile",
    "PythonTable", "Quality", "RankTrace", "Series", "SeriesKind", "SourceNote", "SpanArguments",
    "SpanSource", "SpanTable", "SystemTable", "Thread", "TimeRange", "fact",
]  # fmt: skip
