"""The part of the exam for kernel traces: made-up traces with planted faults, and how we do."""

from benchmarks.exam.traces.runner import run

__all__ = ["run"]
