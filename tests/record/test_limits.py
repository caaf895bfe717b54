"""What cgroups of both versions say of the job's limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.record.limits import ResourceLimits, online_cores, read_limits
from tests.builders import known


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def limits_of(folder: Path, own: str, files: dict[str, str]) -> ResourceLimits:
    for name, text in files.items():
        written(folder / "cgroup" / name, text)
    return read_limits(folder / "cgroup", written(folder / "own", own))


def test_the_tightest_limit_of_all_groups_above_counts(tmp_path: Path) -> None:
    limits = limits_of(
        tmp_path,
        "0::/job/step\n",
        {
            "job/step/cpu.max": "max 100000\n",
            "job/step/memory.max": "8000000000\n",
            "job/step/memory.current": "5\n",
            "job/step/memory.stat": "inactive_file 2\n",
            "job/cpu.max": "350000 100000\n",
            "job/memory.max": "9000000000\n",
            "memory.max": "max\n",
        },
    )
    memory = known(limits.memory)

    assert known(limits.quota).cores == 3.5
    assert (memory.limit_bytes, memory.used_bytes()) == (8_000_000_000, 3)


def test_a_container_that_sees_its_own_group_as_the_root_has_its_limits(tmp_path: Path) -> None:
    files = {"cpu.max": "200000 100000\n", "cpu.stat": "usage_usec 1500000\nuser_usec 9\n"}
    quota = known(limits_of(tmp_path, "0::/\n", files).quota)
    assert (quota.cores, quota.used_s()) == (2.0, 1.5)


def test_groups_of_the_first_version_are_read(tmp_path: Path) -> None:
    limits = limits_of(
        tmp_path,
        "4:memory:/job\n3:cpu,cpuacct:/job\n",
        {
            "cpu,cpuacct/job/cpu.cfs_quota_us": "150000\n",
            "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/job/cpuacct.usage": "2500000000\n",
            "memory/job/memory.limit_in_bytes": "4000\n",
            "memory/job/memory.usage_in_bytes": "900\n",
            "memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    quota, memory = known(limits.quota), known(limits.memory)

    assert (quota.cores, quota.used_s()) == (1.5, 2.5)
    assert (memory.limit_bytes, memory.used_bytes()) == (4000, 600)


@pytest.mark.parametrize("text", ["", "max\n", "none\n", "0::/\n0::"])
def test_without_groups_there_is_no_limit(text: str, tmp_path: Path) -> None:
    limits = limits_of(tmp_path, text, {})

    assert (limits.quota, limits.memory) == (None, None)


def test_cores_that_are_offline_are_skipped(tmp_path: Path) -> None:
    online = written(tmp_path / "online", "0-1,4\n")

    assert list(online_cores(3, online)) == [0, 1, 4]
    assert list(online_cores(2, online)) == [0, 1]
