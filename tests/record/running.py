"""Run ``reportgen record`` as users do: from a shell, or on a terminal."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = (sys.executable, "-m", "reportgen.cli", "record")
PATIENCE_S = 60.0
"""How long something that must happen may take on a busy machine; nothing waits for its length."""


def record(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run ``reportgen record`` with arguments and return what it answered."""
    return subprocess.run(
        [*RECORD, *map(str, words)],
        cwd=cwd,
        env=environment(env),
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        **options,
    )


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our environment with the package importable, and some variables more."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}


def python(code: str) -> list[str]:
    """Return the command that runs some code."""
    return ["--", sys.executable, "-c", code]


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, f"never seen: {what}"
        time.sleep(0.01)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return the samples of a recording.

    A file can be read while a line is being written to it: what has no end yet does not count.
    """
    paths = sorted(folder.glob("system/incremental/*/*.json*"))
    return [json.loads(line) for path in paths for line in text_of(path).split("\n")[:-1]]


def text_of(path: Path) -> str:
    """Return the text of a file, packed or not; a minute that has just been packed has none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ""
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


class Terminal:
    """A shell with job control on a terminal of its own; what it prints is collected."""

    def __init__(self, cwd: Path) -> None:
        self.output = ""
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            os.execve("/bin/bash", ["bash", "--norc", "-i"], environment({"PS1": "ready> "}))
        os.set_blocking(self._fd, False)
        self.expect("ready> ")

    def type(self, keys: str) -> None:
        """Press keys; ``\\x03`` is Ctrl-C, ``\\x1a`` Ctrl-Z."""
        os.write(self._fd, keys.encode())

    def expect(self, text: str) -> None:
        """Wait until a text is printed, and forget what came up to it."""
        try:
            until(lambda: text in self._read(), repr(text))
        except AssertionError as err:
            raise AssertionError(f"{err} in {self.output!r}") from err
        self.output = self.output.partition(text)[2]

    def close(self) -> None:
        """Hang up."""
        os.close(self._fd)
        os.waitpid(self._pid, 0)

    def _read(self) -> str:
        with suppress(OSError):
            self.output += os.read(self._fd, 65_536).decode(errors="replace")
        return self.output


def shell_words(command: Sequence[str]) -> str:
    """Return a command as one types it."""
    return shlex.join(command)
