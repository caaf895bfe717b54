"""The ``M`` lines of a timeline: their statements and their places in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, Codes, whole_numbers
from reportgen.formats.diagnostics import printable
from reportgen.formats.trace_events.arguments import decode_args
from reportgen.formats.trace_events.events import JsonEvent
from reportgen.units import NS_PER_US

NAMING = "process_name"
"""The name of the lines that matter here."""


class Metadata:
    """Base times and phase names; each holds for the lines after it, the first also before."""

    def __init__(self) -> None:
        self._base_position: list[int] = []
        self._base_us: list[int] = []
        self._phase_position: dict[int, list[int]] = defaultdict(list)
        self._phase_name: dict[int, list[str]] = defaultdict(list)
        self._last_said: dict[Any, bytes] = {}

    def learn(self, metadata: Iterable[JsonEvent], positions: Iterable[int], pids: Codes) -> None:
        """Take some ``M`` lines in their order, and where in the file they stand; extend ``pids``.

        The newest writer repeats the name of its phase before every event: bytes that a phase
        said last are not looked at again.
        """
        last_said = self._last_said
        for event, position in zip(metadata, positions, strict=True):
            if event.name == NAMING:
                said = bytes(event.args)
                if last_said.get(event.pid) != said:
                    self._learn(event.pid, said, position, pids)

    def _learn(self, pid: object, said: bytes, position: int, pids: Codes) -> None:
        args = decode_args(said)
        self._last_said[pid] = said
        if args.start_time_since_epoch_in_micros is not None:
            self._learn_base(args.start_time_since_epoch_in_micros, position)
            del self._last_said[pid]  # a base is the whole file's: another phase may change it
        if args.name is not None:
            names = self._phase_name[pids[pid]]
            if args.name not in names[-1:]:
                self._phase_position[pids[pid]].append(position)
                names.append(args.name)

    def start_at(self, base_us: int) -> None:
        """Take a base time from outside the file; one in the file holds for the lines after it."""
        self._base_position.append(0)
        self._base_us.append(base_us)

    def _learn_base(self, value: object, position: int) -> None:
        base_us = int(whole_numbers([value])[0])
        if base_us != ABSENT and base_us not in self._base_us[-1:]:
            self._base_position.append(position)
            self._base_us.append(base_us)

    @property
    def first_base_ns(self) -> int | None:
        """Return when the file says it began, or ``None``."""
        return self._base_us[0] * NS_PER_US if self._base_us else None

    def base_at(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the base in microseconds that holds at each place; 0 without any."""
        if len(self._base_us) <= 1:
            return np.full(position.shape, (self._base_us or [0])[0], dtype=np.int64)
        index = np.searchsorted(self._base_position, position, side="right") - 1
        return np.array(self._base_us, dtype=np.int64)[np.maximum(index, 0)]

    def phases_at(
        self, position: NDArray[np.int64], pid: NDArray[np.int32], pids: Codes, phases: Codes
    ) -> NDArray[np.int32]:
        """Return the code of each event's phase name; a phase without a name is its number.

        ``position`` (n,) are places in the file, ``pid`` (n,) codes into ``pids``; ``phases`` are
        extended.
        """
        only = np.zeros(len(pids), dtype=np.int32)
        renamed = []
        for value, code in pids.items():
            names = self._phase_name.get(code) or [f"process {value}"]
            only[code] = phases[printable(names[0])]
            if len(names) > 1:
                renamed.append(code)
        phase = only[pid]
        for code in renamed:
            rows = np.flatnonzero(pid == code)
            index = np.searchsorted(self._phase_position[code], position[rows], side="right") - 1
            named = [phases[printable(name)] for name in self._phase_name[code]]
            phase[rows] = np.array(named, dtype=np.int32)[np.maximum(index, 0)]
        return phase
