"""Samples of a machine that is made of files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from reportgen.record import host as host_module
from reportgen.record.host import Host
from reportgen.record.limits import MemoryLimit, Quota, ResourceLimits
from tests.record.machines import Machine, machine

SECOND_NS = 1_000_000_000
NO_LIMITS = ResourceLimits(cores=None, quota=None, memory=None)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = machine(tmp_path / "proc", n_cores=96)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(made.proc))
    monkeypatch.setattr(host_module, "_BLOCK_DEVICES", tmp_path / "no-such-folder")
    monkeypatch.setattr(host_module, "online_cores", range)
    return made


def sampled(source: Host, at_s: float) -> dict[tuple[str, str], float]:
    readings = source.read(round(at_s * SECOND_NS))
    found = {(name, dimension): value for _, name, dimension, value in readings}
    assert len(found) == len(readings)
    return found


def test_each_of_96_cores_has_its_use_and_its_wait(large: Machine) -> None:
    source = Host(NO_LIMITS)
    source.read(0)
    large.busy[95] += 30
    large.waiting[95] += 10
    large.idle = [ticks + 50 for ticks in large.idle[:-1]] + [large.idle[-1] + 10]
    large.write()

    second = sampled(source, 0.5)

    assert second["cpu95", "CPUUtilization"] == 80.0
    assert second["cpu95", "I/OWaitPercentage"] == 20.0
    assert second["cpu0", "CPUUtilization"] == 0.0
    assert len([key for key in second if key[1] == "CPUUtilization"]) == 96


def test_a_system_that_does_not_count_waiting_for_io_has_none(large: Machine, monkeypatch) -> None:
    ticks = iter(([1.0, 9.0], [2.0, 12.0], [3.0, 15.0]))

    def times(**_: object) -> list[SimpleNamespace]:
        busy, idle = next(ticks)
        return [SimpleNamespace(user=busy, nice=0.0, system=0.0, idle=idle)]

    monkeypatch.setattr(psutil, "cpu_times", times)
    source = Host(NO_LIMITS)
    source.read(0)
    source.read(SECOND_NS)
    third = sampled(source, 2)

    assert third["cpu0", "CPUUtilization"] == 25.0
    assert ("cpu0", "I/OWaitPercentage") not in third
    assert source.missing == ["waiting for I/O (this system does not count it)"]


def test_only_allowed_cores_are_sampled(large: Machine) -> None:
    source = Host(ResourceLimits(cores=(3, 90), quota=None, memory=None))
    source.read(0)
    large.idle = [ticks + 50 for ticks in large.idle]
    large.write()

    second = sampled(source, 0.5)

    assert {name for name, dimension in second if dimension == "CPUUtilization"} == {
        "cpu3",
        "cpu90",
    }


def test_a_quota_of_cores_is_what_the_job_uses_of_it(large: Machine, tmp_path: Path) -> None:
    statistics = tmp_path / "cpu.stat"
    statistics.write_text("usage_usec 1000000\n")
    quota = Quota(cores=3.5, statistics=statistics)
    source = Host(ResourceLimits(cores=tuple(range(96)), quota=quota, memory=None))
    source.read(0)
    statistics.write_text("usage_usec 2750000\n")  # 1.75 s in one second: half of 3.5 cores

    second = sampled(source, 1)

    cores = {name: value for (name, kind), value in second.items() if kind == "CPUUtilization"}
    assert cores == {"cpu0": 50.0, "cpu1": 50.0, "cpu2": 50.0, "cpu3": 50.0}


def test_disks_made_of_others_are_not_counted_twice(large: Machine) -> None:
    source = Host(NO_LIMITS)
    large.disks = {"nvme0n1": (10, 100, 5, 50), "dm-0": (10, 100, 5, 50), "loop0": (1, 1, 1, 1)}
    large.write()
    source.read(0)
    large.disks = {"nvme0n1": (20, 300, 10, 60), "dm-0": (20, 300, 10, 60), "loop0": (9, 9, 9, 9)}
    large.write()

    second = sampled(source, 2)

    assert second["IOPS", ""] == 7.5
    assert second["ReadThroughputInBytesPerSecond", ""] == 512 * 200 / 2
    assert second["WriteThroughputInBytesPerSecond", ""] == 512 * 10 / 2


def test_traffic_inside_the_machine_is_no_network_traffic(large: Machine) -> None:
    source = Host(NO_LIMITS)
    large.networks = {"lo": (0, 0), "eth0": (1000, 500), "veth12": (0, 0)}
    large.write()
    source.read(0)
    large.networks = {"lo": (9999, 9999), "eth0": (3000, 600), "veth12": (9999, 9999)}
    large.write()

    second = sampled(source, 1)

    assert second["ReceiveBytesPerSecond", "Algorithm"] == 2000
    assert second["TransmitBytesPerSecond", "Algorithm"] == 100


def test_traffic_of_rdma_is_network_traffic_and_counted_once(large: Machine, tmp_path, monkeypatch):
    devices = tmp_path / "infiniband"
    monkeypatch.setattr(host_module, "_RDMA_DEVICES", devices)

    def count(device: str, received: object, sent: object) -> None:
        port = devices / device / "ports" / "1" / "counters"
        port.mkdir(parents=True, exist_ok=True)
        (port / "port_rcv_data").write_text(f"{received}\n")
        (port / "port_xmit_data").write_text(f"{sent}\n")

    count("mlx5_0", 100, 50)
    count("mlx5_1", 0, 0)
    count("broken", "N/A", "N/A")
    large.networks = {"eth0": (1000, 500), "ib0": (0, 0)}
    large.write()
    source = Host(NO_LIMITS)
    source.read(0)
    count("mlx5_0", 350, 75)
    count("mlx5_1", 1000, 0)
    large.networks = {"eth0": (3000, 600), "ib0": (9999, 9999)}
    large.write()

    second = sampled(source, 1)

    assert second["ReceiveBytesPerSecond", "Algorithm"] == 2000 + 4 * 1250
    assert second["TransmitBytesPerSecond", "Algorithm"] == 100 + 4 * 25


def test_memory_is_that_of_the_limit_where_there_is_one(large: Machine, tmp_path: Path) -> None:
    (tmp_path / "current").write_text("3000000000\n")
    (tmp_path / "stat").write_text("anon 1\ninactive_file 1000000000\n")
    limit = MemoryLimit(
        limit_bytes=8_000_000_000, used=tmp_path / "current", statistics=tmp_path / "stat"
    )

    first = sampled(Host(ResourceLimits(cores=None, quota=None, memory=limit)), 0)

    assert first["MemoryUsedPercent", ""] == 25.0
    assert first["MemoryUsedBytes", ""] == 2_000_000_000


def test_what_cannot_be_read_is_named_once_and_the_rest_goes_on(large: Machine) -> None:
    source = Host(NO_LIMITS)
    (large.proc / "net" / "dev").unlink()
    (large.proc / "stat").unlink()
    source.read(0)
    source.read(SECOND_NS)

    assert sorted(source.missing) == ["CPU (FileNotFoundError)", "network (FileNotFoundError)"]
    assert ("MemoryUsedPercent", "") in sampled(source, 2)
