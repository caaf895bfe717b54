"""Kernel traces of the PyTorch profiler (Kineto): bytes to the columns of ``formats/kernel_trace``.

``text`` cuts the stream into events, ``salvage`` and ``repair`` save what is damaged, ``columns``
collects; ``detection`` and ``header`` read what stands around the events.
"""
