"""Who runs the work on each part: threads, processes or a cluster."""

from reportgen.engine.cluster import DaskExecutor, scheduler_of
from reportgen.engine.executor import Executor, LocalExecutor, LostItemsError, ProcessExecutor

__all__ = [
    "DaskExecutor", "Executor", "LocalExecutor", "LostItemsError", "ProcessExecutor",
    "scheduler_of",
]  # fmt: skip
