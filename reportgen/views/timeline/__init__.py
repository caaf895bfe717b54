"""The job over one time axis: panels of curves, lanes of intervals, and the functions of a range."""
