"""From a path to a page: the steps in order (``make``), and what joins them.

The modules that make a report are imported when they are needed: comparing saved ones needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from reportgen.pipeline.options import (
    DEFAULT_FORMATS,
    MadeReport,
    Options,
    OutputFormat,
    TimelineDetail,
    Watcher,
)

if TYPE_CHECKING:
    from reportgen.pipeline.make import make_report
    from reportgen.pipeline.remote import make_remote_report

__all__ = [
    "DEFAULT_FORMATS", "MadeReport", "Options", "OutputFormat", "TimelineDetail", "Watcher",
    "make_remote_report", "make_report",
]  # fmt: skip

_HOMES = {"make_report": "make", "make_remote_report": "remote"}


def __getattr__(name: str) -> object:
    """Import what makes reports (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
