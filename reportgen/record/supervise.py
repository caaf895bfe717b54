r"""Run a command as if there were nothing between it and its caller: streams, signals, exit code.

The command stays in the process group of the terminal, so Ctrl-C, Ctrl-\ and Ctrl-Z reach it
without help. A signal that asks this process to end is passed on; the others are for the command,
and this process ignores them.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType

NOT_FOUND = 127
NOT_EXECUTABLE = 126
KILLED = 128
"""Addend of a shell to the number of the signal that ended a command."""

_IGNORED_BY_PYTHON = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_FOR_THE_COMMAND = (signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that end a process which does not expect them: keyboards and schedulers send them to
the whole group, so the command has them already."""


class NotStartedError(Exception):
    """The command cannot be started; ``exit_code`` is what a shell would answer."""

    def __init__(self, command: str, cause: OSError) -> None:
        super().__init__(f"{command}: {cause.strerror}")
        self.exit_code = NOT_FOUND if cause.errno == errno.ENOENT else NOT_EXECUTABLE


class Command:
    """A command that runs with our streams, in our process group; signals are left to it.

    Attributes:
        pid: its number.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the command.

        Raises:
            NotStartedError: there is no such command, or it cannot be executed.
        """
        self.pid = 0
        before = {number: signal.getsignal(number) for number in (*_PASSED_ON, *_FOR_THE_COMMAND)}
        self._before = {number: it for number, it in before.items() if it != signal.SIG_IGN}
        for number in self._before:
            signal.signal(number, self._pass_on)
        try:
            self.pid = _start(command, environment)
        except OSError as err:
            self._restore()
            raise NotStartedError(command[0], err) from err

    def wait(self) -> int:
        """Wait until it ends, and return its exit code as a shell gives it."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._restore()
        return code if code >= 0 else KILLED - code

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if number in _PASSED_ON and self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _start(command: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        return _spawn(command, environment)
    except OSError as err:
        if err.errno != errno.ENOEXEC:
            raise
    return _spawn(["/bin/sh", *command], environment)  # a script without `#!`, as shells do


def _spawn(command: Sequence[str], environment: Mapping[str, str]) -> int:
    return os.posix_spawnp(command[0], list(command), environment, setsigdef=_IGNORED_BY_PYTHON)
