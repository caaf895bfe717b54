"""reportgen."""
