"""Another interpreter that runs a function of this package, and how it hands back answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import BinaryIO


def command_to_run(fn: Callable[[], None]) -> list[str]:
    """Return the command that runs a function in an interpreter of its own.

    That interpreter finds modules where this one does. The folder in which it is started is no
    such place (``-P``): a ``queue.py`` that lies beside somebody's traces is not ours to run. Where
    plugins lie there it becomes one once all that is needed is imported, as it did here.

    Args:
        fn: a function of a module, without arguments.
    """
    places = [str(entry) for entry in sys.path]
    first = [entry for entry in places if entry]
    code = (
        f"import sys; sys.path[:] = {first!r}; from {fn.__module__} import {fn.__name__}; "
        f"sys.path[:] = {places!r}; {fn.__name__}()"
    )
    return [sys.executable, "-P", "-c", code]


def stdout_for_answers() -> BinaryIO:
    """Return stdout for answers alone: whatever else is printed from now on goes to stderr."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return out
