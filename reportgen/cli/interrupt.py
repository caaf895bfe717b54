"""Let Ctrl-C and SIGTERM wait until an import is done.

``KeyboardInterrupt`` in the middle of an import can leave the import's lock taken, and then every
other thread that needs the module waits for good; inside a callback of the import system it is
swallowed. So the interrupt comes a moment later.

Python hears a signal between two steps of the main thread only. Where that waits for a library, or
nothing more is done within seconds, a thread that hears signals too ends the process; the next run
removes what that leaves.
"""

from __future__ import annotations

import _thread
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

_RETRY_S = 0.02
_MOST_S = 1.8
"""All is closed by then; on an idle machine it takes tenths of a second."""
_SPARED = ("<frozen importlib", logging.__file__)
"""Code that holds locks; that of logging runs in ``os.fork`` too, which swallows exceptions."""


@contextmanager
def interrupts_spare_imports() -> Iterator[None]:
    """Raise ``KeyboardInterrupt(signal)`` on Ctrl-C or SIGTERM, never in the midst of an import.

    A signal stays ignored where this process was started so, as shells do with jobs in background.
    """
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    if not heard or not hasattr(signal, "setitimer"):
        yield
        return
    waiting: list[int] = []
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # Not one of ``threading``: a copy of this process may be made beside it, as it only waits.
    # It hears no signal itself: the recorder blocks signals and waits for them in the main thread.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _thread.start_new_thread(_end_in_time, (reading, heard))
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            waiting[:] = [number]
        if _is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, _RETRY_S)
            return
        raise KeyboardInterrupt(*waiting)

    before = {number: signal.signal(number, interrupt) for number in (*heard, signal.SIGALRM)}
    wakeup_before = signal.set_wakeup_fd(writing)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup_before)
        os.close(writing)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_in_time(reading: int, heard: Sequence[int]) -> None:
    """End the process after a signal if it does not end by itself; return when ``reading`` ends."""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while (number := pipe.read(1)) and number[0] not in heard:
            pass
        at_s = time.monotonic()
        while (left_s := at_s + _MOST_S - time.monotonic()) > 0:
            if select.select([pipe], [], [], left_s)[0] and not pipe.read(1):
                return
    with suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), INTERRUPTED.encode() + b"\n")
    os._exit(SHELL_CODE + number[0])


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_SPARED):
            return True
        frame = frame.f_back
    return False


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = "Interrupted; the earlier report, if any, is as it was."
SHELL_CODE = 128
"""Addend of a shell to the number of the signal that ended a command."""
