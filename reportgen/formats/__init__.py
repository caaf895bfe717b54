"""Bytes to rows: one file per on-disk format."""

from reportgen.formats.claims import Claim, FormatId, claim
from reportgen.formats.event_columns import Codes
from reportgen.formats.event_groups import read_event_files
from reportgen.formats.event_pairs import Marks, match_across
from reportgen.formats.event_rows import Vocabulary
from reportgen.formats.sagemaker_events import (
    FileEvents,
    join_events,
    paired_events,
    read_batches,
    read_event_file,
)
from reportgen.formats.sagemaker_system import RawRows, read_block, read_small_block
from reportgen.formats.series_codes import SeriesCodes
from reportgen.formats.system_source import SystemFile, readable
from reportgen.formats.tally import Tally, printable

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
    "read_event_files",
    "read_small_block",
    "readable",
]
