"""What may be kept of the names in kernel traces and their files: no paths of people's homes."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_PATH = re.compile(r"(?<![\w.:/\\-])(?:[A-Za-z]:)?(?:[\\/][^\\/\s:()<>,\"']+)+[\\/](?=[^\\/\s])")
_LIBRARY = re.compile(r".*[\\/](?:site-packages|dist-packages|python\d\.\d+)[\\/]")
_RANK = re.compile(
    r"(?<![A-Za-z])(?:rank|worker(?![-_.=]?\d+_\d+\.\d{10}))[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE
)
"""A worker before a process's number is a host: TensorBoard's ``<host>_<process>.<time>``."""
_STAMP = re.compile(r"\.(\d{10,19})\.")

_FLOATS = re.compile(r"double|float|half", re.IGNORECASE)
_TEXTS = re.compile(r'"([^"\\]+)"')


def without_folders(name: str) -> str:
    """Return a name in which an absolute path is only its file, or its place in a library.

    Example:
        >>> without_folders("/home/ada/job/train.py(12): step")
        'train.py(12): step'
        >>> without_folders("/usr/lib/python3.11/site-packages/torch/nn/x.py(1): f")
        'torch/nn/x.py(1): f'
    """
    if "/" not in name and "\\" not in name:
        return name
    return _PATH.sub(_shortened, name)


def _shortened(match: re.Match[str]) -> str:
    return _LIBRARY.sub("", match[0]) if _LIBRARY.match(match[0]) else ""


def rank_in_key(key: str) -> int | None:
    """Return the rank that a file's name says, else the folder's: ``rank-3.pt.trace.json``."""
    for part in reversed(PurePosixPath(key).parts):
        match = _RANK.search(part)
        if match:
            return int(match[1])
    return None


def stamp_in_key(key: str) -> int:
    """Return the time in a file's name, whatever its unit, or 0."""
    match = _STAMP.search(PurePosixPath(key).name)
    return int(match[1]) if match else 0


def worker_in_key(key: str) -> str:
    """Return what stays the same in the names of one process's traces.

    Example:
        >>> worker_in_key("tb/host_2113.1795274438178583583.pt.trace.json")
        'tb/host_2113.pt.trace.json'
    """
    return _STAMP.sub(".", key)


def first_floating(input_list: bytes) -> str | None:
    """Return the first floating type of an ``Input type`` list.

    Example:
        >>> first_floating(b'["long int", ["c10::Half"], ""]')
        'c10::Half'
    """
    found = _TEXTS.findall(input_list.decode("utf-8", "replace"))
    return next((text for text in found if _FLOATS.search(text)), None)
