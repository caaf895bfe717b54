"""Save and load a report directory."""

from reportgen.store.directory import (
    OUTPUT_FOLDER,
    REPORT_FILE,
    TIMELINE_FILE,
    copy_results,
    load,
    report_folder,
    save,
    with_timeline,
)
from reportgen.store.remote import RemoteOutput, fetched_report
from reportgen.store.replace import (
    OUTPUT_NOTEBOOK,
    OUTPUT_PAGE,
    OUTPUT_SUMMARY,
    Staging,
    check_replaceable,
    is_made_by_us,
    open_staging,
    publish_staging,
    put_back,
    refuse,
)

__all__ = [
    "OUTPUT_FOLDER",
    "OUTPUT_NOTEBOOK",
    "OUTPUT_PAGE",
    "OUTPUT_SUMMARY",
    "REPORT_FILE",
    "TIMELINE_FILE",
    "RemoteOutput",
    "Staging",
    "check_replaceable",
    "copy_results",
    "fetched_report",
    "is_made_by_us",
    "load",
    "open_staging",
    "publish_staging",
    "put_back",
    "refuse",
    "report_folder",
    "save",
    "with_timeline",
]  # fmt: skip
