"""The notebook run by papermill, and the page made of it."""

from reportgen.publish.kernel import ReadyKernel
from reportgen.publish.lean import SCHEMA_CHECKERS
from reportgen.publish.notebook import is_unchanged, read_notebook, run_notebook
from reportgen.publish.page import PageOptions, export_page

__all__ = [
    "SCHEMA_CHECKERS", "PageOptions", "ReadyKernel", "export_page", "is_unchanged", "read_notebook",
    "run_notebook",
]  # fmt: skip
