"""Exports of Nsight Systems: the tables of a report to those of one rank for each process.

``source`` opens an export, ``processes`` finds who used a GPU, ``trace`` reads one process with the
readers of ``gpu`` (kernels, copies, calls) and ``host`` (NVTX, operating system); the tables are
then made by ``formats/kernel_trace``.
"""
