"""``profiler-comparison.json``: a comparison as bytes and back. History of ``format``: 1, first."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import msgspec

from reportgen.comparison.model import Comparison
from reportgen.errors import LocationError
from reportgen.masking import json_without_secrets
from reportgen.plain_files import read_entry, read_named
from reportgen.results.codec import check_format, reading

FORMAT = 1
FILE = "profiler-comparison.json"


def encode(comparison: Comparison) -> bytes:
    """Return the bytes of ``profiler-comparison.json``, the same for equal comparisons."""
    step = comparison.step
    tree = {
        "format": FORMAT,
        **{item.name: getattr(comparison, item.name) for item in fields(comparison)},
        "step_mean_difference_s": step.step_mean_difference_s if step else None,
    }
    return json_without_secrets(msgspec.json.format(msgspec.json.encode(tree), indent=1)) + b"\n"


def load(folder: str | Path) -> Comparison:
    """Read the comparison in a folder, or that file.

    Raises:
        LocationError: there is none.
        FormatError: not JSON, not a comparison of ours, or a newer format.
    """
    path = Path(folder)
    is_entry = path.is_dir()
    path = path / FILE if is_entry else path
    try:
        raw = read_entry(path) if is_entry else read_named(path)
    except OSError as err:
        raise LocationError(
            f"Cannot read {path}: {err.strerror or err}.",
            hint=f"Pass the folder with {FILE} that `reportgen compare` wrote.",
            path=str(path),
        ) from err
    with reading(str(path), of="comparison"):
        tree = msgspec.json.decode(json_without_secrets(raw))
        check_format(tree["format"], (FORMAT,), path=str(path), of="comparison")
        return msgspec.convert(tree, Comparison)
