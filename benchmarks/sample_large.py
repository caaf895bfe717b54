"""Sample a made machine of 96 cores and 8 GPUs as fast as possible; say what a tick costs.

Run by ``recording.py`` with a made driver on its library path. What NVML's calls cost in a real
driver is not in it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil

from reportgen.record.host import Host
from reportgen.record.limits import ResourceLimits
from reportgen.record.nvidia import open_gpus
from reportgen.record.readings import LineWriter, MinuteFiles
from reportgen.record.sampler import _own_memory_bytes
from tests.record.machines import Machine, machine

N_CORES, N_DISKS, N_NETWORKS = 96, 8, 4
INTERVAL_NS = 500_000_000
_BEGIN_NS = 1_783_069_200_000_000_000


def main(folder: Path, n_ticks: int) -> None:
    """Print the cost of a tick in ms of one core, the memory, and the packed bytes of a tick."""
    made = machine(folder / "proc", n_cores=N_CORES)
    psutil.PROCFS_PATH = str(made.proc)
    host = Host(ResourceLimits(cores=None, quota=None, memory=None))
    gpus, why_not = open_gpus()
    assert gpus is not None, why_not
    lines, files = LineWriter("node-1"), MinuteFiles(folder / "out", "node-1")
    own_ns = 0
    for tick in range(n_ticks):
        now_ns = _BEGIN_NS + tick * INTERVAL_NS
        _work(made)
        before_ns = time.thread_time_ns()
        readings = [*gpus.read(now_ns), *host.read(now_ns)]
        files.write(lines.lines(readings, now_ns), now_ns)
        own_ns += time.thread_time_ns() - before_ns
    packed = sum(path.stat().st_size for path in (folder / "out").rglob("*.json.gz"))
    cost = {"tick_ms": own_ns / n_ticks / 1e6, "memory_bytes": _own_memory_bytes()}
    sys.stdout.write(json.dumps({**cost, "packed_bytes": packed / n_ticks}))


def _work(made: Machine) -> None:
    """Let half a second pass on the machine: 50 clock ticks on each core, busy or idle."""
    for core in range(N_CORES):
        busy = random.randint(0, 50)
        made.busy[core] += busy
        made.idle[core] += 50 - busy
    for n in range(N_DISKS):
        count = made.disks.get(f"nvme{n}n1", (0,))[0] + random.randint(0, 10**5)
        made.disks[f"nvme{n}n1"] = (count,) * 4
    for n in range(N_NETWORKS):
        count = made.networks.get(f"eth{n}", (0,))[0] + random.randint(0, 10**9)
        made.networks[f"eth{n}"] = (count,) * 2
    made.write()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
