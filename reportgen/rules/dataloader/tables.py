"""The rows that Dataloader measures, which are its tables, and its other exhibits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.arrays import Instants
from reportgen.facts.distributions import bin_together
from reportgen.facts.loader import Waiting
from reportgen.results import Exhibit, Role
from reportgen.rules import kit
from reportgen.text import write
from reportgen.units import NS_PER_S


@kit.row
class Loader:
    """One way in which a worker set up its loaders; ``None`` is what was not recorded.

    The waits are those for its batches; ``active_ns`` adds up the times in which it is the one that
    the worker set up, or asked, last.
    """

    worker: str = kit.col()
    iterator: str = kit.col()
    num_workers: int | None = kit.col()
    pin_memory: bool | None = kit.col()
    n_initialized: int = kit.col(name="initialized")
    active_ns: int = kit.col("s", name="active_s", per=NS_PER_S)
    n_waits: int = kit.col(name="waits")
    waited_ns: int = 0
    median_wait_ns: float | None = kit.col("s", name="median_wait_s", per=NS_PER_S)
    longest_wait_ns: int | None = kit.col("s", name="max_wait_s", per=NS_PER_S)


def loop_share(waiting: Sequence[Waiting]) -> Iterator[Exhibit]:
    """Yield how much of the loops was waiting; nothing without waits."""
    if not waiting:
        return
    loop_ns = sum(item.loop_ns for item in waiting)
    waited_ns = sum(item.expected_ns for item in waiting)
    recorded_ns = sum(item.waited_ns for item in waiting)
    lost_ns = sum(item.unrecorded_ns for item in waiting)
    parts = [("waiting for data", waited_ns), ("rest of this time", max(loop_ns - waited_ns, 0))]
    caption = """Of each training process, from its first to its last step, evaluation included:
        this may be longer than the training loop. Waits of one process that overlap count once;
        those of several training processes are added up."""
    if lost_ns:
        caption += write(" {lost_ns:ns} without any record are left out.", lost_ns=lost_ns)
    if waited_ns > recorded_ns:
        caption += write(
            " Not every wait was recorded: {recorded_ns:ns} were. The rest is estimated from the "
            "mean wait.",
            recorded_ns=recorded_ns,
        )
    yield kit.ranking(
        "loop_share",
        parts,
        title="Waiting for data from the first to the last step",
        caption=caption,
        amount=("time_s", "s"),
        per=NS_PER_S,
        roles=(Role.IO, Role.IDLE),
    )


def wait_histogram(wait_ns: Instants) -> Iterator[Exhibit]:
    """Yield the histogram of all waits; nothing without waits."""
    edge_ns, counts = bin_together([wait_ns])
    if edge_ns.size:
        yield kit.histogram(
            "waits",
            edge_ns / NS_PER_S,
            [("waits", counts[0])],
            title="How long training waits for a batch",
            caption="""All recorded waits of all training processes, also before the first step and
                during evaluation.""",
            unit="s",
            role=Role.IO,
        )


def loader_table(loaders: Sequence[Loader]) -> Iterator[Exhibit]:
    """Yield the table of loaders; nothing without any."""
    if loaders:
        caption = """A wait is the time in which the training process asks for the next batch.
            Without persistent_workers=True a loader is initialized, and its processes are started,
            again in every epoch."""
        title = "Data loaders by training process and settings"
        yield kit.table("loaders", loaders, Loader, title=title, caption=caption)
