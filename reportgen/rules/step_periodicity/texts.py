"""What StepPeriodicity says: the rhythm, its cost, what ran in it, how busy the GPUs were."""

from __future__ import annotations

from reportgen.facts.inside import NodeGauge, Work
from reportgen.facts.rhythm import Unit
from reportgen.rules.kit import Message
from reportgen.rules.step_periodicity.measure import Period, SharedPeriod
from reportgen.rules.step_periodicity.tables import Compared
from reportgen.text import format_ns, join_names, ordinal, write

MOST_NUMBERS = 6
LEAST_TICKS = 3
"""With fewer samples inside slow steps their mean is chance."""
HEAVIER_BY_PCT = 20.0
"""The host clearly works harder when its busiest core gains so many percent points."""

RECURS = Message(
    id="PERIOD-1",
    title="{what}: {measured:pct} of the loop",
    text="{text}",
    advice=(
        "Find what the script does every {every} (callback, checkpoint, logging, validation) and "
        "run it in a thread of its own, less often, or on the GPU."
    ),
    exhibit="cycles",
)
_ADVICE = {
    Work.LOADER: (
        "Use more loader processes, let them prefetch more batches, and pin memory; look at "
        "what the loader reads at those steps."
    ),
    Work.LOADER_START: (
        "Keep the loader's processes alive between epochs (persistent_workers=True)."
    ),
    Work.OTHER: (
        "Run {function} in a thread of its own, less often than every {every}, or on the GPU."
    ),
}
TOO_FEW = (
    "Too few steps to find a rhythm: {longest:n} of one worker and phase at most, {least:n} are "
    "needed."
)
_WHAT = {
    (Unit.SECONDS, True): "Every {p.period_s:s} a {p.word} step is followed by a long pause",
    (Unit.SECONDS, False): "Every {p.period_s:s} a {p.word} step is slow",
    (Unit.STEPS, True): "A long pause follows every {nth} {p.word} step",
    (Unit.STEPS, False): "Every {nth} {p.word} step is slow",
}
_PERIOD = {
    Unit.SECONDS: "every {p.period_s:s} (about {p.period_steps:.0f} steps)",
    Unit.STEPS: "every {p.period_steps:g} steps ({p.period_s:s})",
}
_INTERVAL = {Unit.SECONDS: "{p.period_s:s}", Unit.STEPS: "{p.period_steps:g} steps"}
_RHYTHM = (
    "{p.worker} has {p.n_found:n}{missing} slow {p.word} cycles {period} ({behind} "
    "{numbers}{more}).{others}"
)
_COST = (
    "Each costs {p.cost_each_s:s} more than the usual cycle of {p.usual_ns:ns}, {where}; together "
    "{p.cost_ns:ns}, {share:pct} of the loop."
)
_UNSEEN = (
    "In {share:pct} of the extra time no recorded function ran: code that the profiler does not "
    "see, or waiting."
)
_FUNCTION = (
    "{cause.function} takes {cause.slow_ns:ns} of each and {usual} of the others: {share:pct} of "
    "the extra time."
)
_FEW_SAMPLES = "Only {gpu.n_inside:count sample} fell into them: too few to tell the GPUs' use."
_DIPS = (
    "GPU utilization is {gpu.inside_pct:pct} inside them and {gpu.outside_pct:pct} outside "
    "({gpu.n_inside:n} and {gpu.n_outside:n} samples){host}."
)
_HOST = "; the busiest core is at {core.inside_pct:pct} inside and {core.outside_pct:pct} outside"


def every(main: Period) -> str:
    """Name a rhythm: ``every 50 steps``, ``every 30 s``."""
    return f"every {interval(main)}"


def interval(main: Period) -> str:
    """Write the period of a rhythm: ``50 steps``, ``30 s``."""
    return write(_INTERVAL[main.unit], p=main)


def what(main: Period) -> str:
    """Say which steps are slow, without a full stop."""
    nth = ordinal(round(main.period_steps))
    return write(_WHAT[main.unit, main.is_between], p=main, nth=nth)


def rhythm(group: SharedPeriod) -> str:
    """Say how often which steps are slow, and in which workers."""
    main = group.main
    numbers = [str(step) for step in main.slowest.number[: MOST_NUMBERS + 1].tolist()]
    others = [item.worker for item in group.members if item is not main]
    is_cut = main.n_found > len(numbers) or len(numbers) > MOST_NUMBERS
    return write(
        _RHYTHM,
        p=main,
        missing="" if main.n_found == main.n_expected else f" of {main.n_expected:,} expected",
        period=write(_PERIOD[main.unit], p=main),
        behind="behind step" if main.is_between else "step",
        numbers=", ".join(numbers[:MOST_NUMBERS]),
        more=" …" if is_cut else "",
        others=f" The same holds for {join_names(others)}." if others else "",
    )


def cost(main: Period) -> str:
    """Say what a rhythm costs."""
    where = "in the pause before the next step" if main.is_between else "within the step"
    return write(_COST, p=main, where=where, share=100 * main.cost_ratio)


def why(cause: Compared | None) -> str:
    """Say which function took most of the extra time; empty where none did."""
    if cause is None:
        return ""
    return write(
        _UNSEEN if cause.work is Work.UNSEEN else _FUNCTION,
        cause=cause,
        usual=format_ns(cause.normal_ns) if cause.normal_ns else "nothing",
        share=100 * min(cause.excess_ratio, 1.0),
    )


def dips(main: Period) -> str:
    """Say how busy the GPUs were, and whether the host worked harder meanwhile."""
    gpu, core = (main.loads.get(gauge) for gauge in (NodeGauge.GPU, NodeGauge.CORE))
    if gpu is None or gpu.inside_pct is None or gpu.outside_pct is None:
        return ""
    if gpu.n_inside < LEAST_TICKS:
        return write(_FEW_SAMPLES, gpu=gpu)
    is_heavier = (
        core is not None
        and core.inside_pct is not None
        and core.outside_pct is not None
        and core.inside_pct - core.outside_pct >= HEAVIER_BY_PCT
    )
    return write(_DIPS, gpu=gpu, host=write(_HOST, core=core) if is_heavier else "")


def advice(cause: Compared | None) -> str | None:
    """Return what to try about a function, ``None`` where none is known."""
    return _ADVICE.get(cause.work) if cause else None
