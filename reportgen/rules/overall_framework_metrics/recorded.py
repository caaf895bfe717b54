"""Recorded events: each kind, how long it takes, and which steps it covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from reportgen.arrays import Instants, Mask
from reportgen.facts.breakdown import SpanClass, classes_of
from reportgen.facts.intervals import overlaps_any, runs_of
from reportgen.facts.steps import phase_word
from reportgen.profile import NO_STEP, SpanTable
from reportgen.rules.kit import col, row
from reportgen.rules.overall_framework_metrics.tables import Stage
from reportgen.units import NS_PER_S

_OPS = "operators"
MOST_WINDOWS = 6
"""More windows of steps than this are too many for a sentence; first, last and number remain."""
TITLE = "Kinds of recorded events, and when they were recorded"
CAPTION = """Durations of the events of each node. first_step and last_step number the training
    steps that ran while such events were recorded, or before which training waited for a batch.
    Operators and passes are often recorded for a few steps only."""


@row
class Recorded:
    """The events of one kind on a node; ``n_steps`` that train run meanwhile, first to last.

    ``which_steps`` names the windows of steps without a gap: "46-47, 420-421"; empty of unnumbered
    steps and of many windows.
    """

    node: str = col()
    what: str = col()
    count: int = col()
    total_ns: int = col("s", name="total_s", per=NS_PER_S)
    mean_ns: float = col("s", name="mean_s", per=NS_PER_S)
    p50_ns: float = col("s", name="p50_s", per=NS_PER_S)
    p95_ns: float = col("s", name="p95_s", per=NS_PER_S)
    max_ns: int = col("s", name="max_s", per=NS_PER_S)
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    end_ns: int = col("s", name="end_s", per=NS_PER_S)
    first_step: int | None = col()
    last_step: int | None = col()
    n_steps: int = col(name="steps")
    which_steps: str = col()


def windows_of_operators(rows: Iterable[Recorded]) -> str:
    """Return the windows of steps whose operators were recorded, where all nodes say the same."""
    found = {row.which_steps for row in rows if row.what.startswith(_OPS)}
    return found.pop() if len(found) == 1 else ""


def _windows(numbers: Sequence[int]) -> str:
    places = np.array(numbers, dtype=np.int64)
    ends = [*zip(*places[runs_of(places, max_step=1)].tolist(), strict=True)]
    if not 0 < len(ends) <= MOST_WINDOWS:
        return ""
    return ", ".join(f"{first}–{last}" if first < last else str(first) for first, last in ends)


def _pause_before(training: SpanTable) -> Instants:
    """Return (n,) where the pause before each step begins: behind the last step of its worker."""
    order = np.lexsort((training.start_ns, training.worker))
    previous_ns = np.roll(training.end_ns[order], 1)
    previous_ns[np.diff(training.worker[order], prepend=-1) != 0] = 0
    begin_ns = np.empty_like(previous_ns)
    begin_ns[order] = previous_ns
    return np.minimum(begin_ns, training.start_ns)


def _steps_with(training: SpanTable, events: SpanTable, *, waits: bool) -> list[int]:
    """Return the numbers of the steps in which events ran; a wait also counts for the next step."""
    is_in = overlaps_any(training.start_ns, training.end_ns, events.start_ns, events.end_ns)
    if waits:
        begin_ns = _pause_before(training)
        is_in |= overlaps_any(begin_ns, training.start_ns, events.start_ns, events.end_ns)
    numbers = np.unique(training.step[is_in & (training.step != NO_STEP)])
    return [int(number) for number in numbers]


def recorded_of(node: str, spans: SpanTable, stages: Mapping[str, Mask]) -> Iterator[Recorded]:
    """Yield each kind that was recorded: phases of steps, stages of a batch, operators by device.

    Args:
        node: which it is.
        spans: its events.
        stages: (n,) masks of the events of each stage, by its name.
    """
    training, classes = spans.training_steps(), classes_of(spans)
    kinds = dict(stages)
    for kind, word in ((SpanClass.STEP, "steps"), (SpanClass.CPU, _OPS), (SpanClass.GPU, _OPS)):
        for code in np.unique(spans.phase[classes == kind]).tolist():
            what = f"{word} ({phase_word(spans.phases[code])})"
            found = (spans.phase == code) & (classes == kind)
            kinds[what] = kinds.get(what, False) | found
    is_other = np.ones(spans.n_spans, dtype=bool)
    for mask in kinds.values():
        is_other &= ~mask
    kinds["other events"] = is_other
    for what in sorted(kinds):
        events = spans.where(kinds[what])
        if events.n_spans:
            numbers = _steps_with(training, events, waits=what == Stage.WAIT)
            p50_ns, p95_ns = np.percentile(events.duration_ns, (50, 95)).tolist()
            yield Recorded(
                node=node,
                what=what,
                count=events.n_spans,
                total_ns=int(events.duration_ns.sum()),
                mean_ns=float(events.duration_ns.mean()),
                p50_ns=p50_ns,
                p95_ns=p95_ns,
                max_ns=int(events.duration_ns.max()),
                start_ns=int(events.start_ns.min()),
                end_ns=int(events.end_ns.max()),
                first_step=numbers[0] if numbers else None,
                last_step=numbers[-1] if numbers else None,
                n_steps=len(numbers),
                which_steps=_windows(numbers),
            )
