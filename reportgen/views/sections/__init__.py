"""The sections of the report: each takes the saved report and returns the content of a cell."""
