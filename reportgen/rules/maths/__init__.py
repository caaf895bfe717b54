"""Arithmetic that several rules share: quantiles, minutes, intervals, thinning."""
