"""The job over one time axis: panels of curves, lanes of intervals, functions of a range."""
