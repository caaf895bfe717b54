"""The timeline of a job: lanes of strips, arrows and counters, and the file that holds them."""

from reportgen.timeline.moments import FindingMark
from reportgen.timeline.of_part import lanes_of
from reportgen.timeline.staged import stage
from reportgen.timeline.write import BUDGET_BYTES, timeline_of

__all__ = ["BUDGET_BYTES", "FindingMark", "lanes_of", "stage", "timeline_of"]
