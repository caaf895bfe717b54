"""Open the place of one part, and note what changed since it was listed."""

from __future__ import annotations

from reportgen.formats import Diagnostics
from reportgen.profile import PartRef
from reportgen.storage import Location, open_location

SAY_CHANGED = "This file changed after it was listed; its newer content was read."


def open_part(ref: PartRef) -> Location:
    """Open the place of a part's files; errors as ``open_location``."""
    return open_location(ref.root, listed={file.key: file for file in ref.files})


def remark_changes(location: Location, problems: Diagnostics) -> None:
    """Note each file that was read in another version than the listed one."""
    for key in location.changed():
        problems.remark(SAY_CHANGED, path=key)
