"""The saved report: its model and its bytes."""
