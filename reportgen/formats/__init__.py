"""Bytes to rows: one file per on-disk format."""

from reportgen.formats.claims import Claim, FormatId, claim
from reportgen.formats.sagemaker_system import RawRows, read_block
from reportgen.formats.series_codes import SeriesCodes
from reportgen.formats.system_source import SystemFile, readable
from reportgen.formats.tally import Tally, printable

__all__ = [
    "Claim",
    "FormatId",
    "RawRows",
    "SeriesCodes",
    "SystemFile",
    "Tally",
    "claim",
    "printable",
    "read_block",
    "readable",
]
