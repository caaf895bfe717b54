"""Who runs the work on each part: local threads, or processes; and helpers beside them."""

from reportgen.engine.executor import Executor
from reportgen.engine.helper import Helper, HelperError, spare_cores, split
from reportgen.engine.local import LocalExecutor
from reportgen.engine.processes import ProcessExecutor

__all__ = [
    "Executor",
    "Helper",
    "HelperError",
    "LocalExecutor",
    "ProcessExecutor",
    "spare_cores",
    "split",
]
