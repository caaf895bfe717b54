"""The prose of GPUTimeBudget: names of parts, their meaning and advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reportgen.results import Cause, PartWords
from reportgen.rules.gpu_time_budget.tables import Part
from reportgen.rules.kit import Message

SAMPLED = Message(
    id="GPU-3",
    cause=Cause.LOST_GPU_TIME,
    title="{measured:pct} of the GPU time was spent {place}",
    text="""{spent:ns} of GPU time, {measured:pct} of that of the whole job, was spent {meaning};
        {busy:pct} was work{in_loop}.{remark}""",
    advice="",
    exhibit="budget",
)
TRACED = Message(
    id="GPU-3",
    cause=Cause.LOST_GPU_TIME,
    title="The largest loss of GPU time: {measured:pct} {meaning}",
    text="""{spent:ns} of GPU time, {measured:pct} of {window}; the GPUs were busy {busy:pct}.
        Computed from kernels.""",
    advice="",
    exhibit="budget",
)
UNRECORDED = {
    Part.INITIALIZATION: "before the first recorded step",
    Part.FINALIZATION: "after the last recorded step",
}
"""Parts outside the loop, where GPUs may have trained in steps that were not recorded."""
IN_LOOP = " within the loop"
WORKED = """ GPUs were at work in {worked:pct} of the time {place}: training probably went on there
    and its steps were not recorded."""
RECORD_ALL = "Record the steps of the whole job, or look at what was recorded (--from, --to)."

OF_STEPS = "The loop of a node lasts from its first training step to the end of its last one."
OF_ACTIVITY = """The loop is taken to last from the first GPU activity above 10 % to the last: no
    steps were recorded{elsewhere}."""
OF_BOTH = OF_STEPS + (
    " On {n_without} of {n_nodes} nodes, {first} the first of them, no steps were recorded: there "
    "it is taken to last from the first GPU activity above 10 % to the last."
)
COSTS = """ At {usd:g} USD an hour for each GPU they cost {costs[0]:.2f} USD: {costs[1]:.2f} USD
    while they idle, {costs[2]:.2f} USD for all that their utilization leaves unused."""
BY_SAMPLES = " Shares of GPU time, counted in whole samples."
TABLE_CAPTION = """Shares are of the time of all GPUs of the job and add up to 100 %. cpu_hot_gpu_s
    is how much of a row's time had a core above 90 %."""
TRACED_CAPTION = "Computed from kernels, exact. Shares of {window}."
TRACED_TABLE_CAPTION = """Computed from kernels. Shares are of the windows of all GPUs and add up to
    100 %; kernel traces do not show how busy the cores were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words about a part that is the largest.

    Attributes:
        where: in the title; ``meaning`` where it is empty.
        cause: its cause; for a part with several causes, or none, that GPU time is lost.
    """

    meaning: str
    advice: str
    where: str = ""
    cause: Cause = Cause.LOST_GPU_TIME


SAMPLED_WORDS: Mapping[Part, Words] = {
    Part.INITIALIZATION: Words(
        cause=Cause.LONG_START,
        meaning="before the training loop",
        advice="""Shorten the start: smaller downloads, a cached data set, lighter imports and
            warm-up.""",
    ),
    Part.FINALIZATION: Words(
        cause=Cause.OBSERVATION,
        meaning="after the training loop",
        advice="Shorten the end: save and upload less, or do so while training still runs.",
    ),
    Part.STRAGGLER: Words(
        cause=Cause.SLOW_WORKER,
        where="waiting for a slower GPU",
        meaning=(
            "idle while another GPU of the node was busy and workers waited in steps or "
            "communication"
        ),
        advice="Give each GPU an equal share of the work; look at the pace of the workers.",
    ),
    Part.IO_WAIT: Words(
        cause=Cause.IO_WAIT,
        where="waiting for I/O",
        meaning="idle while the cores waited for I/O",
        advice="Read fewer and larger files, cache the data, or use faster storage.",
    ),
    Part.NETWORK: Words(
        cause=Cause.NETWORK_INPUT,
        where="waiting for the network",
        meaning="idle while the node received data close to the limit of its network",
        advice="""Send less, cache what is read again, or take an instance with more network
            bandwidth.""",
    ),
    Part.CPU_INPUT: Words(
        cause=Cause.SLOW_INPUT,
        where="waiting for the CPU or for input",
        meaning="idle while a core was above 90 % or the loop waited for a batch",
        advice="""If the loop waits for data, load faster; else move CPU work out of the training
            process.""",
    ),
    Part.BETWEEN_STEPS: Words(
        cause=Cause.WORK_BETWEEN_STEPS,
        where="between steps",
        meaning="idle between steps",
        advice="""Look at what the loop does between steps: callbacks, logging, evaluation,
            checkpoints.""",
    ),
    Part.NEVER_USED: Words(
        cause=Cause.GPU_IDLE,
        where="on GPUs that the job never uses",
        meaning="on GPUs that never work while others of their node do",
        advice="Start one process per GPU, or take an instance with fewer GPUs.",
    ),
    Part.UNEXPLAINED: Words(
        where="idle, for no recorded reason",
        meaning="idle for no reason that the recording shows",
        advice="Record framework events, and look at small kernels, copies and synchronization.",
    ),
}
TRACE_STEPS = """Look at small kernels, copies and synchronization: record a kernel trace of some
    steps."""
