"""What was different in some windows of time, as several rules show and say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.facts.contrast import (
    MOVED,
    Contrast,
    Difference,
    Gauge,
    Load,
    WindowContents,
    WorkKind,
    differences_of,
)
from reportgen.results import Exhibit
from reportgen.rules import kit
from reportgen.text import format_ns, write
from reportgen.units import NS_PER_S

MOST_LISTED_FUNCTIONS = 12
LISTED_FROM_RATIO = 0.01
"""So many functions are listed, those that differ by 1 % of the extra time or more, by the size of
the difference; the others hardly matter."""
FILLS_RATIO = 0.5
"""A cause explains more than half of the extra time."""
LEAST_DIP_TICKS = 3
"""With fewer samples inside windows their mean is chance."""
HEAVIER_BY_PCT = 20.0
"""The host clearly works harder when its busiest core gains this many percentage points."""
QUIET_BELOW_PCT = 10.0
"""All cores together do next to nothing."""
MOVES_FROM_BYTES_PER_S = 10_000_000
MOVES_MORE_RATIO = 2.0
"""Ten megabytes a second, and twice the usual rate, are a copy that may explain a pause."""

_UNSEEN = """In {share:pct} of the extra time no recorded function ran: this is code that the
    profiler does not see, or waiting."""
_FUNCTION = """{most.function} takes {most.slow_ns:ns} each time, usually {usual}: {share:pct} of
    the extra time."""
_ADVICE = {
    WorkKind.LOADER: """See what the loader reads {when}: a slow or repeated download, one very
        large file. Use more loader processes, let them prefetch more batches, and pin memory.""",
    WorkKind.LOADER_START: """Keep the loader's processes alive between epochs
        (persistent_workers=True).""",
    WorkKind.EXCHANGE: """Find the training process for which the others wait {when}, and what it
        does then.""",
    WorkKind.OTHER: """Run {function} in a separate thread, less often, or on the GPU; see what it
        does {when}.""",
}
_MOVE_ADVICE = {
    Gauge.RECEIVED: "Download the data that are received {when} before the training.",
    Gauge.READ: "Read the data of this time ahead of their use, or from a faster disk.",
    Gauge.SENT: "Upload in the background, for example checkpoints from a separate thread.",
    Gauge.WRITTEN: "Write in the background: save checkpoints asynchronously, less often.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What was different, in a sentence, and advice if there is any.

    ``function`` is the name of a function that the advice is about, ``work`` its kind.
    """

    text: str
    advice: str | None = None
    function: str = ""
    work: WorkKind | None = None


def function_hint(contents: WindowContents) -> Hint | None:
    """Return the function that took most of the extra time, ``None`` where none is known to."""
    likely = [
        difference
        for difference in differences_of(contents)
        if difference.evidence_ratio > FILLS_RATIO
    ]
    most = max(likely, key=lambda item: (item.evidence_ratio, item.function), default=None)
    if most is None:
        return None
    usual = format_ns(most.normal_ns) if most.normal_ns else "nothing"
    share, is_unseen = 100 * min(most.excess_ratio, 1.0), most.work is WorkKind.UNSEEN
    return Hint(
        text=write(_UNSEEN if is_unseen else _FUNCTION, most=most, usual=usual, share=share),
        advice=_ADVICE.get(most.work),
        function="" if is_unseen else most.function,
        work=most.work,
    )


def hints_of(found: Contrast) -> Iterator[Hint]:
    """Yield what went on in the windows of a worker, or of a node; the surest first."""
    hint = function_hint(found.contents)
    yield from [hint] if hint else ()
    yield from _moving(found)
    yield from _idling(found)


def _moving(found: Contrast) -> Iterator[Hint]:
    for gauge in MOVED:
        load = found.loads.get(gauge)
        inside, usual = (load.inside or 0.0, load.outside or 0.0) if load else (0.0, 0.0)
        least = max(MOVES_FROM_BYTES_PER_S, MOVES_MORE_RATIO * usual)
        # A few of these times may hold all that was moved.
        if load and inside >= least and (load.middle_inside or 0.0) >= least:
            text = "{node}: {inside:bytes}/s {what}, otherwise {usual:bytes}/s."
            yield Hint(
                text=write(text, node=found.node, inside=inside, what=gauge, usual=usual),
                advice=_MOVE_ADVICE[gauge],
            )


def _idling(found: Contrast) -> Iterator[Hint]:
    load = found.loads.get(Gauge.CPU)
    if load and load.inside is not None and load.inside < QUIET_BELOW_PCT:
        text = "{node} did almost nothing: its cores were at {mean:pct}."
        yield Hint(
            text=write(text, node=found.node, mean=load.inside),
            advice="""Find out what the process waited for (another process, a lock, a remote
                service): py-spy dump shows it while it happens.""",
        )


