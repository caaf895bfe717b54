"""The profiling report that every ML training job deserves.

``reportgen.load(report_dir)`` reads a saved report; the command is ``make-profiler-report``.
Nothing heavy is imported until a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reportgen.report import Report
    from reportgen.store import load

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "load"]

_HOMES = {"load": "reportgen.store", "Report": "reportgen.report"}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'reportgen' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
