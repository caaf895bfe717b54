"""Bytes to rows: a file or a folder per family of formats, and one register of them."""

from reportgen.formats.diagnostics import Diagnostics, printable
from reportgen.formats.format import Claim, EventFile, FileRole, Format
from reportgen.formats.registry import (
    FORMATS,
    candidates,
    claim,
    claim_by_content,
    format_of,
    role_of,
    stem_of,
)

__all__ = [
    "FORMATS", "Claim", "Diagnostics", "EventFile", "FileRole", "Format", "candidates", "claim",
    "claim_by_content", "format_of", "printable", "role_of", "stem_of",
]  # fmt: skip
