"""How much of each resource a node used: the ground of OverallSystemUsage."""
