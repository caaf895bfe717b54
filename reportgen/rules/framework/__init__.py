"""Where the framework's time went: the ground of OverallFrameworkMetrics and of breakdowns."""
