"""Kernel traces of the PyTorch profiler (Kineto): bytes to the tables of one rank.

``packing`` unpacks, ``text`` cuts the stream into events, ``pieces`` and ``repair`` save what is
damaged, ``columns`` collects, ``screen``, ``joins`` and ``words`` put in order, ``tables`` gives
the result; ``header``, ``detection`` and ``names`` read what stands around the events.
"""
