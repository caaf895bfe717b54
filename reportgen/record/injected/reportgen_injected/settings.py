"""What the environment says: settings of the recorder, the clock of all processes, the rank."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # typing itself takes 6 ms of the program's start
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

_PREFIX = "REPORTGEN_RECORD_"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
DEFAULT_EVERY_S = 0.5


class Settings:
    """Where and how this process writes.

    Attributes:
        folder, node: the recording, and the name of this machine in it.
        wall_ns, monotonic_ns: one moment on both clocks. Every process of a node computes its
            times from this pair, so that a clock that is set meanwhile moves nothing.
        every_s: seconds between two writes.
        trace: ``A:B[@ranks]``, empty without it.
        boot: of the machine that the settings are for, empty where unknown.
    """

    __slots__ = ("boot", "every_s", "folder", "monotonic_ns", "node", "trace", "wall_ns")

    def __init__(
        self,
        folder: str,
        clock: tuple[int, int],
        node: str = "node-1",
        every_s: float = DEFAULT_EVERY_S,
        trace: str = "",
        boot: str = "",
    ) -> None:
        self.folder, self.node, self.every_s = folder, node, every_s
        self.wall_ns, self.monotonic_ns = clock
        self.trace, self.boot = trace, boot

    def is_foreign(self) -> bool:
        """Return whether the settings came from another machine, with the environment."""
        return bool(self.boot) and self.boot != _boot()

    @property
    def base_us(self) -> int:
        """Return the wall time of the pair in microseconds."""
        return self.wall_ns // 1_000

    def to_us(self, monotonic_ns: int) -> int:
        """Return microseconds since the pair."""
        return (monotonic_ns - self.monotonic_ns) // 1_000

    def wall_of(self, monotonic_ns: int) -> int:
        """Return nanoseconds since 1970."""
        return self.wall_ns + monotonic_ns - self.monotonic_ns


def read_settings(variables: Optional[Mapping[str, str]] = None) -> Optional[Settings]:
    """Return the settings, ``None`` where nothing is recorded.

    Args:
        variables: the recorder's; without it those of the environment.
    """
    variables = os.environ if variables is None else variables

    def read(name: str) -> str:
        return variables.get(_PREFIX + name, "")

    folder = read("DIR")
    if not folder:
        return None
    return Settings(
        folder,
        _clock(read("CLOCK")),
        node=read("NODE") or "node-1",
        every_s=_seconds(read("EVERY")),
        trace=read("TRACE"),
        boot=read("BOOT"),
    )


def settings_for(folder: str) -> Settings:
    """Return the settings of a recording that this process began itself."""
    return Settings(folder, _clock(""))


def rank_of_process() -> dict[str, Any]:
    """Return rank and number of ranks, as torch knows them, else as the launcher set them."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        return {
            "rank": int(distributed.get_rank()),
            "world_size": int(distributed.get_world_size()),
        }
    world_size = number_in_environment("WORLD_SIZE")
    return {} if world_size is None else {"world_size": world_size}


def number_in_environment(name: str) -> Optional[int]:
    """Return a variable that is a whole number; ``None`` where it is absent or none."""
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


def _clock(text: str) -> tuple[int, int]:
    wall, _, monotonic = text.partition(":")
    if wall.isdigit() and monotonic.isdigit():
        return int(wall), int(monotonic)
    return time.time_ns(), time.monotonic_ns()


def _seconds(text: str) -> float:
    try:
        return min(max(float(text), 0.05), 60.0)
    except ValueError:
        return DEFAULT_EVERY_S


def _boot() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            text = file.read().strip()
    except OSError:
        return ""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]
