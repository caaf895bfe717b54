"""A fault of the recording switches its hook off and is reported; the program goes on."""

from __future__ import annotations

import functools
import os
from typing import Any, Callable

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))

Report = Callable[[str, str, str, str], None]
"""Takes the kind, the hook, the class of an error, and our file and line."""


class Fence:
    """The border around one hook; a function called through it never raises.

    Attributes:
        is_on: whether the hook works: no fault yet, and something is recorded.
        has_failed: whether a fault has switched it off for good.
    """

    def __init__(self, hook: str, report: Report) -> None:
        self.hook = hook
        self.is_on, self.has_failed = True, False
        self._report = report

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function fenced; it returns ``None`` once the hook is switched off."""

        @functools.wraps(function)
        def fenced(*args: Any) -> Any:
            if not self.is_on:
                return None
            try:
                return function(*args)
            except Exception as error:
                self.switch_off(error)
                return None

        return fenced

    def switch_off(self, error: Exception) -> None:
        """Switch the hook off and report its first error."""
        self.is_on, self.has_failed = False, True
        try:
            self._report("fault", self.hook, type(error).__name__, own_line(error))
        except Exception:
            self._report = _say_nothing


def own_line(error: BaseException) -> str:
    """Return file and line of the innermost frame of this folder; other paths stay private."""
    found, trace = "", error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if os.path.dirname(path) == _OWN_FOLDER:
            found = f"{os.path.basename(path)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _say_nothing(*_words: str) -> None:
    """Stand in for a report that failed itself."""
