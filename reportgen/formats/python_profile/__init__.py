"""Profiles of Python code: what cProfile and pyinstrument write for SageMaker's hooks."""
