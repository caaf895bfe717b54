"""A made ``/proc``: a machine of any number of cores, whose counters the test sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

_KIB = 1024


@dataclass(slots=True, kw_only=True)
class Machine:
    """What ``/proc`` says; ``write`` makes it so.

    Attributes:
        proc: the folder that stands for ``/proc``.
        busy, waiting, idle: clock ticks of each core since boot.
        disks: name to (reads, sectors read, writes, sectors written).
        networks: name to (bytes in, bytes out).
    """

    proc: Path
    busy: list[int]
    waiting: list[int]
    idle: list[int]
    total_bytes: int = 1 << 40
    available_bytes: int = 3 << 38
    disks: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    networks: dict[str, tuple[int, int]] = field(default_factory=dict)

    def write(self) -> None:
        """Write the files that psutil reads."""
        (self.proc / "net").mkdir(parents=True, exist_ok=True)
        (self.proc / "1").mkdir(exist_ok=True)
        (self.proc / "stat").write_text(self._stat())
        (self.proc / "meminfo").write_text(
            f"MemTotal: {self.total_bytes // _KIB} kB\nMemFree: {self.available_bytes // _KIB} kB\n"
            f"MemAvailable: {self.available_bytes // _KIB} kB\nBuffers: 0 kB\nCached: 0 kB\n"
            "Active: 0 kB\nInactive: 0 kB\nShmem: 0 kB\nSlab: 0 kB\n"
        )
        (self.proc / "diskstats").write_text(
            "".join(
                f" 259 {place} {name} {reads} 0 {read} 0 {writes} 0 {written} 0 0 0 0 0 0 0 0\n"
                for place, (name, (reads, read, writes, written)) in enumerate(self.disks.items())
            )
        )
        heads = "Inter-|   Receive\n face |bytes\n"
        (self.proc / "net" / "dev").write_text(
            heads
            + "".join(
                f"{name}: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n"
                for name, (received, sent) in self.networks.items()
            )
        )

    def _stat(self) -> str:
        cores = [
            f"cpu{number} {busy} 0 0 {idle} {waiting} 0 0 0 0 0\n"
            for number, (busy, waiting, idle) in enumerate(
                zip(self.busy, self.waiting, self.idle, strict=True)
            )
        ]
        return "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(cores) + "btime 1700000000\n"


def machine(proc: Path, *, n_cores: int) -> Machine:
    """Return an idle machine, written."""
    made = Machine(proc=proc, busy=[100] * n_cores, waiting=[10] * n_cores, idle=[1000] * n_cores)
    made.write()
    return made
