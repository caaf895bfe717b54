"""Which GPUs of this machine can be sampled, and what every source of their samples offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from reportgen.record.readings import Reading


@dataclass(slots=True, kw_only=True)
class GpuCard:
    """One GPU: its number in its driver's order, and what it is."""

    index: int
    uuid: str
    name: str
    memory_bytes: int


class GpuSource(Protocol):
    """The GPUs of one driver."""

    missing: list[str]
    driver: str

    @property
    def gpus(self) -> Sequence[GpuCard]:
        """Return them in the driver's order."""

    def read(self, now_ns: int) -> Sequence[Reading]:
        """Return the samples of a tick."""

    def processes(self) -> Mapping[int, Sequence[int]]:
        """Return the processes that compute on each GPU, by its number."""


def open_gpus() -> tuple[GpuSource | None, list[str]]:
    """Return the source of GPU samples, and what to say when there is none."""
    found, why_not = _open_nvidia()
    if found is None and find_spec("amdsmi") is not None:
        found, why_not = _open_amd()
    return found, [] if found is not None else [f"GPUs ({why_not})"]


def _open_nvidia() -> tuple[GpuSource | None, str]:
    from reportgen.record.nvidia import NvidiaGpus

    try:
        return NvidiaGpus(), ""
    except ImportError:
        return None, "nvidia-ml-py is not installed"
    except RuntimeError as err:
        return None, str(err)


def _open_amd() -> tuple[GpuSource | None, str]:
    from reportgen.record.amd import AmdGpus

    try:
        return AmdGpus(), ""
    except (ImportError, RuntimeError) as err:
        return None, str(err)
