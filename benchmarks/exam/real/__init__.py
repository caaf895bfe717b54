"""The exam with real training scripts: recorded as users record them, some with a planted fault."""
