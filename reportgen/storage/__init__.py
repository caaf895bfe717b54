"""Where bytes live: one protocol, one module per kind of place, chosen by the path's scheme."""

from reportgen.storage.local import LocalLocation, at_home
from reportgen.storage.location import LINK, Location, ObjectInfo, read_blocks
from reportgen.storage.opening import is_remote, open_location

__all__ = [
    "LINK", "LocalLocation", "Location", "ObjectInfo", "at_home", "is_remote", "open_location",
    "read_blocks",
]  # fmt: skip
