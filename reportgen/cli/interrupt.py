"""Let Ctrl-C and SIGTERM wait until an import is done.

``KeyboardInterrupt`` in the middle of an import can leave the import's lock taken, and then every
other thread that needs the module waits for good; inside a callback of the import system it is
swallowed. So the interrupt comes a moment later.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_RETRY_S = 0.02
_IMPORT_SYSTEM = "<frozen importlib"


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

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            waiting[:] = [number]
        if _is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, _RETRY_S)
            return
        raise KeyboardInterrupt(*waiting)

    before = {number: signal.signal(number, interrupt) for number in (*heard, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
            return True
        frame = frame.f_back
    return False


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
