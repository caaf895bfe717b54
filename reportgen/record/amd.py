"""AMD's GPUs, as ``amdsmi`` counts them: untested, as no such GPU was at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reportgen.record.gpu_sources import GpuCard
from reportgen.record.readings import Reading

_MIB = 1 << 20
_UNTESTED = "AMD's GPUs for certain (the code that samples them has never run on one)"


class AmdGpus:
    """All GPUs that ``amdsmi`` shows; ``missing`` names what could not be read."""

    def __init__(self) -> None:
        """Find the GPUs.

        Raises:
            ImportError: amdsmi is not installed.
            RuntimeError: there is no driver, or it answers with an error.
        """
        import amdsmi

        self._smi: Any = amdsmi
        self.missing: list[str] = [_UNTESTED]
        self.driver = ""
        try:
            amdsmi.amdsmi_init()
            self._handles = list(amdsmi.amdsmi_get_processor_handles())
            self.gpus = [self._card(index) for index in range(len(self._handles))]
        except Exception as err:
            raise RuntimeError(f"amdsmi: {type(err).__name__}") from err
        self._probes: list[tuple[str, Callable[[Any], Iterator[tuple[str, float]]]]] = [
            ("activity", self._activity),
            ("memory", self._memory),
            ("power", self._power),
            ("clock", self._clock),
        ]

    def read(self, _now_ns: int) -> list[Reading]:
        """Return the samples of a tick; what fails once is not asked for again."""
        readings: list[Reading] = []
        for what, probe in list(self._probes):
            try:
                for card, handle in zip(self.gpus, self._handles, strict=True):
                    readings.extend(
                        Reading("gpu", f"gpu{card.index}", dimension, value)
                        for dimension, value in probe(handle)
                    )
            except Exception as err:  # noqa: BLE001  # a library that could not be tried here
                self._probes.remove((what, probe))
                self.missing.append(f"{what} of AMD's GPUs ({type(err).__name__})")
        return readings

    def processes(self) -> dict[int, list[int]]:
        """Return nothing: whether its process numbers can be mapped was never seen."""
        return {}

    def _card(self, index: int) -> GpuCard:
        handle, smi = self._handles[index], self._smi
        return GpuCard(
            index=index,
            uuid=str(smi.amdsmi_get_gpu_device_uuid(handle)),
            name=str(smi.amdsmi_get_gpu_asic_info(handle)["market_name"]),
            memory_bytes=int(smi.amdsmi_get_gpu_vram_usage(handle)["vram_total"]) * _MIB,
        )

    def _activity(self, handle: Any) -> Iterator[tuple[str, float]]:
        activity = self._smi.amdsmi_get_gpu_activity(handle)
        yield "GPUUtilization", float(activity["gfx_activity"])
        yield "GPUMemoryUtilization", float(activity["umc_activity"])

    def _memory(self, handle: Any) -> Iterator[tuple[str, float]]:
        memory = self._smi.amdsmi_get_gpu_vram_usage(handle)
        yield "GPUMemoryUsedBytes", float(memory["vram_used"]) * _MIB
        yield "GPUMemoryTotalBytes", float(memory["vram_total"]) * _MIB

    def _power(self, handle: Any) -> Iterator[tuple[str, float]]:
        power = self._smi.amdsmi_get_power_info(handle)
        yield "GPUPowerWatts", float(power["current_socket_power"])

    def _clock(self, handle: Any) -> Iterator[tuple[str, float]]:
        clock = self._smi.amdsmi_get_clock_info(handle, self._smi.AmdSmiClkType.GFX)
        yield "GPUSMClockMHz", float(clock["clk"])
