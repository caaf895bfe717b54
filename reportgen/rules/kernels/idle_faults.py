"""The faults that idle time tells: which causes each joins, what it means, what to try."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.rules.kernels.host_activity import HostCause
from reportgen.rules.kernels.idle import (
    HOST_LATE,
    IN_LAUNCH_CALL,
    KERNEL_GAP,
    SMALL_GAP,
    WAITING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of fault: the causes it joins, and what to say about it.

    ``due_to`` are ids of findings that name what lies behind it.
    """

    id: str
    causes: tuple[str, ...]
    title: str
    meaning: str
    advice: str
    due_to: tuple[str, ...] = ()


def _host(*causes: HostCause) -> tuple[str, ...]:
    return tuple(f"{HOST_LATE}{cause}" for cause in causes)


LOADER = Fault(
    id="IDLE-1",
    causes=_host(HostCause.DATALOADER),
    title="The GPU waits for the data loader",
    meaning="the host waited for the next batch",
    advice=(
        "Raise num_workers of the DataLoader, with pin_memory and prefetch_factor; if that is "
        "done, make each batch cheaper to load."
    ),
)
FAULTS = (
    LOADER,
    Fault(
        id="IDLE-2",
        causes=_host(HostCause.SYNC),
        title="The GPU drains because the host synchronizes",
        meaning="the host came late because it waited in synchronizing calls",
        advice=(
            "Remove .item(), .cpu(), print of tensors and torch.cuda.synchronize() from the loop, "
            "or do them every nth step."
        ),
    ),
    Fault(
        id="IDLE-3",
        causes=_host(HostCause.COPY),
        title="The GPU waits while the host copies",
        meaning="the host came late because it was inside copying calls",
        advice="Copy from pinned memory with non_blocking=True, on a stream of its own.",
        due_to=("COPY-1",),
    ),
    Fault(
        id="IDLE-4",
        causes=_host(HostCause.ALLOC),
        title="The GPU waits while the host allocates or frees GPU memory",
        meaning="the host came late because it was inside calls that allocate or free memory",
        advice=(
            "Keep shapes steady, do not call empty_cache() in the loop, and let the caching "
            "allocator use expandable segments."
        ),
    ),
    Fault(
        id="IDLE-5",
        causes=_host(HostCause.OPTIMIZER, HostCause.AUTOGRAD, HostCause.PYTHON, HostCause.OTHER),
        title="The host is too slow to keep the GPU busy",
        meaning="the host had not yet called the next operation: it ran Python or operators",
        advice=(
            "Launch less and larger: larger batches, torch.compile or CUDA graphs, fused or "
            "foreach optimizers, less Python in the loop."
        ),
        due_to=("KERN-1",),
    ),
    Fault(
        id="IDLE-6",
        causes=(IN_LAUNCH_CALL,),
        title="The GPU waits inside launch calls",
        meaning="the call that launches the next operation took its time",
        advice="Replay the step as a CUDA graph, or fuse small kernels with torch.compile.",
        due_to=("KERN-1",),
    ),
    Fault(
        id="IDLE-7",
        causes=(KERNEL_GAP,),
        title="Short gaps between kernels add up",
        meaning=f"the device paused for less than {SMALL_GAP} between operations",
        advice="Fuse small kernels (torch.compile), enlarge the batch, or use CUDA graphs.",
        due_to=("KERN-1",),
    ),
    Fault(
        id="IDLE-8",
        causes=(WAITING,),
        title="The GPU waits although its work was launched",
        meaning="operations were launched in time but waited for a stream, an event or a peer",
        advice=(
            "Look at waits between streams, and at collectives that wait for a late rank, in "
            "the moments of these gaps."
        ),
        due_to=("COMM-1",),
    ),
)
