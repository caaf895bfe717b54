"""Exports of Nsight Systems: known by their names and first bytes, and what they are called."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from reportgen.formats.format import Claim, FileRole, Format, TraceHeader
from reportgen.profile import PartRef

if TYPE_CHECKING:
    from reportgen.formats.kernel_trace.tables import TraceTables

TABLE_OF_TEXTS = "StringIds.parquet"
"""Every folder of Parquet files has it, and it stands for the folder."""


def name_of(ref: PartRef) -> str:
    """Return the path of a part's report: the file, or the folder of Parquet files."""
    path = PurePosixPath(ref.files[0].key)
    if path.name != TABLE_OF_TEXTS:
        return str(path)
    return str(path.parent) if path.parent.name else PurePosixPath(ref.root).name


_SQLITE = b"SQLite format 3\0"
_CANDIDATE = re.compile(r".*\.(?i:sqlite3?|db)")
_SIGNS = re.compile(rb"CREATE TABLE (?:StringIds|CUPTI_ACTIVITY_KIND_|NVTX_EVENTS|ANALYSIS_FILE)")


def _claim_named(name: str) -> Claim:  # noqa: ARG001  # only the content says whose data it holds
    return Claim(format_id=NSIGHT_REPORTS.id)


def _claim(key: str) -> Claim | None:
    return _claim_named(key) if PurePosixPath(key).name == TABLE_OF_TEXTS else None


def _read(*part: Any, **options: Any) -> tuple[TraceHeader, TraceTables]:
    """Read a part; the reader is imported where there is a report."""
    from reportgen.formats.nsight.trace import read_part

    return read_part(*part, **options)


NSIGHT_REPORTS = Format(
    id="nsight",
    role=FileRole.KERNELS,
    claims=_claim,
    may_be=_CANDIDATE,
    looks_like=lambda head: head.startswith(_SQLITE) and _SIGNS.search(head) is not None,
    claim_named=_claim_named,
    read=_read,
)
