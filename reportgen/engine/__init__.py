"""Who runs the work on each part: local threads and processes."""
