"""The prose of GPUTimeBudget: names of parts, their meaning and advice."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.results import PartWords
from reportgen.rules.gpu_time_budget.tables import Part
from reportgen.text import one_line, write

OF_STEPS = """The training loop of a node lasts from the start of its first training step to the end
    of its last one."""
OF_ACTIVITY = """No steps were recorded{elsewhere}, or those of less than half of the time in which
    the GPUs work, so the training loop is taken to last from the first to the last GPU utilization
    above 10 %."""
OF_BOTH = OF_STEPS + (
    " On {n_without} of {n_nodes} nodes (the first of them is {first}) no or few steps were "
    "recorded: there it is taken to last from the first to the last GPU utilization above 10 %."
)
COSTS = """ At {usd:g} USD an hour for each GPU they cost {costs[0]:.2f} USD: {costs[1]:.2f} USD of
    it while they are idle, and {costs[2]:.2f} USD for all unused utilization."""
BY_SAMPLES = " Shares of the time of all GPUs, counted in whole samples."
TABLE_CAPTION = """Samples show the time before and after training, and in between whether a GPU is
    busy (above 90 %), partly busy (above 10 %) or idle. Shares are of the time of all GPUs of the
    job and add up to 100 %."""
TRACED_CAPTION = "Calculated from the exact times of kernels and copies. Shares of {window}."
TRACED_TABLE_CAPTION = """Calculated from the exact times of kernels and copies. Shares are of the
    recorded time of all GPUs and add up to 100 %."""


SAMPLED_WORDS: Mapping[Part, tuple[str, str]] = {
    Part.INITIALIZATION: (
        "before the training loop",
        """Shorten the start: smaller downloads, a cached data set, lighter imports and warm-up.""",
    ),
    Part.FINALIZATION: (
        "after the training loop",
        "Shorten the end: save and upload less, or do so while training still runs.",
    ),
    Part.STRAGGLER: (
        "waiting for a slower GPU",
        "Give each GPU an equal share of the work, and compare the training processes.",
    ),
    Part.IO_WAIT: (
        "waiting for I/O",
        "Read fewer and larger files, cache the data, or use faster storage.",
    ),
    Part.NETWORK: (
        "waiting for the network",
        """Send less, cache data that are read again, or take an instance with more network
            bandwidth.""",
    ),
    Part.CPU_INPUT: (
        "waiting for the CPU or for input",
        """If training waits for data, load faster; otherwise move CPU work out of the training
            process.""",
    ),
    Part.BETWEEN_STEPS: (
        "between steps",
        "Shorten the work between steps: callbacks, logging, evaluation, checkpoints.",
    ),
    Part.NEVER_USED: (
        "on GPUs that the job never uses",
        "Start one process per GPU, or take an instance with fewer GPUs.",
    ),
    Part.UNEXPLAINED: (
        "idle, without a recorded reason",
        """Record framework events, and look at small kernels, copies and synchronization.""",
    ),
}
"""Where the time of a part went, by samples, and advice."""
TRACED_WORDS: Mapping[Part, tuple[str, str]] = {
    Part.EXPOSED_COMMUNICATION: (
        "in communication while nothing was computed",
        "Check whether it is transfer or waiting for a late rank; then overlap it.",
    ),
    Part.MEMORY: (
        "in copies and memsets",
        "Copy less, from pinned memory, and on a separate stream.",
    ),
    Part.CPU_INPUT: (
        "idle while the host waited for a batch",
        """Load in parallel and ahead: PyTorch with more loader processes (num_workers), tf.data
            with num_parallel_calls and prefetch; or make preprocessing cheaper.""",
    ),
    Part.HOST_BLOCKED: (
        "idle while the host was in synchronizing, copying or allocating calls",
        """Remove .item() and synchronization from the loop, pin memory, keep shapes fixed.""",
    ),
    Part.HOST_LATE: (
        "idle because the host was too slow to launch",
        "Launch fewer and larger kernels: larger batches, fused operators.",
    ),
    Part.LAUNCH: ("idle inside launch calls", "Launch fewer and larger kernels: fuse small ones."),
    Part.KERNEL_GAP: ("in short gaps between kernels", "Fuse small kernels, or enlarge the batch."),
    Part.WAITING: (
        "waiting although work was launched",
        "Look at waits between streams and for other ranks.",
    ),
    Part.UNEXPLAINED: (
        "idle for no reason that the trace shows",
        "Record a few more steps, so that the launches are in the trace.",
    ),
}
"""The same by kernel traces."""
_LIMIT = "{{pct}} of the GPU time was spent {place}. {advice}"
_WORKING = one_line(
    """The GPUs work in {pct} of their time. A kernel trace (torch.profiler) shows whether the
    kernels themselves can become faster: by a lower precision, or by fewer and larger kernels."""
)


def _limits(parts: Mapping[Part, tuple[str, str]]) -> dict[str, str]:
    return {
        part.value: write(_LIMIT, place=place, advice=one_line(advice))
        for part, (place, advice) in parts.items()
    }


_WORK = ("busy_high", "busy_partial")
_BEFORE_AND_AFTER = {"initialization": "before training", "finalization": "after training"}
_SAMPLED_CAUSES = {
    part.value: place.removeprefix("waiting ").removeprefix("idle, ")
    for part, (place, _) in SAMPLED_WORDS.items()
    if part not in _BEFORE_AND_AFTER
}
_SAMPLED = PartWords(
    names={
        "initialization": "before the loop",
        "finalization": "after the loop",
        "busy_high": "busy",
        "busy_partial": "partly busy",
        "straggler": "waits for a slower GPU",
        "io_wait": "waits for I/O",
        "network": "waits for the network",
        "cpu_input": "waits for CPU or input",
        "between_steps": "between steps",
        "never_used": "GPU never used",
        "unexplained": "idle, cause unknown",
        "not_measured": "not measured",
    },
    did="worked in",
    work=_WORK,
    partly="busy_partial",
    causes=_SAMPLED_CAUSES,
    gaps=("between_steps", "never_used"),
    aside=_BEFORE_AND_AFTER,
    aside_says="was before or after training",
    unmeasured="not_measured",
    groups={
        "Working": _WORK,
        "Idle while training": tuple(_SAMPLED_CAUSES),
        "Start and end": tuple(_BEFORE_AND_AFTER),
        "Not measured": ("not_measured",),
    },
    limits={**dict.fromkeys(_WORK, _WORKING), **_limits(SAMPLED_WORDS)},
)
_TRACED_CAUSES = {
    "cpu_input": "for the data loader",
    "host_blocked": "for a blocked host",
    "host_late": "for a slow host",
    "launch": "inside launch calls",
    "kernel_gap": "in short gaps between kernels",
    "waiting": "for other streams or events",
    "unexplained": "without a recorded reason",
}
_COMMUNICATION = "exposed_communication"
_TRACED = PartWords(
    names={
        "compute": "compute",
        _COMMUNICATION: "exposed communication",
        "memory_operations": "memory operations",
        "cpu_input": "waits for the data loader",
        "host_blocked": "waits for a blocked host",
        "host_late": "waits for a slow host",
        "launch": "inside launch calls",
        "kernel_gap": "short gaps between kernels",
        "waiting": "waits for streams or events",
        "unexplained": "idle, cause unknown",
    },
    did="computed in",
    work=("compute",),
    causes=_TRACED_CAUSES,
    gaps=("launch", "kernel_gap"),
    aside={_COMMUNICATION: "exposed communication"},
    aside_says="was communication while nothing was computed",
    tells_aside=True,
    groups={
        "Computing": ("compute",),
        "Moving data": (_COMMUNICATION, "memory_operations"),
        "Idle": tuple(_TRACED_CAUSES),
    },
    has_window=True,
    limits={
        "compute": "The GPUs compute for {pct} of their time. The tables of kernels and of "
        "precision show which kernels take it, and in which number format.",
        **_limits(TRACED_WORDS),
    },
)
PICTURE_WORDS = (_SAMPLED, _TRACED)
"""The words of the first picture."""
PARTS = tuple(PartWords(names=words.names) for words in PICTURE_WORDS)
"""Names of the parts in tables."""
