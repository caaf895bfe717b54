"""CPU, memory, disk and network of this machine, as psutil reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from reportgen.record.limits import Quota, ResourceLimits, online_cores
from reportgen.record.readings import Rates, Reading

_BLOCK_DEVICES = Path("/sys/block")
_RDMA_DEVICES = Path("/sys/class/infiniband")
_NO_DISK = ("dm-", "md", "loop", "ram", "zram", "sr")
"""Block devices that repeat the traffic of others, or have none."""
_NO_NETWORK = ("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "bond", "team")
"""Interfaces that repeat the traffic of others, or have none outside the machine."""
_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Times of a core that add up to its whole; ``user`` holds those of guests."""
_IDLE, _IO_WAIT = _TIMES.index("idle"), _TIMES.index("iowait")
_NO_IO_WAIT = "waiting for I/O (this system does not count it)"


class Host:
    """Metrics of the machine. A metric that cannot be read is named in ``missing`` and left out."""

    def __init__(self, limits: ResourceLimits) -> None:
        self.missing: list[str] = []
        self._limits = limits
        self._quota = _binding_quota(limits)
        self._rates = Rates()
        # Ports for RDMA, which passes the system by; `ib0` and its like are in their counters too.
        self._ports = sorted(filter(_is_readable, _RDMA_DEVICES.glob("*/ports/*/counters")))
        self._cores: dict[int, Sequence[float]] = {}
        self._numbers: Sequence[int] = ()
        self._parts: list[tuple[str, Callable[[int], Iterator[Reading]]]] = [
            ("memory", self._memory),
            ("CPU", self._cpu if self._quota is None else self._shared_cpu),
            ("disk", self._disk),
            ("network", self._network),
        ]

    def read(self, now_ns: int) -> list[Reading]:
        """Return the samples of a tick; a part that fails is dropped and named."""
        readings: list[Reading] = []
        for part in list(self._parts):
            what, read = part
            try:
                readings.extend(read(now_ns))
            except (OSError, RuntimeError, ValueError, psutil.Error) as err:
                self._parts.remove(part)
                self.missing.append(f"{what} ({type(err).__name__})")
        return readings

    def _memory(self, _now_ns: int) -> Iterator[Reading]:
        """Yield memory in use, of the limit where a cgroup sets one, else of the machine."""
        limit = self._limits.memory
        memory = psutil.virtual_memory()
        used_bytes, most_bytes = memory.total - memory.available, memory.total
        if limit is not None and limit.limit_bytes < memory.total:
            used_bytes, most_bytes = limit.used_bytes(), limit.limit_bytes
        used_pct = min(100 * used_bytes / most_bytes, 100.0)
        yield Reading("memory", "MemoryUsedPercent", "", used_pct)
        yield Reading("memory", "MemoryUsedBytes", "", used_bytes)

    def _cpu(self, _now_ns: int) -> Iterator[Reading]:
        lines = psutil.cpu_times(percpu=True)
        if len(lines) != len(self._numbers):
            self._numbers = online_cores(len(lines))
            self._cores.clear()
        allowed = self._limits.cores
        has_io_wait = hasattr(lines[0], "iowait")
        if not has_io_wait and _NO_IO_WAIT not in self.missing:
            self.missing.append(_NO_IO_WAIT)
        for number, line in zip(self._numbers, lines, strict=True):
            if allowed is not None and number not in allowed:
                continue
            times = [getattr(line, name, 0.0) for name in _TIMES]
            before = self._cores.get(number)
            self._cores[number] = times
            if before is not None and sum(times) > sum(before):
                busy_pct, io_wait_pct = _use_of(before, times)
                yield Reading("cpu", f"cpu{number}", "CPUUtilization", busy_pct)
                if has_io_wait:
                    yield Reading("cpu", f"cpu{number}", "I/OWaitPercentage", io_wait_pct)

    def _shared_cpu(self, now_ns: int) -> Iterator[Reading]:
        """Yield the use of the job's share of the cores, which others use as well.

        As many cores as the quota is worth are each as busy as the job is on average: the times of
        the machine's own cores are mostly those of others.
        """
        assert self._quota is not None
        used_cores = self._rates.rate("quota", self._quota.used_s(), now_ns)
        if used_cores is not None:
            busy_pct = min(100 * used_cores / self._quota.cores, 100.0)
            for number in range(max(round(self._quota.cores), 1)):
                yield Reading("cpu", f"cpu{number}", "CPUUtilization", round(busy_pct, 1))

    def _disk(self, now_ns: int) -> Iterator[Reading]:
        disks = psutil.disk_io_counters(perdisk=True, nowrap=False)
        real = [counters for name, counters in disks.items() if _is_disk(name)]
        sums = {
            "IOPS": sum(disk.read_count + disk.write_count for disk in real),
            "ReadThroughputInBytesPerSecond": sum(disk.read_bytes for disk in real),
            "WriteThroughputInBytesPerSecond": sum(disk.write_bytes for disk in real),
        }
        for name, value in sums.items():
            rate = self._rates.rate(name, value, now_ns)
            if rate is not None:
                yield Reading("i/o", name, "", rate)

    def _network(self, now_ns: int) -> Iterator[Reading]:
        every = psutil.net_io_counters(pernic=True, nowrap=False)
        others = (*_NO_NETWORK, "ib") if self._ports else _NO_NETWORK
        real = [counters for name, counters in every.items() if not name.startswith(others)]
        sums = {
            "ReceiveBytesPerSecond": sum(counters.bytes_recv for counters in real)
            + sum(_word_bytes(port, "port_rcv_data") for port in self._ports),
            "TransmitBytesPerSecond": sum(counters.bytes_sent for counters in real)
            + sum(_word_bytes(port, "port_xmit_data") for port in self._ports),
        }
        for name, value in sums.items():
            rate = self._rates.rate(name, value, now_ns)
            if rate is not None:
                yield Reading("network", name, "Algorithm", rate)


def _binding_quota(limits: ResourceLimits) -> Quota | None:
    """Return the quota where it is less than the cores that the job may run on."""
    if limits.quota is None:
        return None
    n_cores = psutil.cpu_count() if limits.cores is None else len(limits.cores)
    return limits.quota if limits.quota.cores < (n_cores or 1) else None


def _word_bytes(port: Path, counter: str) -> int:
    """Return a counter of an InfiniBand port, which counts words of four bytes."""
    return 4 * int((port / counter).read_text())


def _is_readable(port: Path) -> bool:
    try:
        return _word_bytes(port, "port_rcv_data") + _word_bytes(port, "port_xmit_data") >= 0
    except (OSError, ValueError):
        return False


def _use_of(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return the use of a core and its waiting for I/O in percent; busy includes that waiting.

    Counters that went back, as those of some machines do, say nothing.
    """
    spent = [max(late - early, 0.0) for early, late in zip(before, after, strict=True)]
    whole = sum(spent)
    return round(100 * (whole - spent[_IDLE]) / whole, 1), round(100 * spent[_IO_WAIT] / whole, 1)


def _is_disk(name: str) -> bool:
    """Return whether a block device is a whole disk, and not made of others."""
    if name.startswith(_NO_DISK):
        return False
    return not _BLOCK_DEVICES.exists() or (_BLOCK_DEVICES / name.replace("/", "!")).exists()
