"""Pauses of the whole job, and the exhibits that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.results import Exhibit, Role
from reportgen.rules import kit
from reportgen.rules.long_pause.measure import Meanwhile, Pause
from reportgen.text import mode_word
from reportgen.units import NS_PER_S

OVERLAP_RATIO = 0.5
"""Pauses of two workers that share half of the shorter one are the same: they wait for each
other."""
SAME_LENGTH_RATIO = 0.1
"""Pauses at the same step that differ by at most a tenth are the same, whatever the clocks of
their nodes say."""
MOST_FUNCTIONS = 12
LISTED_FROM_RATIO = 0.01
"""So many functions are listed, those that fill 1 % of the pauses or more."""


@kit.row
class JobPause:
    """The same pause in one worker or in several."""

    members: tuple[Pause, ...]

    @property
    def main(self) -> Pause:
        """Return the pause of the worker that held up the others, else the costliest one.

        Whoever waits for another worker does so inside a step; one that pauses between its steps
        while others are inside theirs is the one that they wait for.
        """
        return max(self.leading, key=lambda item: (item.lost_ratio, item.worker))

    @property
    def leading(self) -> tuple[Pause, ...]:
        """Return the pauses of the workers that did not wait for others, as far as it is known."""
        between = tuple(item for item in self.members if item.is_between)
        return between or self.members


def job_pauses(pauses: Sequence[Pause]) -> list[JobPause]:
    """Return the pauses of all workers, shared ones as one, in order of time."""
    groups: list[list[Pause]] = []
    for pause in sorted(pauses, key=lambda item: (item.start_ns, item.node, item.worker)):
        same = next((group for group in groups if _is_same(group, pause)), None)
        if same is None:
            groups.append(same := [])
        same.append(pause)
    return [JobPause(members=tuple(members)) for members in groups]


def _is_same(group: Sequence[Pause], pause: Pause) -> bool:
    if any((item.node, item.worker) == (pause.node, pause.worker) for item in group):
        return False
    return any(_overlap(item, pause) or _is_same_step(item, pause) for item in group)


def _overlap(one: Pause, other: Pause) -> bool:
    shared_ns = min(one.end_ns, other.end_ns) - max(one.start_ns, other.start_ns)
    return shared_ns >= OVERLAP_RATIO * min(one.length_ns, other.length_ns)


def _is_same_step(one: Pause, other: Pause) -> bool:
    difference_ns = abs(one.length_ns - other.length_ns)
    return (
        one.step is not None
        and (one.phase, one.step) == (other.phase, other.step)
        and difference_ns <= SAME_LENGTH_RATIO * max(one.length_ns, other.length_ns)
    )


@kit.row
class _Function:
    node: str = kit.col()
    worker: str = kit.col()
    function: str = kit.col()
    in_pauses_ns: int = kit.col("s", name="in_pauses_s", per=NS_PER_S)
    of_pauses_pct: float = kit.col("%")
    otherwise_pct: float = kit.col("%")


@kit.row
class _Gauge:
    node: str = kit.derived(lambda its: its[0].node)
    worker: str = kit.derived(lambda its: its[0].worker)
    gauge: str = kit.derived(lambda its: its[1])
    inside_pct: float | None = kit.derived(lambda its: its[2].inside_pct, "%")
    outside_pct: float | None = kit.derived(lambda its: its[2].outside_pct, "%")
    samples_inside: int = kit.derived(lambda its: its[2].n_inside)
    samples_outside: int = kit.derived(lambda its: its[2].n_outside)


@kit.row
class _Rate:
    node: str = kit.derived(lambda its: its[0].node)
    worker: str = kit.derived(lambda its: its[0].worker)
    what: str = kit.derived(lambda its: its[1])
    inside: float | None = kit.derived(lambda its: its[2].inside_bytes_per_s, "bytes/s", digits=1)
    outside: float | None = kit.derived(lambda its: its[2].outside_bytes_per_s, "bytes/s", digits=1)


def exhibits_of(pauses: Sequence[JobPause], meanwhile: Sequence[Meanwhile]) -> Iterator[Exhibit]:
    """Yield the table of all pauses, when they were, and what went on meanwhile."""
    every = [pause for group in pauses for pause in group.members]
    if not every:
        return
    yield kit.table(
        "pauses",
        every,
        Pause,
        title="Long pauses",
        caption="""Pauses of training processes that wait for each other have one row each. The loss
            is the time beyond the usual length, as a share of the time from the first to the last
            step of the process.""",
    )
    places = {(pause.node, pause.worker) for pause in every}
    told = [item for item in meanwhile if (item.node, item.worker) in places]
    if functions := [row for item in told for row in _function_rows(item)]:
        yield kit.table(
            "functions",
            functions,
            _Function,
            title="Functions in pauses and otherwise",
            caption="Shares of the time; a function inside another one counts in both.",
        )
    if gauges := [(item, gauge, load) for item in told for gauge, load in item.loads.items()]:
        yield kit.table(
            "inside_outside",
            gauges,
            _Gauge,
            title="How busy the node was inside and outside pauses",
            caption="Means over the samples of the loop; empty if there are no samples.",
        )
    if rates := [(item, what, rate) for item in told for what, rate in item.rates.items()]:
        yield kit.table(
            "rates",
            rates,
            _Rate,
            title="Network and disks inside and outside pauses",
            caption="""Means over the samples. Network is the traffic of the training container and
                of SageMaker's own processes together.""",
        )
    yield kit.intervals(
        [_interval(pause) for pause in every], title="When the job paused", role=Role.WARNING
    )


def _interval(pause: Pause) -> kit.Interval:
    at = "" if pause.step is None else f" {mode_word(pause.phase)} step {pause.step}"
    where = kit.stretch(pause.node, pause.worker, pause.start_ns, pause.end_ns)
    return kit.interval(
        f"pause {'behind' if pause.is_between else 'in'}{at}" if at else "pause", where
    )


def _function_rows(item: Meanwhile) -> Iterator[_Function]:
    found = item.contents
    if found is None or not found.slow_ns:
        return
    largest = sorted(found.in_slow_ns.items(), key=lambda pair: (-pair[1], pair[0]))
    for key, time_ns in largest[:MOST_FUNCTIONS]:
        if time_ns >= LISTED_FROM_RATIO * found.slow_ns:
            yield _Function(
                node=item.node,
                worker=item.worker,
                function=key[0],
                in_pauses_ns=time_ns,
                of_pauses_pct=100 * time_ns / found.slow_ns,
                otherwise_pct=100 * found.in_normal_ns[key] / max(found.normal_ns, 1),
            )
