"""Who runs the work on each part: local threads, or processes."""

from reportgen.engine.executor import Executor
from reportgen.engine.local import LocalExecutor
from reportgen.engine.processes import ProcessExecutor

__all__ = ["Executor", "LocalExecutor", "ProcessExecutor"]
