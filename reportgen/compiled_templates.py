"""Templates whose compiled code lies beside them, as Python keeps that of modules.

Compiling them takes a sixth of a second of each report. Code that does not fit the text of its
template, the options or the versions of jinja2 and Python is made anew; where the folder cannot be
written, it is made each time.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader
from jinja2 import __version__ as jinja2_version
from jinja2.bccache import Bucket


def environment_of(folder: Path, **options: Any) -> Environment:
    """Return jinja2's environment for the templates of a folder."""
    named = {name: getattr(value, "__qualname__", value) for name, value in options.items()}
    about = f"{jinja2_version} {sys.version} {sorted(named.items())}"
    cache = folder / "__pycache__"
    return Environment(  # noqa: S701 - autoescape is among the options of those who need it
        loader=FileSystemLoader(folder),
        auto_reload=False,
        bytecode_cache=_Beside(str(cache), f"%s-{sha256(about.encode()).hexdigest()[:12]}.jinja"),
        **options,
    )


class _Beside(FileSystemBytecodeCache):
    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)
