"""What KernelTime says: its findings, and the words of each way of adding up."""

from __future__ import annotations

from reportgen.rules.kernel_time.measure import Grouping
from reportgen.rules.kit import Message

TINY = Message(
    id="KERN-1",
    title="{measured:pct} of the kernels are shorter than their launch",
    text=(
        "{n_tiny:n} of {n_launched:count kernel} {n_tiny:verb take} less than {tiny_us} µs and "
        "less than the call that launches them; before them the GPU idles {idle:ns}, "
        "{idle_pct:pct} of the time from the first to the last GPU operation ({profile:ns} over "
        "all GPUs)."
    ),
    advice="Fuse them: torch.compile, CUDA graphs, fused optimizers, or a larger batch.",
    exhibit="top_by_launches",
)
LARGEST = Message(
    id="KERN-2",
    title="The kernel that takes most time takes {measured:pct} of kernel time",
    text=(
        "{name}: {time:ns} of {every} in {n_runs:count run}, {mean:ns} on average, of "
        "{n_names:count different kernel} in all."
    ),
    advice="A faster version of the first few kernels is worth most.",
    exhibit="top_by_time",
)
TITLES = {
    Grouping.NAME: "Kernels",
    Grouping.SHAPE: "Kernels and launch sizes",
    Grouping.OPERATOR: "Operators with kernels",
    Grouping.CATEGORY: "Categories of kernels",
}
"""Of rankings; "by time" and the like is appended."""
LABELS = {way: way.value for way in Grouping} | {Grouping.SHAPE: "name, grid and block"}
"""How the reader's choices are called."""
OTHERS = {
    Grouping.NAME: "kernel",
    Grouping.SHAPE: "kernel and launch size/kernels and launch sizes",
    Grouping.OPERATOR: "operator",
    Grouping.CATEGORY: "category/categories",
}
"""How the rows are counted that a ranking does not show one by one."""
CAPTIONS = {
    Grouping.NAME: (
        "Over all ranks, by total time. pct_of_kernel_time is of the time of all kernels; "
        "pct_of_profile_time is of the time from the first to the last GPU operation, times "
        "devices ({profile:ns}); kernels that run at the same time all count. Precision is read "
        "off the name, else off the inputs of the operator."
    ),
    Grouping.SHAPE: "Every kernel with each size in which it was launched, by total time.",
    Grouping.OPERATOR: (
        "Kernels by the operator that launched them: the innermost on the thread of the launch."
    ),
    Grouping.CATEGORY: "Kernels that exchange data with other GPUs, and all others.",
}
"""Of the complete tables."""
AS_BY_NAME = " Over all ranks; columns as in the table by name."
