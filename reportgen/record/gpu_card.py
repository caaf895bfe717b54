"""Description of a GPU, the same from every source of GPU samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