def dip_text(found: Contrast) -> str:
    """Say how GPUs were used inside and outside, and that the host worked harder if it did."""
    gpu, core = (found.loads.get(gauge) for gauge in (Gauge.GPU, Gauge.CORE))
    if gpu is None or gpu.inside is None or gpu.outside is None:
        return ""
    if gpu.n_inside < LEAST_DIP_TICKS:
        text = """Only {gpu.n_inside:count sample} lie in the slow time: too few to know the use of
            the GPUs."""
        return write(text, gpu=gpu)
    text = """GPU utilization is {gpu.inside:pct} in the slow time and {gpu.outside:pct} outside
        it ({gpu.n_inside:n} and {gpu.n_outside:n} samples){host}."""
    host = ""
    if core and core.inside is not None and core.outside is not None:
        words = "; that of the busiest core is {core.inside:pct} and {core.outside:pct}"
        is_heavier = core.inside - core.outside >= HEAVIER_BY_PCT
        host = write(words, core=core) if is_heavier else ""
    return write(text, gpu=gpu, host=host)


@kit.row
class _FunctionRow:
    of: str = kit.derived(lambda row: row[0])
    function: str = kit.derived(lambda row: row[1].function)
    slow_s: float = kit.derived(lambda row: row[1].slow_ns / NS_PER_S, "s")
    normal_s: float = kit.derived(lambda row: row[1].normal_ns / NS_PER_S, "s")
    of_extra_time_pct: float = kit.derived(lambda row: 100 * row[1].excess_ratio, "%")
    evidence_pct: float = kit.derived(lambda row: 100 * max(row[1].evidence_ratio, 0.0), "%")


@kit.row
class _GaugeRow:
    of: str = kit.derived(lambda row: row[0])
    node: str = kit.derived(lambda row: row[1])
    gauge: str = kit.derived(lambda row: row[2])
    inside_pct: float | None = kit.derived(lambda row: row[3].inside, "%")
    outside_pct: float | None = kit.derived(lambda row: row[3].outside, "%")
    samples_inside: int = kit.derived(lambda row: row[3].n_inside)
    samples_outside: int = kit.derived(lambda row: row[3].n_outside)


@kit.row
class _RateRow:
    of: str = kit.derived(lambda row: row[0])
    node: str = kit.derived(lambda row: row[1])
    what: str = kit.derived(lambda row: row[2])
    inside: float | None = kit.derived(lambda row: row[3].inside, "bytes/s", digits=1)
    outside: float | None = kit.derived(lambda row: row[3].outside, "bytes/s", digits=1)


def exhibits_of(contrasts: Sequence[tuple[str, Contrast]]) -> Iterator[Exhibit]:
    """Yield the tables of functions and of loads; each row names in ``of`` which windows it is of.

    Nothing where nothing was recorded.
    """
    functions = [
        (of, difference)
        for of, found in contrasts
        for difference in _largest(differences_of(found.contents))
    ]
    if functions:
        yield kit.table(
            "functions",
            functions,
            _FunctionRow,
            title="Functions in slow time and otherwise",
            caption="""“slow” is the mean time of a function in a slow step or pause, over all
                affected training processes; “normal” is its mean time in a usual stretch of the
                usual length. A function inside another one counts in both. More than 100 % of the
                extra time means that other work took less than usual. “evidence” is what a function
                took beyond its usual rate: it is 0 for one that ran as usual in the background, and
                for one that fills nearly all of the usual time.""",
        )
    loads = [
        (of, found.node, gauge, load)
        for of, found in contrasts
        for gauge, load in found.loads.items()
    ]
    yield from _loads(loads)


def _largest(found: Sequence[Difference]) -> list[Difference]:
    differing = [item for item in found if abs(item.excess_ratio) >= LISTED_FROM_RATIO]
    largest = sorted(differing, key=lambda item: -abs(item.excess_ratio))[:MOST_LISTED_FUNCTIONS]
    return [item for item in differing if item in largest]


def _loads(every: Sequence[tuple[str, str, Gauge, Load]]) -> Iterator[Exhibit]:
    gauges = [row for row in every if row[2] not in MOVED]
    rates = [row for row in every if row[2] in MOVED]
    if gauges:
        yield kit.table(
            "inside_outside",
            gauges,
            _GaugeRow,
            title="How busy the node was inside and outside slow time",
            caption="Means over the samples of the training loop; empty if there are no samples.",
        )
    if rates:
        yield kit.table(
            "rates",
            rates,
            _RateRow,
            title="Network and disks inside and outside slow time",
            caption="""Means over the samples. Network is the traffic of the training container and
                of SageMaker's own processes together.""",
        )
