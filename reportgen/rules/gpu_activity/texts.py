"""The prose of GPUActivity: its findings, and the captions of its exhibits."""

from __future__ import annotations

from reportgen.results import Severity
from reportgen.rules.kit import Message

EXPOSED = Message(
    id="ACT-1",
    title="Communication that hides behind no compute takes {measured:pct}",
    text=(
        "{exposed:ns} of GPU time, {measured:pct} of {window}, went by in communication kernels "
        "with nothing computed beside them; {hidden:pct} of the communication overlaps with "
        "compute. Communication kernels also wait for other ranks: see the collectives."
    ),
    advice=(
        "Overlap communication with the backward pass (larger buckets, gradient accumulation, "
        "prefetching shards), and see first whether it waits for a late rank."
    ),
    exhibit="activity_split",
    causes=("COMM-1",),
)
UNEVEN = Message(
    id="ACT-2",
    severity=Severity.WARNING,
    title="The ranks compute unevenly: {name} {measured:pct} above the mean",
    text=(
        "{name} computes {compute:ns} where the mean of {n_gpus} GPUs is {mean:ns}; each in its "
        "own window: {window}. The others wait for it."
    ),
    advice="Give each rank an equal share: balance shards, tables, sequence lengths or layers.",
    exhibit="activity_by_device",
)
READING = Message(
    id="ACT-3",
    title="{gpus} active {measured:pct} of {window}",
    text=(
        "Any of {n_ops:count GPU operation} ran {measured:pct} of that time; a kernel ran "
        "{kernel:pct}, which is what nvidia-smi calls GPU-Util."
    ),
    advice="Look at the causes of idling where the idle part is large.",
    exhibit="active_time",
)

ACTIVE_CAPTION = (
    "Shares of {window}. Active: a kernel, copy or memset runs. Kernels alone run {kernel:pct} of "
    "it, which is what nvidia-smi calls GPU-Util."
)
SPLIT_CAPTION = (
    "Shares of {window}. Every moment is in one part; memory operations are copies and memsets "
    "while no kernel ran."
)
OVERLAP_CAPTION = (
    "Shares of the {communication:ns} in which communication kernels ran, {share:pct} of {window}."
)
SUMS_CAPTION = (
    "Durations added up over the whole trace, also where they ran at the same time; "
    "synchronization is the host's waiting calls and the waits that devices recorded."
)
TABLE_CAPTION = (
    "Window gpu: from the first start to the last end of a GPU operation of the rank. Window "
    "steps: from the start of the first step to the end of the last, or of the last GPU operation "
    "launched inside. All times are unions: what runs at the same time counts once. "
    "window_start_us is in the trace's own clock."
)
