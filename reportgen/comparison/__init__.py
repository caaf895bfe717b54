"""Two reports side by side: did a change help, and where does the difference come from."""

from reportgen.comparison.codec import load
from reportgen.comparison.compare import compare
from reportgen.comparison.model import Comparison, FindingState, Verdict

__all__ = ["Comparison", "FindingState", "Verdict", "compare", "load"]
