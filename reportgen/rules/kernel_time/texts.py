"""What KernelTime says: its findings, and the words of each grouping."""

from __future__ import annotations

from dataclasses import dataclass

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
BY_NAME_CAPTION = (
    "Over all ranks, by total time. pct_of_kernel_time is of the time of all kernels; "
    "pct_of_profile_time is of the time from the first to the last GPU operation, times devices "
    "({profile:ns}); kernels that run at the same time all count. Precision is read off the name, "
    "else off the inputs of the operator."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """One way of adding up kernels.

    Attributes:
        id: of the durations that were measured.
        label: what the reader's choice is called; ``noun``: what a row is then.
        title: of its rankings; ``others``: what is counted where not all rows are shown.
        columns: that the first members of its keys are in.
        caption: of its table.
    """

    id: str
    label: str
    noun: str
    title: str
    others: str
    columns: tuple[str, ...]
    caption: str

    @property
    def suffix(self) -> str:
        """Return what ends the ids of its rankings."""
        return "" if self is BY_NAME else f"_{self.id}"

    @property
    def table_id(self) -> str:
        """Return the id of its table."""
        return "kernels" if self is BY_NAME else f"kernels_by_{self.id}"


BY_NAME = Grouping(
    id="name",
    label="name",
    noun="kernel",
    title="Kernels",
    others="kernel",
    columns=("name",),
    caption=BY_NAME_CAPTION,
)
BY_SHAPE = Grouping(
    id="shape",
    label="name, grid and block",
    noun="kernel",
    title="Kernels and launch sizes",
    others="kernel and launch size/kernels and launch sizes",
    columns=("name", "shape"),
    caption="Every kernel with each size in which it was launched, by total time.",
)
BY_OPERATOR = Grouping(
    id="operator",
    label="operator",
    noun="operator",
    title="Operators with kernels",
    others="operator",
    columns=("operator",),
    caption=(
        "Kernels by the operator that launched them: the innermost on the thread of the launch."
    ),
)
BY_CATEGORY = Grouping(
    id="category",
    label="category",
    noun="category",
    title="Categories of kernels",
    others="category/categories",
    columns=("category",),
    caption="Kernels that exchange data with other GPUs, and all others.",
)
GROUPINGS = (BY_NAME, BY_SHAPE, BY_OPERATOR, BY_CATEGORY)
