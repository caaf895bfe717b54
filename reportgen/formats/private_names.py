"""Names of events without what is private in them: folders of people and their addresses."""

from __future__ import annotations

import re

_PATH = re.compile(r"(?<![\w.:/\\-])(?:[A-Za-z]:)?(?:[\\/][^\\/\s:()<>,\"']+)+[\\/](?=[^\\/\s])")
_LIBRARY = re.compile(r".*[\\/](?:site-packages|dist-packages|python\d\.\d+)[\\/]")
_USER_AT_HOST = re.compile(r"(?<![\w.+@-])[\w.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")


def masked(name: str) -> str:
    """Return a name without folders and addresses of people.

    Example:
        >>> masked("send to ada@node7.example.org, tokens=512")
        'send to …@…, tokens=512'
    """
    return without_folders(_USER_AT_HOST.sub("…@…", name) if "@" in name else name)


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
    found = _LIBRARY.match(match[0])
    return match[0][found.end() :] if found else ""
