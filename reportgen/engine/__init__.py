"""Who runs the work on each part: threads, processes or a cluster."""

from reportgen.engine.choice import Engine, EngineKind, parse_engine
from reportgen.engine.executor import Executor, LocalExecutor, LostItemsError
from reportgen.engine.processes import ProcessExecutor

__all__ = [
    "Engine", "EngineKind", "Executor", "LocalExecutor", "LostItemsError", "ProcessExecutor",
    "parse_engine",
]  # fmt: skip
