"""The notebook run by papermill, and the page made of it."""

from reportgen.publish.kernel import ReadyKernel
from reportgen.publish.notebook import (
    is_unchanged,
    job_path_of,
    read_notebook,
    run_notebook,
    thresholds_of,
    with_sections,
)
from reportgen.publish.page import PageOptions, export_page

__all__ = [
    "PageOptions", "ReadyKernel", "export_page", "is_unchanged", "job_path_of", "read_notebook",
    "run_notebook", "thresholds_of", "with_sections",
]  # fmt: skip
