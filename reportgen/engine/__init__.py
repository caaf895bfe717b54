"""Who runs the work on each part: threads, processes or a cluster; and helpers beside them."""

from reportgen.engine.choice import Engine, EngineKind, parse_engine
from reportgen.engine.executor import Executor, LocalExecutor, LostItemsError
from reportgen.engine.helper import HelperError, run_in_helper
from reportgen.engine.interpreter import start_interpreter
from reportgen.engine.processes import ProcessExecutor

__all__ = [
    "Engine", "EngineKind", "Executor", "HelperError", "LocalExecutor", "LostItemsError",
    "ProcessExecutor", "parse_engine", "run_in_helper", "start_interpreter",
]  # fmt: skip
