"""The place of one part: opened with what its listing said, and asked what changed since."""

from __future__ import annotations

from reportgen.formats import Tally
from reportgen.profile import PartRef
from reportgen.storage import Location, open_location

_SAY_CHANGED = "This file changed after it was listed; its newer content was read."


def opened(ref: PartRef) -> Location:
    """Return the place of a part's files; errors as ``open_location``."""
    return open_location(ref.root, listed={file.key: file for file in ref.files})


def remark_changes(location: Location, tally: Tally) -> None:
    """Note each file that was read in another version than the listed one."""
    for key in location.changed():
        tally.remark(_SAY_CHANGED, path=key)
