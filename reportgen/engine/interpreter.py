"""Another Python interpreter with pipes to and from it: how processes that compute are started.

A plain subprocess: ``multiprocessing`` would import the caller's main module again, and forking a
process with threads can lock up.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress


@contextmanager
def start_interpreter(
    arguments: Sequence[str], *, is_silent: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """Start an interpreter; it is killed when the context ends, whatever happened.

    When it ``is_silent``, its stderr is dropped instead of going where ours goes.

    Raises:
        OSError, ValueError: no process can be started here.
    """
    process = subprocess.Popen(  # noqa: S603  # our own interpreter and code, no shell
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if is_silent else None,
    )
    try:
        yield process
    finally:
        process.kill()
        with suppress(OSError), process:  # closes the pipes, though not everything was sent
            pass


def arguments_to_run(fn: Callable[[], None]) -> list[str]:
    """Return the arguments with which an interpreter runs a module's function without arguments.

    That interpreter finds modules where this one does. The folder in which it is started is no
    such place (``-P``): a ``queue.py`` that lies beside a user's traces must not be run. Where
    plugins lie there the folder is added after all needed modules were imported, as here.
    """
    places = [str(entry) for entry in sys.path]
    first = [entry for entry in places if entry]
    code = (
        f"import sys; sys.path[:] = {first!r}; from {fn.__module__} import {fn.__name__}; "
        f"sys.path[:] = {places!r}; {fn.__name__}()"
    )
    return ["-P", "-c", code]
