"""The folder of a recording, shared by nodes, ranks and several recorders without a server.

Every file has one writer. Who is which node, and who samples a node, is settled by files that are
created exclusively: ``recorder/nodes/node-1.json`` is a node's claim, ``node-1.sampler-2`` the
second sampler of that node, which took over when the first one ended.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportgen.plain_files import LINK, read_entry

MOST_NODES = 100_000
_EMPTY_FOR_S = 5.0
"""A file that stays empty for so long was created by someone who died before writing it."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_OTHERS_WRITE = 0o022
_PID_NAMESPACE = Path("/proc/self/ns/pid")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClock:
    """A pair of wall and monotonic time: the common zero of all processes of a node."""

    wall_ns: int
    monotonic_ns: int

    def now_ns(self) -> int:
        """Return the time, ns UTC, undisturbed by corrections of the wall clock."""
        return self.wall_ns + time.monotonic_ns() - self.monotonic_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFolder:
    """Where this node's part of a recording goes, and what it is called there."""

    root: Path
    node: str
    clock: NodeClock


def read_clock() -> NodeClock:
    """Return the present pair; the wall time is that of the middle of the reading."""
    before_ns = time.monotonic_ns()
    wall_ns = time.time_ns()
    return NodeClock(wall_ns=wall_ns, monotonic_ns=(before_ns + time.monotonic_ns()) // 2)


def boot_token() -> str:
    """Return a mark of this boot of this machine that does not name it; empty where unknown."""
    with suppress(OSError):
        return digest(_BOOT_ID.read_text().strip())
    return ""


def open_recording(root: Path, *, with_host_name: bool) -> NodeFolder:
    """Join the recording in a folder, or begin one: claim a node or find this one's claim.

    Raises:
        OSError: the folder cannot be made or written, or others may change it.
    """
    nodes = root / "recorder" / "nodes"
    refuse_foreign(make_folder(root))
    make_folder(root, "recorder", "nodes")
    make_folder(root, "recorder", "runs")
    machine, clock = identity(), read_clock()
    claim = {"identity": machine, "wall_ns": clock.wall_ns, "monotonic_ns": clock.monotonic_ns}
    names = [_host_name()] if with_host_name else (f"node-{n}" for n in range(1, MOST_NODES))
    for name in names:
        path = nodes / f"{name}.json"
        if create_exclusively(path, claim):
            return NodeFolder(root=root, node=name, clock=clock)
        held = _held_by(path)
        if held.get("identity") == machine or with_host_name:
            with suppress(KeyError, TypeError, ValueError):
                clock = NodeClock(
                    wall_ns=int(held["wall_ns"]), monotonic_ns=int(held["monotonic_ns"])
                )
            return NodeFolder(root=root, node=name, clock=clock)
    raise OSError(f"{root} holds more than {MOST_NODES} nodes")


def _held_by(path: Path) -> Mapping[str, Any]:
    """Return who claimed a node; one that is just being written is waited for."""
    give_up = time.monotonic() + _EMPTY_FOR_S
    while True:
        claim = read_json(path)
        if claim or time.monotonic() > give_up:
            return claim
        time.sleep(0.02)


def identity() -> str:
    """Return a mark that all recorders of a machine, or of one of its containers, share."""
    pids = ""
    with suppress(OSError):
        pids = str(_PID_NAMESPACE.stat().st_ino)
    return digest(f"{boot_token() or socket.gethostname()} {pids}")


def _host_name() -> str:
    name = socket.gethostname().partition(".")[0]
    kept = "".join(letter if letter.isalnum() or letter == "-" else "-" for letter in name)
    return kept or "host"


def digest(text: str) -> str:
    """Return a mark of a text that does not show it."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# One file, one writer


def refuse_foreign(root: Path) -> None:
    """Refuse the folder of another user into which others write: they can put anything there.

    Raises:
        OSError: it is one.
    """
    found = root.stat()
    if found.st_uid != os.geteuid() and found.st_mode & _OTHERS_WRITE:
        why = "it belongs to another user and others write to it too; name a new folder with --out"
        raise OSError(errno.EPERM, why, str(root))


def make_folder(root: Path, *names: str) -> Path:
    """Make a folder of a recording, for our eyes only; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or a link stands in its place: whoever put it there chooses
            where we would write. Only the recording's own folder may be a link.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = root
    for name in names:
        folder /= name
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink():
            raise OSError(errno.ELOOP, f"it is {LINK}; name a new folder with --out", str(folder))
    return folder


def create_exclusively(path: Path, content: Mapping[str, object]) -> bool:
    """Create a file for our eyes only; return ``False`` when it is there already."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(number, "w") as file:
        json.dump(content, file)
    return True


def replace_json(path: Path, content: Mapping[str, object]) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    part.unlink(missing_ok=True)
    create_exclusively(part, content)
    part.replace(path)


def append_bytes(path: Path, data: bytes) -> None:
    """Append to a file in one write; a line that is cut off ends there.

    Raises:
        OSError: it could not be written in full.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        if os.write(number, data) < len(data):
            os.write(number, b"\n")
            raise OSError(28, os.strerror(28))
    finally:
        os.close(number)


def read_json(path: Path) -> Mapping[str, Any]:
    """Return the object in a file; empty when it cannot be read or is none."""
    try:
        found = json.loads(read_entry(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# Who samples a node


class SamplerLock:
    """Lets one process of a node sample it; the next one takes over when that one has ended."""

    def __init__(self, recording: NodeFolder) -> None:
        self._stem = recording.root / "recorder" / "nodes" / f"{recording.node}.sampler-"
        self._generation = 1
        self._is_ours = False

    def is_ours(self) -> bool:
        """Return whether this process is to sample the node; cheap enough to ask at each sample.

        Raises:
            OSError: the folder cannot be written.
        """
        while not self._is_ours:
            path = Path(f"{self._stem}{self._generation}")
            owner = {"pid": os.getpid(), "started": process_start(os.getpid())}
            if create_exclusively(path, owner):
                self._is_ours = True
            elif _is_held(path):
                return False
            else:
                self._generation += 1
        return True

    def release(self) -> None:
        """Let another process sample the node, though this one may go on living."""
        if self._is_ours:
            self._is_ours = False
            with suppress(OSError):
                Path(f"{self._stem}{self._generation}").unlink()


def _is_held(path: Path) -> bool:
    owner = read_json(path)
    if not owner:
        with suppress(OSError):
            return time.time() - path.stat().st_mtime < _EMPTY_FOR_S
        return False
    return is_alive(owner.get("pid"), owner.get("started"))


def is_alive(pid: object, started: object) -> bool:
    """Return whether a process of this machine still runs; another one of its number does not."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return started is None or process_start(pid) == started


def process_start(pid: int) -> str | None:
    """Return when a process began, in the clock ticks of Linux; ``None`` where unknown."""
    stat = process_stat(pid)
    return None if not stat or stat[0] == "Z" else stat[19]


def process_stat(pid: int) -> list[str]:
    """Return the state of a process, and the fields that Linux lists after it; else nothing."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
