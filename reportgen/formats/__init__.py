"""Bytes to rows: one file per on-disk format."""

from reportgen.formats.claims import Claim, FormatId, claim
from reportgen.formats.event_columns import Codes, join_numbers
from reportgen.formats.sagemaker_events import FileEvents, read_event_file
from reportgen.formats.sagemaker_system import RawRows, read_block, read_small_block
from reportgen.formats.series_codes import SeriesCodes
from reportgen.formats.system_source import SystemFile, readable
from reportgen.formats.tally import Tally, printable

__all__ = [
    "Claim",
    "Codes",
    "FileEvents",
    "FormatId",
    "RawRows",
    "SeriesCodes",
    "SystemFile",
    "Tally",
    "claim",
    "join_numbers",
    "printable",
    "read_block",
    "read_event_file",
    "read_small_block",
    "readable",
]
