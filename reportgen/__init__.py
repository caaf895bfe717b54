"""The profiling report that every ML training job deserves.

``reportgen.open(path)`` opens a job for analysis by hand, ``reportgen.load(report_dir)`` reads a
saved report, ``reportgen.judge_again`` judges by other thresholds; the command is
``make-profiler-report``. ``step``, ``steps``, ``annotate`` and ``recording`` are for training
programs and need nothing but Python.
Nothing heavy is imported until a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reportgen.explore import open_job as open  # noqa: A004  # reportgen.open is its name
    from reportgen.pipeline.thresholds import judge_again
    from reportgen.record.api import recording
    from reportgen.record.injected.reportgen_injected.annotations import annotate, step, steps
    from reportgen.report import Report
    from reportgen.store import load

__version__ = "1.0.0"
__all__ = [
    "Report",
    "__version__",
    "annotate",
    "judge_again",
    "load",
    "open",
    "recording",
    "step",
    "steps",
]

_HOMES = {
    "judge_again": ("reportgen.pipeline.thresholds", "judge_again"),
    "load": ("reportgen.store", "load"),
    "open": ("reportgen.explore", "open_job"),
    "Report": ("reportgen.report", "Report"),
    **{name: ("reportgen.record.api", name) for name in ("annotate", "recording", "step", "steps")},
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'reportgen' has no attribute {name!r}")
    from importlib import import_module

    home, attribute = _HOMES[name]
    found = globals()[name] = getattr(import_module(home), attribute)
    return found
