"""Many cases, one after the other, each with a time limit."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fuzz.formats import FORMATS

CASE_LIMIT_S = 60.0
"""A case takes a second; what takes longer than this on a busy machine hangs."""

_PAGE_EVERY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a case; ``wrong`` is empty when all is well."""

    format: str
    seed: int
    seconds: float
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        """Return how to see it again, and what is wrong."""
        again = f"python -m tests.fuzz --format {self.format} --seed {self.seed} --cases 1"
        return "\n".join([again, *self.wrong])


class Worker:
    """A process that runs cases; a new one takes over when it hangs or dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self._end()

    def run(self, name: str, seed: int, *, draws_page: bool = True) -> Told:
        """Run a case."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([name, seed, draws_page]) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], CASE_LIMIT_S)
        line = process.stdout.readline() if ready else ""
        if line:
            answer = json.loads(line)
            wrong, seconds = tuple(answer["wrong"]), answer["seconds"]
        else:
            wrong, seconds = (self._death(process, hangs=not ready),), CASE_LIMIT_S
        return Told(format=name, seed=seed, seconds=seconds, wrong=wrong)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"],
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._process

    def _death(self, process: subprocess.Popen[str], *, hangs: bool) -> str:
        if hangs:
            process.send_signal(signal.SIGKILL)
        code = process.wait()
        self._end()
        return f"no answer in {CASE_LIMIT_S:.0f} s" if hangs else f"the process died with {code}"

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def campaign(names: tuple[str, ...] = tuple(FORMATS), *, first_seed: int) -> Iterator[Told]:
    """Yield what came of cases of all formats in turn, without end."""
    with Worker() as worker:
        for seed in count(first_seed):
            for name in names:
                yield worker.run(name, seed, draws_page=seed % _PAGE_EVERY == 0)
