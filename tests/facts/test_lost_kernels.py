"""Launches of CUDA graphs that lack kernels in the recording are found, smaller graphs are not."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.facts.lost_kernels import graph_loss
from reportgen.profile.trace import RankTrace
from reportgen.report import rank_findings
from reportgen.results import Cause, Status
from reportgen.rules import gpu_activity, idle_time, kernel_precision, memory_operations
from tests.builders import known
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run

N_NODES = 10


def graphs(*kept: set[int], more: Any = ()) -> RankTrace:
    """Return launches of a graph of ten kernels of 10 µs, of which some nodes were recorded."""
    gpu: list[Any] = []
    calls: list[Any] = []
    for launch, nodes in enumerate(kept):
        at = 1000.0 * launch
        calls.append(("cudaGraphLaunch", at, 5.0, {"correlation": launch + 1}))
        gpu += [
            (f"k{node}", at + 10 + 10.0 * node, 10.0, {"correlation": launch + 1})
            for node in sorted(nodes)
        ]
    return rank_trace(gpu=[*gpu, *more], calls=calls)


WHOLE = set(range(N_NODES))


def test_whole_launches_lack_nothing() -> None:
    assert graph_loss(graphs(WHOLE, WHOLE, WHOLE)) is None


def test_a_launch_with_fewer_operations_in_the_same_time_lacks_some() -> None:
    loss = known(graph_loss(graphs(WHOLE, WHOLE - {1, 3, 5, 7}, WHOLE)))

    assert (loss.n_launches, loss.n_short, loss.n_missing, loss.n_expected) == (3, 1, 4, 30)


def test_a_launch_without_any_operation_lacks_all() -> None:
    loss = known(graph_loss(graphs(WHOLE, set(), WHOLE)))

    assert (loss.n_short, loss.n_missing) == (1, 10)


def test_a_smaller_graph_that_begins_alike_is_another_graph() -> None:
    assert graph_loss(graphs(WHOLE, set(range(5)), WHOLE, set(range(5)))) is None


def test_holes_between_the_nodes_of_a_launch_are_lost_kernels() -> None:
    loss = known(graph_loss(graphs(*[WHOLE - {3, 4, 5, 6}] * 3)))

    assert (loss.n_missing, loss.hole_ns, loss.span_ns) == (0, 120_000, 300_000)


@pytest.mark.parametrize("n_lost", [0, 1])
def test_lost_kernels_are_told_first_and_void_idle_time_activity_and_precision(n_lost) -> None:
    trace = graphs(WHOLE, WHOLE - {1, 3, 5, 7} if n_lost else WHOLE, WHOLE)
    results = [run(module.RULE, trace) for module in (idle_time, gpu_activity, kernel_precision)]

    assert [result.status is Status.SKIPPED for result in results] == [bool(n_lost)] * 3
    ranked = rank_findings(results)
    if n_lost:
        assert ranked[0].finding.id == "ACT-5"
        assert ranked[0].finding.cause == Cause.NOT_RECORDED
        assert [item.finding.id for item in ranked] == ["ACT-5"]


@pytest.mark.parametrize(("kept", "is_known"), [(WHOLE, True), (WHOLE - {1, 3, 5, 7}, False)])
def test_what_pinning_wins_is_unknown_where_kernels_are_lost(kept, is_known) -> None:
    copy = ("Memcpy HtoD (Pageable -> Device)", 3_000.0, 190.0, {"bytes": 4_000_000})
    result = run(memory_operations.RULE, graphs(WHOLE, kept, WHOLE, more=[copy]))

    assert ("COPY-1" in {item.id for item in result.findings}) is is_known
