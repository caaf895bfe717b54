"""What is made of the package's files and lies beside them, as Python keeps the code of modules.

Compiling templates and packing plotly took a fifth of a small report. What does not fit the files
it was made of, the options or the versions of jinja2 and Python is made anew; where the folder
cannot be written, it is made each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader
from jinja2 import __version__ as jinja2_version
from jinja2.bccache import Bucket


def environment_of(folder: Path, **options: Any) -> Environment:
    """Return jinja2's environment for the templates of a folder."""
    named = {name: getattr(value, "__qualname__", value) for name, value in options.items()}
    about = f"{jinja2_version} {sys.version} {sorted(named.items())}"
    return Environment(  # noqa: S701 - autoescape is among the options of those who need it
        loader=FileSystemLoader(folder),
        auto_reload=False,
        bytecode_cache=_Beside(str(_kept_in(folder)), f"%s-{_digest(about)}.jinja"),
        **options,
    )


def kept_beside(folder: Path, name: str, about: str, make: Callable[[], str]) -> str:
    """Return a text that is made once for all that ``about`` says, and kept in a folder."""
    path = _kept_in(folder) / f"{name}-{_digest(about)}.txt"
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    text = make()
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            with NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
                file.write(text)
            Path(file.name).replace(path)
    return text


def _kept_in(folder: Path) -> Path:
    return folder / "__pycache__"


def _digest(about: str) -> str:
    return sha256(about.encode()).hexdigest()[:12]


class _Beside(FileSystemBytecodeCache):
    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)
