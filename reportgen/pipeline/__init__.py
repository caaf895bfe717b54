"""From a path to a page: the steps in order (``make``), and what joins them."""

from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, Outcome, Watcher

__all__ = ["Options", "Outcome", "Watcher", "make_report"]
