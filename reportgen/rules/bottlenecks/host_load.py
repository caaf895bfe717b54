"""Names from before ``facts.host_load`` and ``facts.gpu_use`` had them."""

from __future__ import annotations

from reportgen.facts.gpu_use import (
    IDLE_BELOW_PCT,
    UNTOUCHED_PCT,
    low_gpus,
    low_used_gpus,
    used_gpus,
)
from reportgen.facts.host_load import (
    CPU_HOT_PCT,
    IO_HOT_PCT,
    USED_UP_RATIO,
    Counts,
    hot_cores,
    is_host_hot,
)

GPU_LOW_PCT = float(IDLE_BELOW_PCT)

__all__ = [
    "CPU_HOT_PCT",
    "GPU_LOW_PCT",
    "IO_HOT_PCT",
    "UNTOUCHED_PCT",
    "USED_UP_RATIO",
    "Counts",
    "hot_cores",
    "is_host_hot",
    "low_gpus",
    "low_used_gpus",
    "used_gpus",
]
