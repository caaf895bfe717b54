"""The sections of the report: each takes the saved report and returns what a cell shows."""
