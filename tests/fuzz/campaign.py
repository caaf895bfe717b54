"""Many cases, one after the other, each with a time limit."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

CASE_LIMIT_S = 300.0
"""A case takes a second; what takes longer than this, on however busy a machine, hangs."""

MOST_CPU_S, MOST_MIB = 10.0, 1024.0

_IN_MEMORY = Path("/dev/shm")

PAGE_EVERY, COMMAND_EVERY = 200, 20
"""Every input is read, measured and judged; every so many also go further."""

_MOST_OF_A_WORKER = 20_000
"""Cases after which a new process takes over: what grows with their number must not count as the
memory of one."""


def depth_of(seed: int, others: str = "results") -> str:
    """Return how far the cases of a seed go (``tests.fuzz.case.Depth``)."""
    if seed % PAGE_EVERY == 0:
        return "page"
    return "command" if seed % COMMAND_EVERY == 0 else others


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a case; ``wrong`` is empty when all is well."""

    format: str
    seed: int
    seconds: float
    wrong: tuple[str, ...]
    cpu_s: float = 0.0
    mib: float = 0.0
    has_report: bool = False

    def __str__(self) -> str:
        """Return how to see it again, and what is wrong."""
        again = f"python -m tests.fuzz --format {self.format} --seed {self.seed} --cases 1"
        return "\n".join([again, *self.wrong])


class Worker:
    """A process that runs cases; a new one takes over when it hangs or dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._n_run = 0

    def __enter__(self) -> Self:
        """Make the folder for all cases, in memory where that can be; start nothing yet."""
        in_memory = _IN_MEMORY if _IN_MEMORY.is_dir() else None
        self._folder = tempfile.TemporaryDirectory(prefix="reportgen-fuzz-", dir=in_memory)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process and remove the folder."""
        self._end()
        self._folder.cleanup()

    def run(self, name: str, seed: int, *, depth: str | None = None) -> Told:
        """Run a case as far as ``depth``, or as its seed says."""
        self._n_run += 1
        if self._n_run % _MOST_OF_A_WORKER == 0:
            self._end()
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([name, seed, depth or depth_of(seed)]) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], CASE_LIMIT_S)
        line = process.stdout.readline() if ready else ""
        if line:
            answer = json.loads(line)
            wrong = (*answer.pop("wrong"), *_beyond(answer["cpu_s"], answer["mib"]))
        else:
            answer = {"seconds": CASE_LIMIT_S}
            wrong = (self._death(process, hangs=not ready),)
        return Told(format=name, seed=seed, wrong=wrong, **answer)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"],
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "TMPDIR": self._folder.name},
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


def _beyond(cpu_s: float, mib: float) -> list[str]:
    found = [f"{cpu_s:.0f} s of computing"] if cpu_s > MOST_CPU_S else []
    return [*found, f"{mib:.0f} MiB"] if mib > MOST_MIB else found


def campaign(
    worker: Worker,
    names: tuple[str, ...],
    *,
    first_seed: int,
    stride: int = 1,
    others: str = "results",
) -> Iterator[Told]:
    """Yield what came of cases of all formats in turn, without end; ``stride`` is between seeds."""
    for seed in count(first_seed, stride):
        for name in names:
            yield worker.run(name, seed, depth=depth_of(seed, others))
