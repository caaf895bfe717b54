"""Save and load a report directory."""

from reportgen.store.directory import (
    INPUT_FILE,
    OUTPUT_FOLDER,
    REPORT_FILE,
    TIMELINE_FILE,
    copy_results,
    load,
    report_folder,
    save,
    save_timeline,
    with_timeline,
)
from reportgen.store.remote import RemoteOutput, saved_report
from reportgen.store.replace import (
    OUTPUT_NOTEBOOK,
    OUTPUT_PAGE,
    OUTPUT_SUMMARY,
    Staging,
    check_replaceable,
    is_made_by_us,
    open_staging,
    publish_staging,
    refuse,
)

__all__ = [
    "INPUT_FILE", "OUTPUT_FOLDER", "OUTPUT_NOTEBOOK", "OUTPUT_PAGE", "OUTPUT_SUMMARY",
    "REPORT_FILE", "TIMELINE_FILE", "RemoteOutput", "Staging", "check_replaceable", "copy_results",
    "is_made_by_us", "load", "open_staging", "publish_staging", "refuse", "report_folder", "save",
    "save_timeline", "saved_report", "with_timeline",
]  # fmt: skip
