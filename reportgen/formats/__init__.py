"""Bytes to rows: a file or a folder per family of formats, and one register of them."""

from reportgen.formats.diagnostics import Diagnostics, printable
from reportgen.formats.format import Claim, EventFile, Format, Role
from reportgen.formats.registry import FORMATS, claim, format_of, role_of

__all__ = [
    "FORMATS",
    "Claim",
    "Diagnostics",
    "EventFile",
    "Format",
    "Role",
    "claim",
    "format_of",
    "printable",
    "role_of",
]
