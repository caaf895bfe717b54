"""The names of smdebug's analysis tools over ``reportgen.open``: change the imports, keep the rest.

A thin layer: everything here delegates. Where the original was wrong, the right answer is
returned and the docstring says so. Signatures: smdebug 1.0.34 and AWS's
public example notebooks.
"""

from reportgen.compat.charts import (
    Heatmap,
    MetricsHistogram,
    StepHistogram,
    StepTimelineChart,
    TimelineCharts,
)
from reportgen.compat.dataloader import PT_dataloader_analysis
from reportgen.compat.frame_analysis import PandasFrameAnalysis, Resource, StatsBy
from reportgen.compat.pandas_frame import PandasFrame
from reportgen.compat.python_profiles import (
    Metrics,
    PyinstrumentAnalysis,
    PythonProfileModes,
    StepPhase,
    cProfileAnalysis,
    cProfileStats,
)
from reportgen.compat.readers import (
    LocalAlgorithmMetricsReader,
    LocalSystemMetricsReader,
    S3AlgorithmMetricsReader,
    S3SystemMetricsReader,
)
from reportgen.compat.training_job import TrainingJob

__all__ = [
    "Heatmap", "LocalAlgorithmMetricsReader", "LocalSystemMetricsReader", "Metrics",
    "MetricsHistogram", "PT_dataloader_analysis", "PandasFrame", "PandasFrameAnalysis",
    "PyinstrumentAnalysis", "PythonProfileModes", "Resource", "S3AlgorithmMetricsReader",
    "S3SystemMetricsReader", "StatsBy", "StepHistogram", "StepPhase", "StepTimelineChart",
    "TimelineCharts", "TrainingJob", "cProfileAnalysis", "cProfileStats",
]  # fmt: skip
