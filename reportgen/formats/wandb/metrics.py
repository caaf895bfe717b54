"""Names of metrics of Weights & Biases, and what they are here."""

from __future__ import annotations

import re
from dataclasses import replace

from reportgen.formats.monitoring import (
    MIB,
    UNREAD,
    LoggedNumbers,
    Meaning,
    Monitored,
    is_speed,
    of_gpu,
    progress_of,
)
from reportgen.profile.monitoring import STEP_COUNTERS, Progress

SOURCE = "Weights & Biases"
_GPU: dict[str, Meaning] = {
    "gpu": of_gpu("GPUUtilization"),
    "memory": of_gpu("GPUMemoryUtilization"),
    "memoryAllocatedBytes": of_gpu("GPUMemoryUsedBytes"),
    "memoryAllocated": of_gpu("GPUMemoryUsedPercent"),
    "temp": of_gpu("GPUTemperatureCelsius"),
    "powerWatts": of_gpu("GPUPowerWatts"),
    "smClock": of_gpu("GPUSMClockMHz"),
    "smActive": of_gpu("GPUSMActivity"),
    "pipeTensorActive": of_gpu("GPUTensorActivity"),
    "dramActive": of_gpu("GPUDRAMActivity"),
    "totalEnergyConsumption": of_gpu("GPUEnergyJoules", 1e-3),
}
"""Metrics ``gpu.<index>.<name>``. GPUs are told apart by their index."""
_READ = Meaning(type="i/o", name="ReadThroughputInBytesPerSecond", factor=MIB, is_counter=True)
_WRITTEN = Meaning(type="i/o", name="WriteThroughputInBytesPerSecond", factor=MIB, is_counter=True)
_SENT, _RECEIVED = (
    Meaning(type="network", name=name, dimension="Algorithm", is_counter=True)
    for name in ("TransmitBytesPerSecond", "ReceiveBytesPerSecond")
)
_HOST: dict[str, Meaning] = {
    "memory_percent": Meaning(type="memory", name="MemoryUsedPercent"),
    "memory": Meaning(type="memory", name="MemoryUsedPercent"),
    "disk.in": _READ,
    "disk.out": _WRITTEN,
    "network.sent": _SENT,
    "network.recv": _RECEIVED,
}
"""Metrics of the machine; disk and network count from the start of the run. ``cpu`` is the use of
one process alone, without those that load its data, and is not read."""
_CORE = Meaning(type="cpu", name="cpu", dimension="CPUUtilization")
_GPU_KEY = re.compile(r"gpu\.(\d{1,3})\.([A-Za-z]+)")
_PROGRAM_KEY = re.compile(r"gpu\.process\.(\d{1,3})\.[A-Za-z]+")
_CORE_KEY = re.compile(r"cpu\.(\d{1,4})\.cpu_percent")
_DISK_KEY = re.compile(r"disk\.([A-Za-z0-9_-]{1,64})\.(in|out)")


class Metrics:
    """Gives the series of a file their codes.

    ``gpus`` are the GPUs that were sampled, ``program_gpus`` those on which the program itself ran.
    """

    def __init__(self, found: Monitored) -> None:
        self._found = found
        self._disks: dict[str, str] = {}
        self.gpus: set[int] = set()
        self.program_gpus: set[int] = set()

    def code_of(self, key: str) -> tuple[int, float]:
        """Return the code of a metric and the factor of its values; ``UNREAD`` for all others."""
        meaning, device = _HOST.get(key), ""
        if match := _GPU_KEY.fullmatch(key):
            meaning, device = _GPU.get(match[2]), str(int(match[1]))
            self.gpus.add(int(match[1]))
        elif match := _PROGRAM_KEY.fullmatch(key):
            self.program_gpus.add(int(match[1]))
        elif match := _CORE_KEY.fullmatch(key):
            meaning, device = _CORE, str(int(match[1]))
        elif match := _DISK_KEY.fullmatch(key):
            disk = self._disks.setdefault(match[1], f"disk{len(self._disks)}")
            meaning = replace(_READ if match[2] == "in" else _WRITTEN, dimension=disk)
        if meaning is None:
            return UNREAD, 0.0
        return self._found.code_of(meaning, device), meaning.factor


def is_progress(key: str) -> bool:
    """Return whether a number of a training program counts its steps, or says its speed."""
    return key in _COUNTERS or is_speed(key)


_COUNTERS = (*STEP_COUNTERS, "_step")


def progress_by(numbers: LoggedNumbers) -> list[Progress]:
    """Return the progress by the surest counter that rises, else by the calls of ``wandb.log``."""
    rising = (name for name in STEP_COUNTERS if numbers.counts(name))
    progress = progress_of(numbers, next(rising, "_step"))
    return [] if progress is None else [progress]
