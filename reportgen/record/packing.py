"""Closed hours packed: the many small files of an hour into one, which the reader takes.

A packed file is complete under a hidden name before it gets its final name, and only then the files
that it replaces go. Where a kill leaves both, the reader counts equal samples once, and the next
packing removes files of events that are packed already.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from reportgen.record.folder import make_folder

_LEVEL = 6
_MOST_EVENT_BYTES = 32 << 20
"""Text of events in one packed file: the reader takes a file of events as a whole."""


def pack_system_hour(hour: Path, node: str) -> None:
    """Pack a node's minute files of an hour into one ``.json.gz`` and remove them.

    Raises:
        OSError: the folder is full, say; the minute files are still there.
    """
    name = re.compile(rf"\d{{10}}\.{re.escape(node)}\.json")
    minutes = sorted(path for path in hour.iterdir() if _is_ours(path, name))
    if not minutes:
        return
    target = hour / f"{minutes[0].name}.gz"
    if target.exists():  # packed before; these came later, or a kill left them
        target = hour / f"{int(minutes[0].name[:10]) + 1}.{node}.json.gz"
    _write(target, (path.read_bytes() for path in minutes))
    _remove(minutes)


def pack_event_hour(hour: Path, node: str) -> None:
    """Pack the closed event files of a node's processes in an hour, each process separately.

    Raises:
        OSError: the folder is full, say; the files are still there.
    """
    name = re.compile(rf"\d{{16}}_\d+-{re.escape(node)}_pythontimeline\.json")
    for process in sorted(
        path for path in hour.iterdir() if path.is_dir() and not path.is_symlink()
    ):
        paths = sorted(process.iterdir())
        packed = {path.name for path in paths if path.suffix == ".gz"}
        closed = [path for path in paths if _is_ours(path, name)]
        done = [n for n, path in enumerate(closed, start=1) if f"{path.name}.gz" in packed]
        _remove(closed[: max(done, default=0)])
        for group in _groups(closed[max(done, default=0) :]):
            if len(group) > 1:
                _write(group[-1].with_name(f"{group[-1].name}.gz"), _one_array(group))
                _remove(group)


def _is_ours(path: Path, name: re.Pattern[str]) -> bool:
    return bool(name.fullmatch(path.name)) and path.is_file() and not path.is_symlink()


def _groups(files: Sequence[Path]) -> Iterator[list[Path]]:
    group: list[Path] = []
    n_bytes = 0
    for path in files:
        size_bytes = path.stat().st_size
        if group and n_bytes + size_bytes > _MOST_EVENT_BYTES:
            yield group
            group, n_bytes = [], 0
        group.append(path)
        n_bytes += size_bytes
    if group:
        yield group


def _one_array(files: Iterable[Path]) -> Iterator[bytes]:
    """Yield the events of several arrays as one; each begins with its base time and its phases."""
    yield b"[\n"
    for place, path in enumerate(files):
        events = path.read_bytes().strip().removeprefix(b"[").removesuffix(b"]")
        yield (b",\n" if place else b"") + events.strip().removesuffix(b",")
    yield b"\n]\n"


def _write(target: Path, contents: Iterable[bytes]) -> None:
    hidden = make_folder(target.parent, ".packing")
    part = hidden / target.name
    part.unlink(missing_ok=True)
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "wb") as raw, gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
        for content in contents:
            packed.write(content)
    part.replace(target)
    with suppress(OSError):
        hidden.rmdir()


def _remove(files: Iterable[Path]) -> None:
    for path in files:
        path.unlink(missing_ok=True)
