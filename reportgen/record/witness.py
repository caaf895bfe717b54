"""A process of our group reports the signals that reached it: they were sent to the whole group."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Set as AbstractSet
from contextlib import suppress

from reportgen.record.folder import process_stat

_SENDING_S = 0.02
"""How long a signal to a group may take from its first process to its last."""
_MOST_LOOKS = 50
_LOOKS_AFTER_S = 1.0
"""How long the witness outlives a recorder that was killed."""


class Witness:
    """The witness of this process, started where signals are blocked and no thread runs yet.

    The kernel says who sent a signal, but not whether it was sent to one process or to a group.

    Args:
        signals: those that are blocked, and that the witness reports.
    """

    def __init__(self, signals: AbstractSet[int]) -> None:
        self._reader, writer = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            _tell(signals, writer, parent)
        os.close(writer)

    def saw(self, number: int) -> bool:
        """Return whether a signal that has just come reached the witness as well.

        A waiting witness has reported all signals that it saw; on a busy machine it may be late.
        """
        for _ in range(_MOST_LOOKS):
            has_told_all = process_stat(self._pid)[:1] != ["R"]
            if select.select([self._reader], [], [], _SENDING_S)[0]:
                seen = os.read(self._reader, 1)
                if seen[:1] == bytes([number]) or not seen:
                    return bool(seen)
            elif has_told_all:
                break
        return False

    def end(self) -> None:
        """End the witness."""
        os.close(self._reader)
        with suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def _tell(signals: AbstractSet[int], writer: int, parent: int) -> None:
    """Write the number of each signal; the caller's streams are not kept open."""
    try:
        os.closerange(0, writer)
        os.closerange(writer + 1, os.sysconf("SC_OPEN_MAX") if writer > 1_000 else 1_024)
        while os.getppid() == parent:
            if info := signal.sigtimedwait(signals, _LOOKS_AFTER_S):
                os.write(writer, bytes([info.si_signo]))
    finally:
        os._exit(0)
