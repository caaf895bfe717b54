"""Every sentence of every rule is written as the house writes, whatever the job is like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from reportgen.profile import NodeProfile
from reportgen.rules.base import AnyRule, Part, param_specs
from reportgen.rules.settings import checked_value
from tests.builders import START_S, node_profile, span_table, system_table
from tests.rules.framework_jobs import node, step_rows
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import busy_node, busy_trace, cases, nodes, python_table, ranks, run
from tests.rules.wording import flaws_in, flaws_of

TRAIN = "Step:ModeKeys.TRAIN"
SLOW = (17, 60, 111, 260)
Jobs = Mapping[str, Callable[[], tuple[Part, ...]]]


def columns(n_ticks: int, *, gpus: int, cores: int, level: float) -> dict[str, list[float]]:
    """Return the series of a node that never changes."""
    found = {f"gpu{gpu}": [level] * n_ticks for gpu in range(gpus)}
    found |= {f"gpu{gpu}_memory": [level] * n_ticks for gpu in range(gpus)}
    found |= {f"cpu{core}": [100.0 - level] * n_ticks for core in range(cores)}
    found |= {f"cpu{core}_iowait": [100.0 - level] * n_ticks for core in range(cores)}
    return found | {"memory": [level] * n_ticks, "receive": [1e15] * n_ticks}


def steady(
    n_ticks: int, *, gpus: int = 1, cores: int = 1, level: float = 0.0, name: str = "algo-1"
) -> NodeProfile:
    system = system_table(columns(n_ticks, gpus=gpus, cores=cores, level=level))
    return node_profile(system=system, spans=steps_of(min(n_ticks, 300), name), node=name)


def steps_of(n_steps: int, name: str = "algo-1", *, length_s: float = 0.4) -> Any:
    """Return a step and a wait for its batch every half a second; each 20th step is slow."""
    rows: list[tuple[Any, ...]] = []
    for step in range(n_steps):
        begin = START_S + step / 2
        end = begin + length_s * (3 if step % 20 == 0 else 1) / 3
        args = {"step": step, "os_pid": 27}
        rows.append((TRAIN, TRAIN, begin, end, args))
        rows.append(("Forward", "Net", begin, begin, args))
        rows.append(("DataLoaderIter", "It::GetNext", end, begin + 0.45, {"os_pid": 70}))
        rows.append(("cpu_functions", "aten::add", begin, end, args))
    return span_table(rows, worker=f"{name}-27")


def absent(n_ticks: int) -> NodeProfile:
    """Return a node whose samples are all absent but for one of each series."""
    series: dict[str, list[float | None]] = {
        name: [None] * (n_ticks - 1) + [5.0]
        for name in ("gpu0", "gpu0_memory", "cpu0", "cpu0_iowait", "memory", "receive")
    }
    return node_profile(series)


def one_moment() -> NodeProfile:
    """Return a node with one event of no length and one tick."""
    row = (TRAIN, TRAIN, START_S, START_S, {"step": 0})
    return node_profile(columns(1, gpus=1, cores=1, level=0.0), rows=[row])


def cluster(n_nodes: int) -> tuple[NodeProfile, ...]:
    return tuple(
        steady(60, gpus=2, cores=2, level=30.0 * (index % 3), name=f"algo-{index + 1}")
        for index in range(n_nodes)
    )


def half_used() -> NodeProfile:
    """Return a node of which one GPU works hard, one a little, and two never."""
    series = columns(1200, gpus=4, cores=4, level=0.0)
    series["gpu0"] = [95.0, 0.0] * 600
    series["gpu1"] = [40.0] * 1200
    return node_profile(series)


def stopped(*, late: bool) -> NodeProfile:
    """Return a node of which one GPU works in a sixth of the time only."""
    series = columns(1200, gpus=2, cores=2, level=95.0)
    worked = [95.0] * 200 + [0.0] * 1000
    series["gpu1"] = worked[::-1] if late else worked
    return node_profile(series)


NODES: Jobs = {
    "a GPU that stops": lambda: (stopped(late=False),),
    "a GPU that begins late": lambda: (stopped(late=True),),
    "busy": lambda: (busy_node(),),
    "two busy": nodes,
    "one tick": lambda: (steady(1),),
    "two ticks": lambda: (steady(2),),
    "eleven ticks": lambda: (steady(11),),
    "idle": lambda: (steady(1300, cores=4),),
    "full": lambda: (steady(1300, gpus=8, cores=2, level=100.0),),
    "without GPU": lambda: (steady(1300, gpus=0, cores=2, level=5.0),),
    "without cores": lambda: (steady(1300, cores=0),),
    "absent": lambda: (absent(1300),),
    "one moment": lambda: (one_moment(),),
    "one step": lambda: (node_profile(spans=steps_of(1)),),
    "two steps": lambda: (node_profile(spans=steps_of(2)),),
    "a few slow steps": lambda: (node(step_rows([0.1 + 8.9 * (n in SLOW) for n in range(300)])),),
    "steps of a nanosecond": lambda: (node_profile(spans=steps_of(200, length_s=1e-6)),),
    "twelve nodes": lambda: cluster(12),
    "half used": lambda: (half_used(),),
    "one Python profile": lambda: (node_profile(python=python_table("algo-1-27")),),
}


def huge_trace() -> Part:
    """Return a rank whose numbers are near the end of what fits."""
    day_us = 86_400e6
    return rank_trace(
        gpu=[
            ("Memcpy DtoH (Device -> Pageable)", 0.0, day_us, {"bytes": 2**62, "correlation": 1}),
            ("ampere_sgemm_128x64_nn", 2 * day_us, day_us, {"correlation": 2}),
        ],
        calls=[
            ("cudaMemcpyAsync", 0.0, day_us, {"correlation": 1}),
            ("cudaLaunchKernel", day_us, 1.0, {"correlation": 2}),
        ],
        slices=[("aten::mm", day_us, 5.0)],
        steps=[(number, number * day_us, day_us) for number in range(3)],
        memory=[
            {"time": number * day_us, "change": 2**50, "allocated": 2**50 * (number + 1)}
            for number in range(3)
        ],
    )


def uneven_steps() -> Part:
    """Return a rank of which one step takes three times as long as the others."""
    starts = [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 900.0]
    lengths = [100.0, 100.0, 100.0, 100.0, 100.0, 400.0, 100.0]
    steps = [
        (number, start, length)
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]
    return rank_trace(gpu=[("k", start + 5, 1.0) for start in starts], steps=steps)


RANKS: Jobs = {
    "busy": lambda: (busy_trace(),),
    "two busy": ranks,
    "one kernel": lambda: (rank_trace(gpu=[("k", 5.0, 0.0)]),),
    "one operator": lambda: (rank_trace(slices=[("aten::mm", 0.0, 5.0)]),),
    "one step": lambda: (rank_trace(gpu=[("k", 1.0, 2.0)], steps=[(1, 0.0, 9.0)]),),
    "one slow step": lambda: (uneven_steps(),),
    "huge": lambda: (huge_trace(),),
    "sixteen ranks": lambda: tuple(busy_trace(rank, late_us=10.0 * rank) for rank in range(16)),
}


@cache
def job_of(name: str, *, is_rank: bool) -> tuple[Part, ...]:
    """Return a job, made once: no rule changes what it is given."""
    return (RANKS if is_rank else NODES)[name]()


def params_of(rule: AnyRule, *, end: str) -> Any:
    """Return a rule's parameters: the defaults, or all at the least or most that they may be."""
    chosen = {}
    for spec in param_specs(rule.params):
        limit = {"least": spec.minimum, "most": spec.maximum}.get(end)
        if limit is not None and isinstance(spec.default, int | float):
            value = max(limit, 1) if end == "least" else limit
            chosen[spec.name] = checked_value(spec.name, spec, value)
    return rule.params(**chosen)


