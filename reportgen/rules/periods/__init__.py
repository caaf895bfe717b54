"""Slow steps that recur: which, in which rhythm, what ran in them, what it cost."""
