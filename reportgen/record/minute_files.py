"""A node's samples on disk: a file per minute, and closed hours packed into one file each."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from reportgen.record.folder import append_text, make_folder
from reportgen.record.packing import pack_event_hour, pack_system_hour

_SAMPLES, _EVENTS = ("system", "incremental"), ("framework", "pevents")
_NS_PER_S = 1_000_000_000


class MinuteFiles:
    """Appends the lines of each tick to the file of its minute; counts what is lost.

    Nothing is kept open or in memory: a kill at any moment loses the tick that is being written.
    """

    def __init__(self, root: Path, node: str) -> None:
        self._root = root
        self._node = node
        self._hour: Path | None = None
        self.n_lost_ticks = 0
        self.why_lost = ""

    def write(self, lines: str, now_ns: int) -> None:
        """Append the lines of a tick."""
        seconds = now_ns // _NS_PER_S
        minute_s = seconds - seconds % 60
        name = _hour_of(minute_s)
        try:
            if self._hour is None or name != self._hour.name:
                self._hour = make_folder(self._root, *_SAMPLES, name)
            append_text(self._hour / f"{minute_s}.{self._node}.json", lines)
        except OSError as err:
            self._hour = None
            self.n_lost_ticks += 1
            self.why_lost = err.strerror or type(err).__name__

    def pack_closed_hours(self, now_ns: int) -> None:
        """Pack this node's files of past hours; a file that cannot be packed stays as it is."""
        present = _hour_of(now_ns // _NS_PER_S)
        for names, pack in ((_SAMPLES, pack_system_hour), (_EVENTS, pack_event_hour)):
            with suppress(OSError):
                for hour in sorted(self._root.joinpath(*names).iterdir()):
                    if hour.name < present and not hour.is_symlink():
                        pack(hour, self._node)


def _hour_of(seconds: int) -> str:
    return time.strftime("%Y%m%d%H", time.gmtime(seconds))