@pytest.mark.parametrize("end", ["default", "least", "most"])
@pytest.mark.parametrize(
    ("rule", "job", "is_rank"),
    [
        pytest.param(*case.values, job, is_rank, id=f"{case.id}-{job}")
        for is_rank, jobs in ((False, NODES), (True, RANKS))
        for case in cases(is_rank=is_rank)
        for job in jobs
    ],
)
def test_every_sentence_is_well_written(rule: AnyRule, job: str, is_rank: bool, end: str) -> None:
    result = run(rule, *job_of(job, is_rank=is_rank), params=params_of(rule, end=end))

    assert result.status.value != "failed", result.reason
    assert flaws_in(result) == []


@pytest.mark.parametrize(
    "text",
    [
        "It took 1 steps.",
        "It has 12 node.",
        "The mean is nan.",
        "It grew by -0.0 %.",
        "It waits {share}.",
        "It waits  long.",
        "It waits 5% of it.",
        "It took 1.2345 s.",
        "It read 12345 events.",
        "It is 140.0 % of the loop.",
        "It waits",
    ],
)
def test_a_bad_sentence_is_seen(text: str) -> None:
    assert flaws_of(text)


def test_a_good_sentence_is_left_alone() -> None:
    good = "In 1 of 2 judged minutes gpu1 on algo-1 was 99.9 % busy; 1,250 ticks, step 12345."
    assert flaws_of(good) == []
