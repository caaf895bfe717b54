"""Who is to do the work: what ``--engine`` says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reportgen.errors import ConfigError


class EngineKind(StrEnum):
    """Threads or processes of this machine, whichever suits the job, or a Dask cluster."""

    AUTO = "auto"
    THREADS = "threads"
    PROCESSES = "processes"
    DASK = "dask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A kind, and of a cluster the address of its scheduler or the path of its scheduler file."""

    kind: EngineKind = EngineKind.AUTO
    address: str = ""


def parse_engine(text: str) -> Engine:
    """Return the engine that ``--engine`` names.

    Raises:
        ConfigError: it is none of the kinds, or a cluster without an address.

    Example:
        >>> parse_engine("dask:tcp://scheduler:8786").address
        'tcp://scheduler:8786'
    """
    name, _, address = text.partition(":")
    if name not in set(EngineKind) or bool(address) != (name == EngineKind.DASK):
        raise ConfigError(
            f"--engine {text!r} is no engine.",
            hint="Write auto, threads, processes, dask:tcp://HOST:PORT or dask:FILE (the "
            "scheduler's file).",
        )
    return Engine(kind=EngineKind(name), address=address)
