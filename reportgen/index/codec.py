"""``profiler-index.json``: an index as bytes. History of ``format``: 1, first version."""

from __future__ import annotations

import msgspec

from reportgen.index.model import Index
from reportgen.masking import json_without_secrets

FORMAT = 1
FILE = "profiler-index.json"


def encode(index: Index) -> bytes:
    """Return the bytes of ``profiler-index.json``, the same for equal indexes."""
    tree = {"format": FORMAT, **msgspec.to_builtins(index)}
    return json_without_secrets(msgspec.json.format(msgspec.json.encode(tree), indent=1)) + b"\n"
