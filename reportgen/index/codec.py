"""``profiler-index.json``: an index as bytes and back. History of ``format``: 1, first version."""

from __future__ import annotations

from pathlib import Path

import msgspec

from reportgen.index.model import Index
from reportgen.masking import json_without_secrets
from reportgen.plain_files import read_entry
from reportgen.results.codec import check_format, reading

FORMAT = 1
FILE = "profiler-index.json"


def encode(index: Index) -> bytes:
    """Return the bytes of ``profiler-index.json``, the same for equal indexes."""
    tree = {"format": FORMAT, **msgspec.to_builtins(index)}
    return json_without_secrets(msgspec.json.format(msgspec.json.encode(tree), indent=1)) + b"\n"


def load(path: Path) -> Index:
    """Read an index.

    Raises:
        OSError: there is no such file, or it is a link, a pipe or the like.
        FormatError: it is no index of ours, or of a newer format.
    """
    with reading(str(path), of="index"):
        tree = msgspec.json.decode(json_without_secrets(read_entry(path)))
        check_format(tree["format"], (FORMAT,), path=str(path), of="index")
        return msgspec.convert(tree, Index)
