"""Kernel traces of the PyTorch profiler (Kineto): bytes to the tables of one rank.

``text`` cuts the stream into events, ``salvage`` and ``repair`` save what is damaged, ``columns``
collects, ``validate``, ``joins`` and ``vocabulary`` put in order, ``tables`` gives the result;
``detection`` and ``header`` read what stands around the events.
"""
