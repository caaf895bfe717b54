"""Save and load a report directory."""
