"""Limits of the job on its machine: the cores of its affinity, and the limits of its cgroups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_ONLINE = Path("/sys/devices/system/cpu/online")
_UNLIMITED_BYTES = 1 << 60
"""cgroup v1 writes about 2^63 where there is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """A limit of memory, and the files that say how much of it is used."""

    limit_bytes: int
    used: Path
    statistics: Path

    def used_bytes(self) -> int:
        """Return the memory that counts against the limit and cannot simply be dropped.

        Raises:
            OSError: the files are gone.
            ValueError: they hold something else.
        """
        lines = self.statistics.read_text().splitlines()
        statistics = dict(line.split(" ", 1) for line in lines)
        inactive = statistics.get("total_inactive_file", statistics.get("inactive_file", "0"))
        return max(int(self.used.read_text()) - int(inactive), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A limit of processor time: as much as some cores have, however many there are."""

    cores: float
    statistics: Path

    def used_s(self) -> float:
        """Return the processor time that was used of it.

        Raises:
            OSError: the file is gone.
            ValueError: it holds something else.
        """
        text = self.statistics.read_text()
        if text.strip().isdigit():
            return int(text) / 1e9  # cgroup v1: nanoseconds, nothing else
        return int(text.partition("usage_usec")[2].split()[0]) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """Resources that the job may use.

    Attributes:
        cores: numbers of the cores that it may run on; ``None`` where the system does not say.
        quota: the tightest limit of processor time of its cgroups; ``None`` without one.
        memory: the tightest limit of its cgroups; ``None`` without one.
    """

    cores: tuple[int, ...] | None
    quota: Quota | None
    memory: MemoryLimit | None


def read_limits(groups: Path = _CGROUPS, own_groups: Path = _OWN_GROUPS) -> ResourceLimits:
    """Return the limits of this process, which the command inherits."""
    folders = list(_folders(groups, own_groups))
    quotas = [quota for folder in folders if (quota := _quota(folder)) is not None]
    memories = [limit for folder in folders if (limit := _memory(folder)) is not None]
    cores = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else None
    return ResourceLimits(
        cores=cores,
        quota=min(quotas, key=lambda quota: quota.cores, default=None),
        memory=min(memories, key=lambda limit: limit.limit_bytes, default=None),
    )


def online_cores(n_lines: int, online: Path = _ONLINE) -> range | list[int]:
    """Return the numbers of the cores that ``/proc/stat`` has lines of, in its order."""
    with suppress(OSError, ValueError):
        listed = parse_cores(online.read_text())
        if len(listed) == n_lines:
            return listed
    return range(n_lines)


def parse_cores(text: str) -> list[int]:
    r"""Return the numbers in a list of the kernel.

    Example:
        >>> parse_cores("0-2,8\n")
        [0, 1, 2, 8]
    """
    cores: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cores.extend(range(int(first), int(last or first) + 1))
    return cores


def _folders(groups: Path, own_groups: Path) -> Iterator[Path]:
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, _, found = line.partition(":")
        controllers, colon, path = found.partition(":")
        if not colon:
            continue
        top = groups / controllers if controllers else groups
        inside = Path(path.lstrip("/"))
        for folder in (inside, *inside.parents):
            yield top / folder


def _quota(folder: Path) -> Quota | None:
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        cores = int(quota) / int(period)  # "max" is no number
        return Quota(cores=cores, statistics=folder / "cpu.stat")
    with suppress(OSError, ValueError):
        quota_us = int((folder / "cpu.cfs_quota_us").read_text())
        cores = quota_us / int((folder / "cpu.cfs_period_us").read_text())
        return Quota(cores=cores, statistics=folder / "cpuacct.usage") if quota_us > 0 else None
    return None


def _memory(folder: Path) -> MemoryLimit | None:
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            limit_bytes = int((folder / limit).read_text())
            if limit_bytes < _UNLIMITED_BYTES:
                return MemoryLimit(
                    limit_bytes=limit_bytes, used=folder / used, statistics=folder / "memory.stat"
                )
    return None
