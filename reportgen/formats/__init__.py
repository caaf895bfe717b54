"""Bytes to rows: one file per on-disk format."""

from reportgen.formats.claims import Claim, FormatId, claim
from reportgen.formats.sagemaker_system import RawRows, read_block, read_small_block
from reportgen.formats.series_codes import SeriesCodes
from reportgen.formats.system_source import SystemFile, readable
from reportgen.formats.tally import Tally, printable
from reportgen.formats.trace_events.columns import Codes
from reportgen.formats.trace_events.file_events import (
    FileEvents,
    join_events,
    paired_events,
    read_batches,
    read_event_file,
)
from reportgen.formats.trace_events.marks import Marks, match_across
from reportgen.formats.trace_events.rows import Vocabulary

__all__ = [
    "Claim",
    "Codes",
    "FileEvents",
    "FormatId",
    "Marks",
    "RawRows",
    "SeriesCodes",
    "SystemFile",
    "Tally",
    "Vocabulary",
    "claim",
    "join_events",
    "match_across",
    "paired_events",
    "printable",
    "read_batches",
    "read_block",
    "read_event_file",
    "read_small_block",
    "readable",
]
