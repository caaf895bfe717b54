"""Another Python interpreter with pipes to and from it, which reads what may break it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
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
