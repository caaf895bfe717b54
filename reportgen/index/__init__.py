"""Many reports in one table: which job wastes most. ``read`` finds them."""

from reportgen.index.model import Index, JobRow

__all__ = ["Index", "JobRow"]
