"""GPU samples by the real nvidia-ml-py, from a library that the tests compile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.record.running import RECORD, ROOT, environment, lines_of, shell_words

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    COMPILER is None and not os.environ.get("CI"), reason="no C compiler to make a driver with"
)

READS = """
import json, sys
from reportgen.record.nvidia import open_gpus
gpus, why_not = open_gpus()
ticks = [] if gpus is None else [gpus.read(tick * 500_000_000) for tick in range(1, 6)]
missing = why_not if gpus is None else gpus.missing
print(json.dumps({"ticks": ticks, "missing": missing}))
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("fake_nvml.c")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([COMPILER or "cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return folder


def ask(driver: Path | None, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    env = environment(more)
    if driver is not None:
        env["LD_LIBRARY_PATH"] = str(driver)
    answer = subprocess.run(
        [sys.executable, "-c", READS], env=env, cwd=ROOT, check=True, capture_output=True
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def values(tick: list[list[Any]], gpu: str) -> dict[str, float]:
    return {dimension: value for _, name, dimension, value in tick if name == gpu}


def test_every_quantity_of_a_gpu_in_its_unit(driver: Path) -> None:
    tick = ask(driver)["ticks"][1]

    assert values(tick, "gpu1") == {
        "GPUUtilization": 71,
        "GPUMemoryUtilization": 30,
        "GPUMemoryUsedBytes": 20 << 30,
        "GPUMemoryTotalBytes": 80 << 30,
        "GPUPowerWatts": 312.5,
        "GPUSMClockMHz": 1980,
        "GPUMemoryClockMHz": 2619,
        "GPUTemperatureCelsius": 61,
        "GPUThrottleReasons": 0x4 | 0x20,
        "GPUEnergyJoules": 5002.0,
        "GPUPCIeTransmitBytesPerSecond": 2e6,
        "GPUPCIeReceiveBytesPerSecond": 4e6,
        "GPUSMActivity": 2,
        "GPUTensorActivity": 5,
        "GPUDRAMActivity": 10,
        "GPUNVLinkTransmitBytesPerSecond": 61 << 20,
        "GPUNVLinkReceiveBytesPerSecond": 60 << 20,
    }


def test_a_gpu_without_gpm_has_what_counters_say(driver: Path) -> None:
    found = values(ask(driver, {"FAKE_NVML_GPM": "0"})["ticks"][1], "gpu0")

    assert "GPUPCIeReceiveBytesPerSecond" in found
    assert not {"GPUSMActivity", "GPUNVLinkReceiveBytesPerSecond"} & found.keys()


def test_what_a_gpu_does_not_support_is_named_once_and_the_rest_goes_on(driver: Path) -> None:
    answer = ask(driver, {"FAKE_NVML_NO_TEMPERATURE": "1", "FAKE_NVML_GPUS": "1"})

    assert answer["missing"] == ["temperature of gpu0 (Not Supported)"]
    assert values(answer["ticks"][4], "gpu0")["GPUPowerWatts"] == 312.5


def test_a_gpu_that_is_lost_midway_is_named_and_given_up(driver: Path) -> None:
    answer = ask(driver, {"FAKE_NVML_LOST_FROM": "6", "FAKE_NVML_GPUS": "1"})

    assert "GPUUtilization" in values(answer["ticks"][0], "gpu0")
    assert "GPUUtilization" not in values(answer["ticks"][4], "gpu0")
    assert "utilization of gpu0 (GPU is lost)" in answer["missing"]


def test_without_permission_gpus_are_missing(driver: Path) -> None:
    answer = ask(driver, {"FAKE_NVML_INIT": "4"})

    assert answer == {"ticks": [], "missing": ["GPUs (Insufficient Permissions)"]}


RANK = """
import json, os, pathlib, time
folder = pathlib.Path(os.environ["REPORTGEN_RECORD_DIR"])
ranks = folder / "recorder" / "ranks"
ranks.mkdir()
pid = os.getpid()
card = {"node": "node-1", "pid": pid, "gpu_uuids": ["GPU-fake-1"]}
ranks.joinpath(f"0-node-1-{pid}.json").write_text(json.dumps(card))
"""


def recorded(driver: Path, folder: Path, pids: str) -> dict[str, Any]:
    more = {"LD_LIBRARY_PATH": str(driver), "FAKE_NVML_PIDS_1": pids}
    # A shell stays the parent, whose descendants are not foreign either.
    code = shell_words(["--out", "out", "--", sys.executable, "-c", RANK])
    script = f"exec {shell_words(RECORD)} {code}"
    subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env=environment(more),
        check=True,
        capture_output=True,
    )
    found: dict[str, Any] = json.loads((folder / "out" / "recorder.json").read_text())
    return found


def test_a_recording_says_which_gpus_its_ranks_use(driver: Path, tmp_path: Path) -> None:
    gpus = recorded(driver, tmp_path, "")["gpus"]

    assert [gpu["is_used"] for gpu in gpus] == [False, True]
    assert [gpu["name"] for gpu in gpus] == ["Fake GPU"] * 2


def test_nobody_is_foreign_where_no_process_can_be_mapped(driver: Path, tmp_path: Path) -> None:
    recorded(driver, tmp_path, "1")

    assert others(tmp_path) == []


def others(folder: Path) -> list[float]:
    lines = lines_of(folder / "out")
    return [line["Value"] for line in lines if line["Dimension"] == "GPUOtherProcesses"]
