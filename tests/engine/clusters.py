"""A real Dask cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_LONGEST_START_S = 60.0
_FINDS_US = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}


@dataclass
class Cluster:
    """A scheduler and its workers.

    Attributes:
        folder: where the scheduler's file and what the workers store lie.
        scheduler: its process.
        workers: theirs, in the order in which they were started.
    """

    folder: Path
    port: int = 0
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """Return the scheduler's file."""
        return self.folder / "scheduler.json"

    def start_scheduler(self) -> None:
        """Start the scheduler, at the same port when it is started again."""
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler", "--port", str(self.port), "--scheduler-file", str(self.file)
        )
        wait_until(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.port = int(self.address.rpartition(":")[2])

    @property
    def address(self) -> str:
        """Return the scheduler's address."""
        import json

        address = json.loads(self.file.read_text())["address"]
        assert isinstance(address, str)
        return address

    def start_worker(self, *, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; it stays dead when it is killed."""
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--death-timeout", "60",
            "--local-directory", str(self.folder), env=env,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def _start(
        self, role: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{role}", *arguments, "--no-dashboard"]
            + (["--host", "127.0.0.1"] if role == "scheduler" else []),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={**os.environ, **_FINDS_US, **(env or {})},
        )

    def stop(self) -> None:
        """End all processes."""
        started = [*self.workers, *([self.scheduler] if self.scheduler else [])]
        for process in started:
            process.kill()
        for process in started:
            process.wait(10)


@contextmanager
def running_cluster(
    folder: Path, *, n_workers: int = 2, env: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """Start a cluster and wait until all of its workers are there."""
    from distributed import Client

    cluster = Cluster(folder)
    try:
        cluster.start_scheduler()
        for _ in range(n_workers):
            cluster.start_worker(env=env)
        if n_workers:
            with Client(cluster.address, set_as_default=False) as client:
                client.wait_for_workers(n_workers, timeout=_LONGEST_START_S)
        yield cluster
    finally:
        cluster.stop()


def wait_until(is_so: object) -> None:
    """Wait until a function says yes."""
    assert callable(is_so)
    until = time.monotonic() + _LONGEST_START_S
    while not is_so():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)
