"""Who runs the work on each part: local threads, or processes; and helpers beside them."""

from reportgen.engine.executor import Executor, LocalExecutor
from reportgen.engine.helper import HelperError, run_in_helper, spare_cores, split
from reportgen.engine.interpreter import start_interpreter
from reportgen.engine.processes import ProcessExecutor

__all__ = [
    "Executor", "HelperError", "LocalExecutor", "ProcessExecutor", "run_in_helper", "spare_cores",
    "split", "start_interpreter",
]  # fmt: skip
