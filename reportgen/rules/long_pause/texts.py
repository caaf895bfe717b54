"""Messages of LongPause: how long the job paused, the functions meanwhile, and advice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reportgen import results
from reportgen.facts.inside import NodeGauge, NodeRate, Work
from reportgen.rules import kit
from reportgen.rules.long_pause.measure import Meanwhile
from reportgen.text import write

FILLS_RATIO = 0.5
"""A function that takes more than half of the extra time of a pause is named."""
WAITS_FROM_PCT = 20.0
"""Cores wait for I/O by this share of their time: GPUTimeBudget's threshold."""
CORE_FROM_PCT = 90.0
"""One core is busy all the time: a Python thread runs."""
QUIET_BELOW_PCT = 10.0
"""All cores together do next to nothing."""
MOVES_FROM_BYTES_PER_S = 10_000_000
MOVES_MORE_RATIO = 2.0
"""Ten megabytes a second, and twice the usual rate, are a copy that may explain a pause."""

ONE = kit.Message(
    id="PAUSE-1",
    cause=results.Cause.LONG_PAUSE,
    title="{who} paused once for {main.length_ns:ns}: {measured:pct} of the time",
    text="""{who} made no progress for {main.length_ns:ns} {place}; usually this takes
        {main.usual_ns:ns}.{others} Without the pause the loop would take {measured:pct}
        less.{meanwhile}""",
    advice="""Find out what the script did at that time (checkpoint, evaluation, upload, a new
        epoch's data) and do it in its own thread; if nothing was due, a process hung.""",
    exhibit="pauses",
)
SEVERAL = kit.Message(
    id="PAUSE-2",
    cause=results.Cause.LONG_PAUSE,
    title="{n:n} long pauses cost {measured:pct} of the time",
    text="""{n:n} times, at irregular intervals, the job made no progress for {lasted}. The pause
        that costs most is {whose}{place}.{others} Without these pauses the loop would take
        {measured:pct} less.{meanwhile}""",
    advice=ONE.advice,
    exhibit="pauses",
)
EVALUATED = "the model was evaluated on the CPU"
IDLE_ONE = kit.Message(
    id=ONE.id,
    cause=ONE.cause,
    title="{All} paused once for {main.length_ns:ns}: {measured:pct} of the working time",
    text="""{gpus} did not work for {main.length_ns:ns}, with work before and after. Without the
        pause the time from the first work to the last would be {measured:pct}
        shorter.{meanwhile}{unknown}""",
    advice="""Find in the logs what the script did during the pause; to see it here, record
        framework events (steps and data loading) and a Python profile.""",
    exhibit="pauses",
    possible_causes=(
        "a checkpoint was written or uploaded",
        EVALUATED,
        "data were downloaded, shuffled or indexed again",
        "a training process hung or restarted, and the others waited for it",
        "Python collected garbage or compiled",
    ),
)
IDLE_SEVERAL = kit.Message(
    id=SEVERAL.id,
    cause=ONE.cause,
    title="{n:n} times {all} paused: {measured:pct} of the working time",
    text="""{gpus} did not work for {lasted}, {n:n} times at irregular intervals. Without
        these pauses the time from the first work to the last would be {measured:pct}
        shorter.{meanwhile}{unknown}""",
    advice=IDLE_ONE.advice,
    exhibit="pauses",
    possible_causes=IDLE_ONE.possible_causes,
)
CORES = "All cores"
UNKNOWN = " The samples do not show the work of the script; events or a Python profile do."
BETWEEN = "between two steps, after {main.phase:mode} step{number}"
INSIDE = "inside {main.phase:mode} step{number}"
TOGETHER = " {n_members:count training process/training processes} paused together."
WAITED = """ {n_others:count other training process/other training processes} waited for it inside a
    step."""
ALONE = " The other training processes went on."


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """The functions in pauses, in a sentence, and advice if there is any.

    ``function`` is the name of a function that the advice is about.
    """

    text: str
    advice: str | None = None
    function: str = ""


