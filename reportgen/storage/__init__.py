"""Where bytes live: one protocol, one module per kind of place, chosen by the path's scheme."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reportgen.errors import LocationError
from reportgen.storage.local import LocalLocation, at_home
from reportgen.storage.location import Listed, Location, ObjectInfo, read_blocks
from reportgen.storage.read_ahead import of_each
from reportgen.storage.s3_settings import reached_as, settings_to_send
from reportgen.storage.sagemaker import DescribedJob, is_job_name, training_job, training_jobs

__all__ = [
    "DescribedJob", "LocalLocation", "Location", "ObjectInfo", "at_home", "is_job_name",
    "is_remote", "of_each", "open_location", "reached_as", "read_blocks", "settings_to_send",
    "training_job", "training_jobs",
]  # fmt: skip


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def open_location(path: str, *, listed: Mapping[str, Listed] | None = None) -> Location:
    """Open a place by the scheme of its path (``file:``, ``s3:``); without one a local folder.

    ``listed`` is what is known of files from listing them before; only buckets look at it.

    Raises:
        LocationError: no such folder, not a folder, or a scheme that cannot be read.
    """
    match = _SCHEME.match(path)
    if match is None:
        return LocalLocation(path)
    scheme = match[1].lower()
    if scheme == "file":
        return LocalLocation(path[match.end() :])
    if scheme == "s3":
        from reportgen.storage.s3 import S3Location

        return S3Location(path, listed=listed)
    raise LocationError(
        f"This version cannot read {scheme}:// paths such as {_without_query(path)}.",
        hint="Copy the job to this machine and pass the local folder.",
        path=_without_query(path),
    )


def is_remote(path: str) -> bool:
    """Return whether a path names a place that is no folder of this machine."""
    match = _SCHEME.match(path)
    return match is not None and match[1].lower() != "file"


def _without_query(url: str) -> str:
    """Drop what may hold a signature or credentials."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"://[^/@]*@", "://", bare)
