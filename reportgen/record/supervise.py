r"""Run a command as if there were nothing between it and its caller: streams, signals, exit code.

The command stays in the process group of the terminal, so Ctrl-C, Ctrl-\ and Ctrl-Z reach it
without help. All signals are blocked here and taken one by one, which shows their sender: a
signal from the keyboard, or to the whole group, has reached the command; a signal to this process
alone is passed on.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from reportgen.record.witness import Witness

NOT_FOUND = 127
NOT_EXECUTABLE = 126
KILLED = 128
"""Addend of a shell to the number of the signal that ended a command."""

_FROM_KEYBOARD = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP})
_STOPPED_BY_TERMINAL = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
_IGNORED_BY_PYTHON = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
_OUR_OWN = _IGNORED_BY_PYTHON | {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGTRAP,
    signal.SIGSYS,
}
"""Signals that cannot be taken, or that this process causes itself."""

_TAKEN = frozenset(signal.valid_signals()) - _OUR_OWN
_SENT_BY_KERNEL = 0x80
"""``si_code`` of signals that the terminal sends (Linux, ``SI_KERNEL``)."""


class NotStartedError(Exception):
    """The command cannot be started; ``exit_code`` is what a shell would answer."""

    def __init__(self, command: str, cause: OSError) -> None:
        super().__init__(f"{command}: {cause.strerror}")
        self.exit_code = NOT_FOUND if cause.errno == errno.ENOENT else NOT_EXECUTABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The command that runs, and the signals that were blocked before it was started."""

    pid: int
    mask_before: frozenset[int]
    witness: Witness | None = None


def start(command: Sequence[str], environment: Mapping[str, str]) -> Child:
    """Start a command with our streams, in our process group, its signals as ours were.

    Signals are now blocked in this thread and in those that it starts, for ``wait``.

    Raises:
        NotStartedError: there is no such command, or it cannot be executed.
    """
    for number in (signal.SIGCHLD, signal.SIGCONT):
        signal.signal(number, _notice)
    mask_before = frozenset(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, _TAKEN)))
    witness = _start_witness()
    try:
        pid = _spawn(command, environment, mask_before)
    except OSError as err:
        if witness is not None:
            witness.end()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)
        raise NotStartedError(command[0], err) from err
    return Child(pid=pid, mask_before=mask_before, witness=witness)


def _start_witness() -> Witness | None:
    """Start the process that separates signals to the group from signals to us, where possible."""
    if hasattr(signal, "sigwaitinfo"):
        with suppress(OSError):
            return Witness(_TAKEN - {signal.SIGCHLD})
    return None


def _spawn(command: Sequence[str], environment: Mapping[str, str], mask: frozenset[int]) -> int:
    try:
        return _posix_spawn(command, environment, mask)
    except OSError as err:
        if err.errno != errno.ENOEXEC:
            raise
    # A script without `#!`: shells run it themselves.
    return _posix_spawn(["/bin/sh", *command], environment, mask)


def _posix_spawn(
    command: Sequence[str], environment: Mapping[str, str], mask: frozenset[int]
) -> int:
    return os.posix_spawnp(
        command[0], list(command), environment, setsigmask=mask, setsigdef=_IGNORED_BY_PYTHON
    )


def wait(child: Child) -> int:
    """Pass signals on until the command ends, and return its exit code as a shell gives it.

    The mask of signals is as before then.
    """
    try:
        while True:
            number, is_ours_alone = _next_signal(child.witness)
            if number == signal.SIGCHLD:
                code = _reap(child)
                if code is not None:
                    return code
            elif is_ours_alone:
                with suppress(ProcessLookupError):
                    os.kill(child.pid, number)
    finally:
        if child.witness is not None:
            child.witness.end()
        signal.pthread_sigmask(signal.SIG_SETMASK, child.mask_before)


def _notice(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: signals without a handler are dropped before anyone can wait for them (BSD)."""


def _next_signal(witness: Witness | None) -> tuple[int, bool]:
    if not hasattr(signal, "sigwaitinfo"):  # macOS: the sender of a signal is unknown
        number = signal.sigwait(_TAKEN)
        return number, number not in _FROM_KEYBOARD
    info = signal.sigwaitinfo(_TAKEN)
    number = info.si_signo
    is_of_group = number != signal.SIGCHLD and witness is not None and witness.saw(number)
    return number, not is_of_group and info.si_code != _SENT_BY_KERNEL


def _reap(child: Child) -> int | None:
    """Return the command's exit code, ``None`` while it lives; stop with it when it stops."""
    while True:
        pid, status = os.waitpid(child.pid, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return None
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)
        if os.WIFSIGNALED(status):
            return KILLED + os.WTERMSIG(status)
        if os.WIFSTOPPED(status) and os.WSTOPSIG(status) in _STOPPED_BY_TERMINAL:
            _stop_too(os.WSTOPSIG(status))


def _stop_too(number: int) -> None:
    """Stop this process as its command was stopped, so that the shell sees it; go on after.

    The terminal sent us the same signal. If it still waits, it is taken first: to let it through
    and to raise another one would stop us a second time, after the shell let us go on.
    """
    if number in signal.sigpending():
        signal.sigwait({number})
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.raise_signal(number)  # returns once we are continued
    signal.pthread_sigmask(signal.SIG_BLOCK, {number} & _TAKEN)
