"""Who runs the work on each part: local threads."""

from reportgen.engine.executor import Executor
from reportgen.engine.local import LocalExecutor

__all__ = ["Executor", "LocalExecutor"]
