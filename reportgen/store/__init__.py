"""Save and load a report directory."""

from reportgen.store.directory import REPORT_FILE, load, save
from reportgen.store.remote import RemoteOutput
from reportgen.store.replace import (
    OUTPUT_FOLDER,
    OUTPUT_NOTEBOOK,
    OUTPUT_PAGE,
    Staging,
    check_replaceable,
    open_staging,
    publish_staging,
)

__all__ = [
    "OUTPUT_FOLDER",
    "OUTPUT_NOTEBOOK",
    "OUTPUT_PAGE",
    "REPORT_FILE",
    "RemoteOutput",
    "Staging",
    "check_replaceable",
    "load",
    "open_staging",
    "publish_staging",
    "save",
]
