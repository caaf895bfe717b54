"""From a path to a page: the steps in order (``make``), and what joins them."""

from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import (
    DEFAULT_FORMATS,
    MadeReport,
    Options,
    OutputFormat,
    TimelineDetail,
    Watcher,
)
from reportgen.pipeline.remote import make_remote_report

__all__ = [
    "DEFAULT_FORMATS", "MadeReport", "Options", "OutputFormat", "TimelineDetail", "Watcher",
    "make_remote_report", "make_report",
]  # fmt: skip
