"""The module ``reportgen`` of a program whose environment has no such package: marks alone.

The package itself offers the same names with the same meaning (``reportgen.record.api``).
"""

from __future__ import annotations

from typing import Any

from reportgen_injected.annotations import (  # type: ignore[import-not-found]  # beside this file
    Range,
    annotated,
    step,
    steps,
)

__all__ = ["annotate", "step", "steps"]


class annotate:  # noqa: N801 - used like a function
    """A named range: a context manager, a decorator, or ``begin`` and ``end``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[Range] = []

    def begin(self) -> annotate:
        """Begin the range; each ``begin`` needs its ``end``."""
        self._open.append(Range(self._name).begin())
        return self

    def end(self) -> None:
        """End the range that ``begin`` began last; without one, do nothing."""
        if self._open:
            self._open.pop().end()

    __enter__ = begin

    def __exit__(self, *_error: object) -> None:
        self.end()

    def __call__(self, function: Any) -> Any:
        """Return the function with the range around each of its calls."""
        return annotated(function, self._name, annotate)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"reportgen.{name} needs the package in this environment: "
        "pip install --no-deps make-profiler-report"
    )