def hints_of(found: Meanwhile) -> Iterator[Hint]:
    """Yield what went on in the pauses of a worker, or of a node; the surest first."""
    yield from _function(found)
    yield from _waiting(found)
    yield from _moving(found)
    yield from _cores(found)


def _function(found: Meanwhile) -> Iterator[Hint]:
    contents = found.contents
    if contents is None or not contents.slow_ns:
        return
    usual_ns = contents.normal_ns / max(contents.n_normal, 1) * contents.n_slow
    extra_ns = contents.slow_ns - usual_ns
    excess_ns = {
        key: time_ns - contents.in_normal_ns[key] / max(contents.n_normal, 1) * contents.n_slow
        for key, time_ns in contents.in_slow_ns.items()
    }
    key = max(excess_ns, key=lambda key: (excess_ns[key], key))
    if excess_ns[key] < FILLS_RATIO * extra_ns:
        return
    name, work = key
    share = 100 * contents.in_slow_ns[key] / contents.slow_ns
    if work is Work.UNSEEN:
        text = "In {share:pct} of this time no recorded function ran."
        yield Hint(text=write(text, share=share))
    else:
        text = "{name} took {share:pct} of this time."
        told = write(text, name=name, share=share)
        yield Hint(text=told, advice=_ADVICE[work], function=name)


_ADVICE = {
    Work.LOADER: """See what the loader read in the pause: a new epoch that starts its processes or
        shuffles (persistent_workers=True), a slow or repeated download, one very large file.""",
    Work.LOADER_START: """Keep the loader's processes alive between epochs
        (persistent_workers=True).""",
    Work.OTHER: """See what {function} did in the pause; run it in its own thread, less often,
        or not in the training job.""",
}
_RATE_ADVICE = {
    NodeRate.RECEIVED: "Download the data that are received in the pause before the training.",
    NodeRate.READ: "Read the data of the pause ahead of their use, or from a faster disk.",
    NodeRate.SENT: "Upload in the background, for example checkpoints from a separate thread.",
    NodeRate.WRITTEN: "Write in the background: save checkpoints asynchronously, less often.",
}


def _waiting(found: Meanwhile) -> Iterator[Hint]:
    load = found.loads.get(NodeGauge.IO_WAIT)
    inside = load.inside_pct if load else None
    if load and inside is not None and inside >= max(WAITS_FROM_PCT, 2 * (load.outside_pct or 0)):
        text = """The cores of {node} waited for I/O in {inside:pct} of the pause, otherwise in
            {usual:pct} of the time."""
        yield Hint(
            text=write(text, node=found.node, inside=inside, usual=load.outside_pct or 0.0),
            advice="""Find the data that are written or read in the pause, and do this in the
                background.""",
        )


def _moving(found: Meanwhile) -> Iterator[Hint]:
    for what, rate in found.rates.items():
        inside, usual = rate.inside_bytes_per_s or 0.0, rate.outside_bytes_per_s or 0.0
        if inside >= max(MOVES_FROM_BYTES_PER_S, MOVES_MORE_RATIO * usual):
            text = "{node}: {inside:bytes}/s {what}, otherwise {usual:bytes}/s."
            yield Hint(
                text=write(text, node=found.node, inside=inside, what=what, usual=usual),
                advice=_RATE_ADVICE[what],
            )


def _cores(found: Meanwhile) -> Iterator[Hint]:
    core, mean = found.loads.get(NodeGauge.CORE), found.loads.get(NodeGauge.CPU)
    if core is None or mean is None or core.inside_pct is None or mean.inside_pct is None:
        return
    values = {"node": found.node, "core": core.inside_pct, "mean": mean.inside_pct}
    if core.inside_pct >= CORE_FROM_PCT:
        yield Hint(
            text=write("The busiest core of {node} was at {core:pct}, all at {mean:pct}.", **values)
        )
    elif mean.inside_pct < QUIET_BELOW_PCT:
        yield Hint(
            text=write("{node} did almost nothing: its cores were at {mean:pct}.", **values),
            advice="""Find out what the process waited for (another process, a lock, a remote
                service): py-spy dump shows it while it happens.""",
        )
