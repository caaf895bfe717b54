"""Who runs the work on each part: local threads; and helper processes beside them."""

from reportgen.engine.executor import Executor
from reportgen.engine.helper import Helper, HelperError, spare_cores, split
from reportgen.engine.local import LocalExecutor

__all__ = ["Executor", "Helper", "HelperError", "LocalExecutor", "spare_cores", "split"]