"""Advice on idling that framework events do not explain."""
TRACED_WORDS: Mapping[Part, Words] = {
    Part.EXPOSED_COMMUNICATION: Words(
        cause=Cause.EXPOSED_COMMUNICATION,
        meaning="in communication with nothing computed beside it",
        advice="See whether it is transfer or waiting for a late rank, then overlap it.",
    ),
    Part.MEMORY: Words(
        cause=Cause.EXPOSED_COPIES,
        meaning="in copies and memsets",
        advice="Copy less, from pinned memory, and on its own stream.",
    ),
    Part.CPU_INPUT: Words(
        cause=Cause.SLOW_INPUT,
        meaning="idle while the host waited for a batch",
        advice="Use more loader processes, prefetch, or move preprocessing to other processes.",
    ),
    Part.HOST_BLOCKED: Words(
        meaning="idle while the host was in synchronizing, copying or allocating calls",
        advice="Remove .item() and synchronization from the loop, pin memory, keep shapes steady.",
    ),
    Part.HOST_LATE: Words(
        cause=Cause.SLOW_HOST,
        meaning="idle because the host was too slow to launch",
        advice="Launch less and larger: larger batches, torch.compile.",
    ),
    Part.LAUNCH: Words(
        cause=Cause.FULL_LAUNCH_QUEUE,
        meaning="idle inside launch calls",
        advice="Launch less and larger: fuse small kernels.",
    ),
    Part.KERNEL_GAP: Words(
        cause=Cause.SMALL_KERNELS,
        meaning="in short gaps between kernels",
        advice="Fuse small kernels, or enlarge the batch.",
    ),
    Part.WAITING: Words(
        cause=Cause.STREAM_DEPENDENCY,
        meaning="waiting although work was launched",
        advice="Look at waits between streams and for other ranks.",
    ),
    Part.UNEXPLAINED: Words(
        meaning="idle for no reason that the trace shows",
        advice="Record a few steps more, so that the launches are in the trace.",
    ),
}


# The first picture

_WORK = ("busy_high", "busy_partial")
_SAMPLED_CAUSES = {
    part.value: words.where.removeprefix("waiting ").removeprefix("idle, ")
    for part, words in SAMPLED_WORDS.items()
    if words.where
}
_BEFORE_AND_AFTER = {"initialization": "before training", "finalization": "after training"}
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
    aside_says="went by before or after training",
    unmeasured="not_measured",
    groups={
        "Working": _WORK,
        "Idle while training": tuple(_SAMPLED_CAUSES),
        "Start and end": tuple(_BEFORE_AND_AFTER),
        "Not measured": ("not_measured",),
    },
)
_TRACED_CAUSES = {
    "cpu_input": "for the data loader",
    "host_blocked": "for a blocked host",
    "host_late": "for a slow host",
    "launch": "inside launch calls",
    "kernel_gap": "in short gaps between kernels",
    "waiting": "for other streams or events",
    "unexplained": "for no recorded reason",
}
_COMMUNICATION = "exposed_communication"
_TRACED = PartWords(
    names={
        "compute": "compute",
        _COMMUNICATION: "communication alone",
        "memory_operations": "copies and memsets",
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
    aside={_COMMUNICATION: "communication alone"},
    aside_says="went into communication with nothing computed beside it",
    tells_aside=True,
    groups={
        "Computing": ("compute",),
        "Moving data": (_COMMUNICATION, "memory_operations"),
        "Idle": tuple(_TRACED_CAUSES),
    },
    has_window=True,
)
PICTURE_WORDS = (_SAMPLED, _TRACED)
"""The words of the first picture."""
PARTS = tuple(PartWords(names=words.names) for words in PICTURE_WORDS)
"""Names of the parts in tables."""
