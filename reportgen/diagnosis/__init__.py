"""What the findings of all rules mean together: which of them is a cause, which a symptom of it."""

from reportgen.diagnosis.diagnose import diagnose
from reportgen.diagnosis.explanations import EXPLAINED_BY, explains, severity_rank, share_of

__all__ = ["EXPLAINED_BY", "diagnose", "explains", "severity_rank", "share_of"]
