"""AMD's GPUs, as far as that can be tried without one: against a module made for the test."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from reportgen.record import gpu_sources


class Smi(ModuleType):
    """What ``amdsmi`` answers, as its documentation says."""

    AmdSmiClkType = SimpleNamespace(GFX="gfx")

    def __init__(self) -> None:
        super().__init__("amdsmi")
        self.__spec__ = SimpleNamespace()  # type: ignore[assignment]  # enough to be found

    def amdsmi_init(self) -> None: ...

    def amdsmi_get_processor_handles(self) -> list[str]:
        return ["one", "two"]

    def amdsmi_get_gpu_device_uuid(self, handle: str) -> str:
        return f"uuid-{handle}"

    def amdsmi_get_gpu_asic_info(self, _: str) -> dict[str, Any]:
        return {"market_name": "Fake Instinct"}

    def amdsmi_get_gpu_vram_usage(self, _: str) -> dict[str, int]:
        return {"vram_total": 1_000, "vram_used": 250}

    def amdsmi_get_gpu_activity(self, _: str) -> dict[str, Any]:
        return {"gfx_activity": 80, "umc_activity": 40}

    def amdsmi_get_power_info(self, _: str) -> dict[str, Any]:
        return {"current_socket_power": "N/A"}

    def amdsmi_get_clock_info(self, _: str, kind: str) -> dict[str, Any]:
        assert kind == "gfx"
        return {"clk": 2_100}


@pytest.fixture
def _amd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", Smi())
    monkeypatch.setattr(gpu_sources, "_open_nvidia", lambda: (None, "no driver"))


@pytest.mark.usefixtures("_amd")
def test_what_it_says_is_in_the_same_quantities_and_what_fails_is_given_up() -> None:
    gpus, why_not = gpu_sources.open_gpus()
    assert gpus is not None
    assert why_not == []
    readings = gpus.read(0)

    assert [gpu.uuid for gpu in gpus.gpus] == ["uuid-one", "uuid-two"]
    assert {reading.dimension: reading.value for reading in readings if reading.name == "gpu1"} == {
        "GPUUtilization": 80,
        "GPUMemoryUtilization": 40,
        "GPUMemoryUsedBytes": 250 << 20,
        "GPUMemoryTotalBytes": 1_000 << 20,
        "GPUSMClockMHz": 2_100,
    }
    assert "power of AMD's GPUs (ValueError)" in gpus.missing
    assert len(gpus.read(1)) == len(readings)


@pytest.mark.usefixtures("_amd")
def test_that_it_was_never_run_is_said() -> None:
    gpus, _ = gpu_sources.open_gpus()

    assert gpus is not None
    assert "never run on one" in gpus.missing[0]
