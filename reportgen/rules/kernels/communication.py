"""Which kernels are communication: more than those whose name begins with ``nccl``."""

from __future__ import annotations

import re

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


def is_communication(name: str) -> bool:
    """Return whether a kernel exchanges data with other GPUs, by its name.

    Example:
        >>> is_communication("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)")
        True
        >>> is_communication("hipMemcpyPeerKernel")
        False
    """
    return _COMMUNICATION.search(name) is not None
