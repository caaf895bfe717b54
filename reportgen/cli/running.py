"""Run a command: errors become messages and exit codes, never tracebacks."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
from typing import NoReturn

import click

from reportgen.allocation import set_up_memory
from reportgen.cli.interrupt import INTERRUPTED, interrupts_spare_imports
from reportgen.cli.streams import say
from reportgen.errors import EXIT_FAILED, ReportgenError, remedy

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143


def run_command(called: click.Command) -> int:
    """Run a command and return its code."""
    set_up_memory()
    try:
        with interrupts_spare_imports():
            answer = called.main(standalone_mode=False)
    except click.ClickException as err:
        shown = io.StringIO()
        err.show(shown)
        say(shown.getvalue(), nl=False)
        return err.exit_code
    except ReportgenError as err:
        _print_error(err)
        return err.exit_code
    except (KeyboardInterrupt, click.Abort) as err:
        say(INTERRUPTED)
        is_killed = signal.SIGTERM in (err.__cause__ or err).args  # click's Abort has a cause
        return EXIT_TERMINATED if is_killed else EXIT_INTERRUPTED
    except (MemoryError, ImportError) as err:
        what = str(err).strip().rpartition("\n")[2] or "there is too little memory"
        say(f"error: The report cannot be made: {what}.")
        usual = "Give it more memory, or pass fewer or smaller files at once."
        if isinstance(err, ModuleNotFoundError) and err.name:
            usual = f"{err.name} is part of it: pip install --force-reinstall make-profiler-report"
        say(f"       {remedy(err) or usual}")
        return EXIT_FAILED
    except OSError as err:
        place = f"{err.filename}: " if err.filename else ""
        say(f"error: {place}{err.strerror or err}")
        if remedy(err):
            say(f"       {remedy(err)}")
        return EXIT_FAILED
    return answer if isinstance(answer, int) else 0


def leave_with(code: int) -> NoReturn:
    """End the process at once: taking its modules apart costs a tenth of a short run.

    Everything that must be closed was closed by its own ``with``.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _print_error(err: ReportgenError) -> None:
    say(f"error: {err.message}")
    if err.hint:
        say(f"       {err.hint}")
    logging.getLogger(__name__).debug("traceback of the error", exc_info=err)
