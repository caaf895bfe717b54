"""Joint meaning of the findings of all rules: which are causes, and which are their symptoms."""

from reportgen.diagnosis.diagnose import diagnose
from reportgen.diagnosis.explanations import EXPLAINED_BY, explains, severity_rank, share_of

__all__ = ["EXPLAINED_BY", "diagnose", "explains", "severity_rank", "share_of"]
