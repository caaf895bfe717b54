"""Scripts as a page carries them: plotly as it is installed, and ours for the lanes."""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from reportgen.compression import pack
from reportgen.publish.policy import digest

_FAST = 4
"""Level of gzip: 0.14 s for plotly's 4.8 MB; the usual level takes 0.3 s to save 4 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedScript:
    """A script gzipped in base 64, and its digest, by which the page's policy allows it."""

    packed: str
    digest: str


@functools.cache
def plotly_script() -> PackedScript:
    """Return plotly's script as it is installed."""
    return packed_script((package_data() / "plotly.min.js").read_text(encoding="utf-8"))


def packed_script(text: str) -> PackedScript:
    """Return a script as the page carries it."""
    return PackedScript(packed=pack(text, level=_FAST), digest=digest(text))


def package_data() -> Path:
    """Return the folder of plotly's files.

    The package is found, not imported: importing plotly costs more than making the page.
    """
    spec = importlib.util.find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data"
