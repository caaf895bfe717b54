"""What a kernel trace says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reportgen.profile import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """The statements of a trace about itself; ``None`` where it makes none.

    ``base_ns`` is the origin of times, ns since 1970; ``versions`` are those of runtime,
    driver, profiler and NCCL.
    """

    rank: int | None = None
    world_size: int | None = None
    base_ns: int | None = None
    devices: tuple[Device, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
