"""Ticks in which a GPU waits for CPU or I/O: the ground of CPUBottleneck and IOBottleneck."""
