"""What GPUs can do at most, by the names that traces and drivers give them.

The values are in ``gpus.csv``, each row with its source. All are dense: no sparsity, and FP16 with
FP32 accumulation. A GPU that is not in the table has no peak here; nothing is guessed.
"""

from reportgen.hardware.gpus import GpuPeak, known_gpus, peak_of

__all__ = ["GpuPeak", "known_gpus", "peak_of"]
