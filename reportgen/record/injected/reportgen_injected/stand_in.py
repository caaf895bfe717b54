"""The module ``reportgen`` of a program whose environment has no such package: marks alone."""

from __future__ import annotations

from typing import Any

from reportgen_injected.annotations import (  # type: ignore[import-not-found]  # beside this file
    annotate,
    step,
    steps,
)

__all__ = ["annotate", "step", "steps"]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"reportgen.{name} needs the package in this environment: "
        "pip install --no-deps make-profiler-report"
    )
