"""What the ``M`` lines of a timeline say, and where in the file they say it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_columns import ABSENT, Codes, whole_numbers
from reportgen.formats.event_text import NO_ARGS, Event
from reportgen.formats.tally import printable
from reportgen.units import NS_PER_US


class Metadata:
    """Base times and phase names; each holds from its line on, the first also before it."""

    def __init__(self) -> None:
        """Start without any."""
        self._base_position: list[int] = []
        self._base_us: list[int] = []
        self._phase_position: dict[int, list[int]] = defaultdict(list)
        self._phase_name: dict[int, list[str]] = defaultdict(list)

    def learn(self, event: Event, position: int, pids: Codes) -> None:
        """Take one ``M`` line.

        Args:
            event: the line.
            position: its place in the file.
            pids: codes of the file's ``pid`` values, extended.
        """
        args = event.args or NO_ARGS
        if args.start_time_since_epoch_in_micros is not None:
            self._learn_base(args.start_time_since_epoch_in_micros, position)
        if event.name == "process_name" and args.name is not None:
            names = self._phase_name[pids[event.pid]]
            if args.name not in names[-1:]:
                self._phase_position[pids[event.pid]].append(position)
                names.append(args.name)

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
            return np.broadcast_to(np.int64((self._base_us or [0])[0]), position.shape)
        index = np.searchsorted(self._base_position, position, side="right") - 1
        return np.array(self._base_us, dtype=np.int64)[np.maximum(index, 0)]

    def phases_at(
        self,
        position: NDArray[np.int64],
        pid: NDArray[np.int32],
        pids: Codes,
        phases: Codes,
    ) -> NDArray[np.int32]:
        """Return the code of each event's phase name; a phase without a name is its number.

        Args:
            position: (n,) places in the file.
            pid: (n,) codes of the file's ``pid`` values.
            pids: what those codes mean.
            phases: codes of phase names, extended.
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
