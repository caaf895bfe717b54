"""Joint meaning of the findings of all rules: which are causes, and which are their symptoms."""

from reportgen.diagnosis.diagnose import diagnose
from reportgen.diagnosis.explanations import (
    EXPLAINED_BY,
    LEFT_FROM_RATIO,
    NAMED_BY,
    severity_rank,
    share_of,
)

__all__ = ["EXPLAINED_BY", "LEFT_FROM_RATIO", "NAMED_BY", "diagnose", "severity_rank", "share_of"]
