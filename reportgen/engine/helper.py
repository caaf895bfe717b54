"""A function that runs in another interpreter: for work that holds the interpreter lock."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from reportgen.engine.interpreter import arguments_to_run, start_interpreter
from reportgen.text_safety import TerminalFormatter

_END = None
_OBJECTS_PER_COLLECTION = 100_000
_OURS = __name__.partition(".")[0]
_LAST_MOMENT_S = 5.0
"""A process that sends nothing more has this long to end by itself and to say why."""


class HelperError(Exception):
    """The process did not answer to the end; the text says what became of it."""


@contextmanager
def run_in_helper(fn: Callable[..., Iterable[object]], *args: object) -> Iterator[Iterator[Any]]:
    """Run a function of a module in another process and give what it yields or returns one by one.

    The process is gone when the context ends, whatever happened. What goes there and comes back can
    be pickled, and is never ``None``.

    Raises:
        HelperError: no process can be started here; or, from what is given, the process failed or
            was killed before the end.
    """
    level = logging.getLogger(_OURS).getEffectiveLevel()
    task = pickle.dumps((fn, args, level), protocol=pickle.HIGHEST_PROTOCOL)
    with ExitStack() as exits:
        try:
            process = exits.enter_context(start_interpreter(arguments_to_run(serve)))
            assert process.stdin is not None
            process.stdin.write(task)
            process.stdin.flush()  # its end is the end of this process
        except (OSError, ValueError) as err:
            raise HelperError("could not be started") from err
        yield _results(process)


def _results(process: subprocess.Popen[bytes]) -> Iterator[Any]:
    assert process.stdout is not None
    while True:
        try:
            result = pickle.load(process.stdout)  # noqa: S301  # our own process wrote it
        except (EOFError, OSError, pickle.UnpicklingError) as err:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LAST_MOMENT_S)
            raise HelperError(f"ended with {process.returncode} instead of an answer") from err
        if result is _END:
            return
        yield result


def serve() -> None:
    """Do one task that comes on stdin; its results go to stdout. Runs in the helper.

    Ctrl-C is for the process that started this one, and stdout for answers alone: whatever else is
    printed goes to stderr, and so does the log.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        with out:
            fn, args, level = pickle.load(sys.stdin.buffer)  # noqa: S301  # who started us wrote it
            threading.Thread(target=_end_with_starter, daemon=True).start()
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(TerminalFormatter("%(message)s"))
            logging.basicConfig(handlers=[handler])
            logging.getLogger(_OURS).setLevel(level)
            for result in fn(*args):
                pickle.dump(result, out, protocol=pickle.HIGHEST_PROTOCOL)
                out.flush()
            pickle.dump(_END, out)
    except Exception:  # noqa: BLE001  # the work is done again, and fails again, where it was asked
        sys.exit(1)


def _end_with_starter() -> None:
    """End this helper when the process that started it is gone."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
