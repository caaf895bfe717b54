"""A node's samples on disk: a file per minute, and closed hours packed into one file each."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from reportgen.record.folder import append_text

_NS_PER_S = 1_000_000_000
_PACK_LEVEL = 6


class MinuteFiles:
    """Appends the lines of each tick to the file of its minute; counts what is lost.

    Nothing is kept open or in memory: a kill at any moment loses the tick that is being written.
    """

    def __init__(self, root: Path, node: str) -> None:
        """Write below a recording's folder."""
        self._folder = root / "system" / "incremental"
        self._node = node
        self._hour: Path | None = None
        self.n_lost_ticks = 0
        self.why_lost = ""

    def write(self, lines: str, now_ns: int) -> None:
        """Append the lines of a tick."""
        seconds = now_ns // _NS_PER_S
        minute_s = seconds - seconds % 60
        hour = self._folder / time.strftime("%Y%m%d%H", time.gmtime(minute_s))
        try:
            if hour != self._hour:
                hour.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._hour = hour
            append_text(hour / f"{minute_s}.{self._node}.json", lines)
        except OSError as err:
            self._hour = None
            self.n_lost_ticks += 1
            self.why_lost = err.strerror or type(err).__name__

    def pack_closed_hours(self, now_ns: int) -> None:
        """Pack this node's files of hours that are over, each into one; see ``pack_hour``."""
        present = time.strftime("%Y%m%d%H", time.gmtime(now_ns // _NS_PER_S))
        with suppress(OSError):
            for hour in sorted(self._folder.iterdir()):
                if hour.name < present:
                    pack_hour(hour, self._node)


def pack_hour(hour: Path, node: str) -> None:
    """Pack a node's minute files of an hour into one ``.json.gz`` and remove them.

    The packed file is complete before the others go. Where a kill leaves both, the reader takes
    equal samples once.

    Raises:
        OSError: the folder is full, say; the minute files are still there.
    """
    name = re.compile(rf"\d{{10}}\.{re.escape(node)}\.json")
    minutes = sorted(path for path in hour.iterdir() if name.fullmatch(path.name))
    if not minutes:
        return
    target = hour / f"{minutes[0].name}.gz"
    if target.exists():  # packed before; these came later, or a kill left them
        target = hour / f"{int(minutes[0].name[:10]) + 1}.{node}.json.gz"
    part = target.with_name(f"{target.name}.tmp")
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with (
            os.fdopen(number, "wb") as raw,
            gzip.GzipFile("", "wb", _PACK_LEVEL, raw, mtime=0) as packed,
        ):
            for path in minutes:
                with path.open("rb") as file:
                    shutil.copyfileobj(file, packed)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    part.replace(target)
    for path in minutes:
        path.unlink(missing_ok=True)
