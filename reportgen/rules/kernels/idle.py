"""Names from before ``facts.idle`` had them."""

from __future__ import annotations

from reportgen.facts.idle import Gaps, gaps_in

__all__ = ["Gaps", "gaps_in"]
