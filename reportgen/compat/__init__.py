"""The names of smdebug's analysis tools over ``reportgen.open``: change the imports, keep the rest.

A thin layer: everything here delegates. Where the original was wrong, the right answer is
returned and the docstring says so. Signatures: smdebug 1.0.34 and AWS's
public example notebooks.
"""

from reportgen.compat.analyses import PandasFrameAnalysis, PT_dataloader_analysis
from reportgen.compat.jobs import MetricsReader, PandasFrame, TimelineCharts, TrainingJob

S3SystemMetricsReader = S3AlgorithmMetricsReader = MetricsReader
LocalSystemMetricsReader = LocalAlgorithmMetricsReader = MetricsReader

__all__ = [
    "LocalAlgorithmMetricsReader", "LocalSystemMetricsReader", "MetricsReader",
    "PT_dataloader_analysis", "PandasFrame", "PandasFrameAnalysis", "S3AlgorithmMetricsReader",
    "S3SystemMetricsReader", "TimelineCharts", "TrainingJob",
]  # fmt: skip

_PROFILES = "reportgen.open(path).python_profiles()"
_INSTEAD = {
    "Heatmap": "reportgen.explore.charts.heatmap",
    "MergedTimeline": "the command `reportgen timeline`",
    "MetricsHistogram": "reportgen.explore.charts.utilization_histogram",
    "PyinstrumentAnalysis": _PROFILES,
    "Resource": "the column `type` of the samples",
    "StatsBy": "the columns of reportgen.explore.statistics.durations(by=…)",
    "StepHistogram": "reportgen.explore.charts.duration_histogram",
    "StepTimelineChart": "reportgen.explore.charts.window",
    "cProfileAnalysis": _PROFILES,
}


def __getattr__(name: str) -> object:
    """Say what takes the place of a name of smdebug's that is not here."""
    if name in _INSTEAD:
        raise ImportError(f"reportgen.compat has no {name}; use {_INSTEAD[name]}.")
    raise AttributeError(f"module 'reportgen.compat' has no attribute {name!r}")
