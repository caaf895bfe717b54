"""The files of this process: events, its card, faults. No descriptor stays open.

Programs close all descriptors and use their numbers again; so each write opens the file, appends
once and closes it.
"""

from __future__ import annotations

import errno
import glob
import gzip
import json
import os
import time
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple, Optional

from .settings import Settings

ROTATE_NS = 60 * 10**9
ROTATE_BYTES = 10 * 2**20
MOST_FAILURES = 3
PACKED_LEVEL = 6
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
MOST_WAITING = 20_000
"""Events that wait for the first step, or for a disk that is stuck; older ones are dropped."""

_RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


class Event(NamedTuple):
    """Something that took time; ``more`` is JSON text of further arguments."""

    phase: str
    name: str
    start_ns: int
    end_ns: int
    step: Optional[int] = None
    more: str = ""


class Output:
    """Everything that this process writes.

    Attributes:
        pid: of the process that made it; a fork has to make another one.
        card: description of the process (docs/record.md, Files).
        n_lost: events that could not be written, at least.
        add: takes an event; the next flush writes it. A bound method of C: every step calls it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pid = os.getpid()
        self.card: dict[str, Any] = {}
        self.n_lost = 0
        self._waiting: deque[Event] = deque(maxlen=MOST_WAITING)
        self.add = self._waiting.append
        self._id = ""
        self._n_failures = 0
        self._path = ""  # of the open file, empty without one
        self._opened_ns = self._last_us = self._n_bytes = 0
        self._phases: dict[str, int] = {}
        self._card_text = ""

    @property
    def has_begun(self) -> bool:
        """Return whether this process has made a step, and so may write."""
        return bool(self._id)

    @property
    def is_off(self) -> bool:
        """Return whether writing was given up."""
        return self._n_failures >= MOST_FAILURES

    def begin(self) -> None:
        """Choose the name of this process at its first step: its rank, else its number."""
        rank = next((os.environ[name] for name in _RANK_NAMES if name in os.environ), "")
        rank = self.card.get("rank", rank)
        self._id = str(self.pid)
        if str(rank).isdigit() and not self._is_taken(str(rank)):
            self._id = str(rank)
            self.card["rank"] = int(rank)

    def _is_taken(self, rank: str) -> bool:
        """Return whether a living process of this node has the rank: its child inherits it."""
        pattern = os.path.join(glob.escape(self.settings.folder), "recorder", "ranks")
        for path in glob.glob(os.path.join(pattern, f"{rank}-{self.settings.node}-*.json")):
            pid = path[:-5].rpartition("-")[2]
            if pid.isdigit() and int(pid) != self.pid and _is_alive(int(pid)):
                return True
        return False

    # Writing

    def flush(self, *, is_end: bool = False) -> None:
        """Write what waits, once a step was made; never raises."""
        if not self.has_begun or self.is_off or self.pid != os.getpid():
            return
        try:
            self._write_events(is_end=is_end)
            self._write_card()
        except OSError:
            self._n_failures += 1

    def _write_events(self, *, is_end: bool) -> None:
        now_ns = time.monotonic_ns()
        events = [self._waiting.popleft() for _ in range(len(self._waiting))]
        self.n_lost += len(events) == MOST_WAITING
        hour = self._hour(self.settings.to_us(now_ns))
        is_full = self._n_bytes > ROTATE_BYTES or now_ns - self._opened_ns > ROTATE_NS
        if self._path and (is_full or hour not in self._path.split(os.sep)):
            self._close()
        if events:
            try:
                self._append_events(events, hour=hour, now_ns=now_ns)
            except OSError:
                self.n_lost += len(events)
                raise
        if is_end and self._path:
            self._close()

    def _append_events(self, events: list[Event], *, hour: str, now_ns: int) -> None:
        is_new = not self._path
        if is_new:
            self._path = self._new_file(hour)
            self._opened_ns, self._n_bytes, self._phases = now_ns, 0, {}
        lines = [] if not is_new else [_metadata(0, f'"start_time_since_epoch_in_micros": '
                                                    f"{self.settings.base_us}")]  # fmt: skip
        for event in events:
            lines += self._lines_of(event)
        text = ("[\n" if is_new else ",\n") + ",\n".join(lines)
        self._n_bytes += append(self._path, text)

    def _lines_of(self, event: Event) -> list[str]:
        lines = []
        number = self._phases.get(event.phase)
        if number is None:
            number = self._phases[event.phase] = len(self._phases) + 1
            lines.append(_metadata(number, f'"name": {json.dumps(event.phase)}'))
        start_us, end_us = (self.settings.to_us(at) for at in (event.start_ns, event.end_ns))
        self._last_us = max(self._last_us, end_us)
        step = "" if event.step is None else f', "step_num": "{event.step}"'
        more = event.more and f", {event.more}"
        pid = "" if '"pid"' in more else f'"pid": {self.pid}'
        arguments = f"{pid}{step}{more}".lstrip(", ")
        lines.append(
            f'{{"name": {json.dumps(event.name)}, "pid": {number}, "ph": "X", "ts": {start_us}, '
            f'"dur": {end_us - start_us}, "args": {{{arguments}}}}}'
        )
        return lines

    def _folder(self, hour: str) -> str:
        return make_folder(self.settings.folder, "framework", "pevents", hour, f"p{self.pid}")

    def _new_file(self, hour: str) -> str:
        path = os.path.join(
            self._folder(hour), f"{self._id}-{self.settings.node}_pythontimeline.json.tmp"
        )
        if os.path.exists(path):  # of the program that this one replaced by exec
            self._rename(path, self.settings.to_us(time.monotonic_ns()))
        return path

    def _close(self) -> None:
        path, self._path = self._path, ""
        append(path, "\n]\n")
        self._rename(path, self._last_us)

    def _rename(self, path: str, last_us: int) -> None:
        """Pack a file that is complete, and give it the name that says when it ends."""
        with open(os.open(path, os.O_RDONLY | NO_LINK), "rb") as file:
            packed = gzip.compress(file.read(), PACKED_LEVEL, mtime=0)
        _replace(path, packed)
        folder = self._folder(self._hour(last_us))
        name = os.path.basename(path)[: -len(".tmp")]
        name = f"{self.settings.base_us + last_us:016d}_{name}.gz"
        os.rename(path, os.path.join(folder, name))

    def _hour(self, us: int) -> str:
        return time.strftime("%Y%m%d%H", time.gmtime((self.settings.base_us + us) // 1_000_000))

    def _write_card(self) -> None:
        text = json.dumps({"format": 1, "pid": self.pid, "node": self.settings.node, **self.card})
        if text == self._card_text:
            return
        _replace(self._own("ranks", "json"), text.encode())
        self._card_text = text

    def report(self, kind: str, hook: str, error: str, line: str) -> None:
        """Write a fault or remark at once: a fault may be why there is no step."""
        found = {"kind": kind, "hook": hook, "error": error, "line": line}
        text = json.dumps({**found, "time_ns": self.settings.wall_of(time.monotonic_ns())})
        try:
            append(self._own("faults", "jsonl"), text + "\n")
        except OSError:
            self._n_failures += 1

    def _own(self, kind: str, extension: str) -> str:
        name = f"{self._id or self.pid}-{self.settings.node}-{self.pid}.{extension}"
        return os.path.join(make_folder(self.settings.folder, "recorder", kind), name)


def make_folder(root: str, *names: str) -> str:
    """Make a folder of the recording; a link in its place is refused, it leads to others' files.

    Raises:
        OSError: it is a link, or cannot be made.
    """
    os.makedirs(root, mode=0o700, exist_ok=True)
    for name in names:
        root = os.path.join(root, name)
        try:
            os.mkdir(root, 0o700)
        except FileExistsError:
            if os.path.islink(root):
                raise OSError(errno.ELOOP, "it is a link", root) from None
    return root


def create(path: str) -> int:
    """Return the descriptor of a new file, in place of one of its name."""
    with suppress(FileNotFoundError):
        os.remove(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _replace(path: str, content: bytes) -> None:
    """Write a file whole or not at all."""
    descriptor = create(path + ".part")
    try:
        n_written = os.write(descriptor, content)
    finally:
        os.close(descriptor)
    if n_written < len(content):
        raise OSError(28, "written in part")
    os.replace(path + ".part", path)


def append(path: str, text: str) -> int:
    """Append a text in one write; return its length.

    Raises:
        OSError: nothing, or not all of it, could be written.
    """
    content = text.encode("utf-8", "replace")
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
    try:
        n_written = os.write(descriptor, content)
    finally:
        os.close(descriptor)
    if n_written < len(content):
        raise OSError(28, "written in part")
    return n_written


def _metadata(number: int, arguments: str) -> str:
    return f'{{"name": "process_name", "ph": "M", "pid": {number}, "args": {{{arguments}}}}}'


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
