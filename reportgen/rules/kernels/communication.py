"""Which kernels are communication: more than those whose name begins with ``nccl``."""

from __future__ import annotations

import re
from typing import Any

from reportgen.rules.base import param

_COMMUNICATION = re.compile(
    # Libraries of collectives, wherever their name stands in the kernel's.
    r"nccl|rccl|hccl|oneccl|msccl|nvshmem"
    # All-reduce kernels of inference engines, of symmetric memory, and fused ones.
    r"|cross_device_reduce|multimem_.*(reduce|gather)|allreduce_fusion"
    # Expert parallelism: dispatch, combine and notify.
    r"|deep_ep::|hybrid_ep::|(internode|intranode)(_ll)?::",
    re.IGNORECASE,
)
"""Source: kernel-trace definitions D15, names of published traces."""


def communication_names() -> Any:
    """Declare which names of kernels are communication besides those that are known."""
    return param(
        None,
        unit="",
        meaning=(
            "kernels whose name this regular expression finds, case ignored, are communication too"
        ),
        source="kernel-trace definitions D15",
        is_pattern=True,
        may_be_none=True,
        is_printed=False,
    )


def is_communication(name: str, also: str | None = None) -> bool:
    """Return whether a kernel exchanges data with other GPUs, by its name.

    Args:
        name: the kernel's.
        also: what finds further names of communication, a regular expression.

    Example:
        >>> is_communication("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)")
        True
        >>> is_communication("hipMemcpyPeerKernel")
        False
    """
    if also and re.search(also, name, re.IGNORECASE):
        return True
    return _COMMUNICATION.search(name) is not None
