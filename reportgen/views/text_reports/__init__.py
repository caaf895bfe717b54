"""The report as text: a summary for pull requests and assistants, a few lines for a terminal."""

from reportgen.views.text_reports.markdown import markdown_summary
from reportgen.views.text_reports.terminal import TerminalLine, terminal_lines

__all__ = ["TerminalLine", "markdown_summary", "terminal_lines"]
