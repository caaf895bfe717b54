"""What a report of Nsight Systems is called: its file, or its folder of Parquet files."""

from __future__ import annotations

from pathlib import PurePosixPath

from reportgen.profile import PartRef

TABLE_OF_TEXTS = "StringIds.parquet"
"""Every folder of Parquet files has it, and it stands for the folder."""


def name_of(ref: PartRef) -> str:
    """Return the path of a part's report: the file, or the folder of Parquet files."""
    path = PurePosixPath(ref.files[0].key)
    if path.name != TABLE_OF_TEXTS:
        return str(path)
    return str(path.parent) if path.parent.name else PurePosixPath(ref.root).name
