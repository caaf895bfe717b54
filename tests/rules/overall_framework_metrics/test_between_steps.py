"""FW-1: work of the script between steps is a warning where it costs the loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.profile import NodeId, NodeProfile
from reportgen.recorded_job import RecordedNode
from reportgen.results import Severity
from reportgen.rules.base import NoParams
from reportgen.rules.overall_framework_metrics import RULE
from reportgen.rules.overall_framework_metrics.tables import Between
from tests.builders import START_S, known, node_profile, span_table, system_table
from tests.rules.framework_jobs import TRAIN, finding, rows_of
from tests.rules.samples import run


def job(work_s: float, *, is_keras: bool = True, use: float | None = None) -> NodeProfile:
    """Return a node whose steps of 0.3 s are each followed by some work.

    Keras waits for the batch in the step, PyTorch before it; ``use`` is that of the GPU.
    """
    rows: list[tuple[Any, ...]] = []
    at_s = START_S
    for step in range(300):
        name = "IteratorGetNextOp::DoCompute" if is_keras else "It::GetNext"
        phase = "DataIterator" if is_keras else "DataLoaderIter"
        rows.append((phase, name, at_s, at_s + 0.01, {}))
        start_s = at_s if is_keras else at_s + 0.01
        rows.append((TRAIN, TRAIN, start_s, start_s + 0.3, {"step": step}))
        at_s = start_s + 0.3 + work_s
    system = None if use is None else system_table({"gpu0": [use] * int(2 * (at_s - START_S))})
    return node_profile(spans=span_table(rows), system=system)


@pytest.mark.parametrize(("work_s", "is_told"), [(0.014, False), (0.015, True), (0.1, True)])
def test_work_between_steps_of_keras_is_told_with_its_share(work_s: float, is_told: bool) -> None:
    result = run(RULE, job(work_s))
    found = finding(result, "FW-1")

    assert (found is not None) == is_told
    if found is not None:
        assert (found.severity, found.cause) == (Severity.WARNING, "work_between_steps")
        assert known(found.estimate).share_ratio == pytest.approx(work_s / (0.3 + work_s), rel=0.01)
        (row,) = rows_of(result, "between_steps")
        assert found.measured == pytest.approx(row["host_work_pct"], abs=1e-3)


@pytest.mark.parametrize("use", [None, 97.0])
def test_what_gpus_work_through_or_nobody_sampled_is_no_work_of_the_script(use) -> None:
    found = finding(run(RULE, job(0.05, is_keras=False, use=use)), "FW-1")

    assert found is None or found.severity is Severity.INFO


@pytest.mark.parametrize(
    ("work_s", "most_pct", "is_told"),
    [(0.15, 100.0, True), (0.06, 100.0, False), (0.15, 160.0, False)],
    ids=["both a quarter", "little between steps", "GPUs nearly fully used"],
)
def test_where_a_fit_cannot_decide_the_effect_is_told(work_s, most_pct, is_told) -> None:
    """A quarter of the time lies between steps, and GPUs leave as much unused, at any time."""
    rng = np.random.default_rng(4)
    plain = job(work_s, is_keras=False)
    n_ticks = int(2 * (plain.spans.end_ns.max() / 1e9 - START_S))
    use = np.minimum(rng.uniform(most_pct - 100, most_pct, n_ticks), 100.0).tolist()
    use[0] = use[-1] = 100.0
    found = finding(run(RULE, replace(plain, system=system_table({"gpu0": use}))), "FW-1")

    assert (found is not None and found.severity is Severity.WARNING) is is_told
    if found is not None and is_told:
        assert found.cause == "lost_gpu_time"


def test_the_worker_that_the_others_wait_for_inside_their_steps_decides() -> None:
    """A third of its time lies between steps, a sixth of that of both."""
    parts = []
    for node, work_s, most_pct in (("algo-1", 0.15, 100.0), ("algo-2", 0.0, 200.0)):
        plain = job(work_s, is_keras=False)
        n_ticks = int(2 * (plain.spans.end_ns.max() / 1e9 - START_S))
        use = np.minimum(np.random.default_rng(4).uniform(most_pct - 100, most_pct, n_ticks), 100)
        use[0] = use[-1] = 100.0
        parts.append(replace(plain, node=NodeId(node), system=system_table({"gpu0": use.tolist()})))
    found = known(finding(run(RULE, *parts), "FW-1"))

    assert (found.severity, found.cause) == (Severity.WARNING, "lost_gpu_time")


def test_no_more_can_be_won_than_the_gpus_leave_unused() -> None:
    rng = np.random.default_rng(4)
    plain = job(0.5, is_keras=False)
    n_ticks = int(2 * (plain.spans.end_ns.max() / 1e9 - START_S))
    use = np.minimum(rng.uniform(20, 120, n_ticks), 100.0).tolist()
    use[0] = use[-1] = 100.0
    found = known(finding(run(RULE, replace(plain, system=system_table({"gpu0": use}))), "FW-1"))
    assert found.cause == "lost_gpu_time"
    assert found.measured is not None
    assert found.measured > 60
    assert known(found.estimate).share_ratio == pytest.approx(1 - np.mean(use) / 100, abs=0.01)


@pytest.mark.parametrize(("use", "most_ratio"), [(97.0, 0.0), (80.0, 0.2)])
def test_a_host_that_is_steps_ahead_of_the_gpus_costs_at_most_what_they_leave_unused(
    use: float, most_ratio: float
) -> None:
    found = finding(run(RULE, job(0.3, use=use)), "FW-1")

    is_told = found is not None and found.severity is Severity.WARNING
    assert is_told is (most_ratio > 0)
    if found is not None and is_told:
        assert known(found.estimate).share_ratio == pytest.approx(most_ratio, abs=0.01)


@pytest.mark.parametrize(("gap_s", "is_effect"), [(0.09, False), (0.2, True)])
@pytest.mark.parametrize("is_sampled", [True, False])
def test_where_steps_were_recorded_but_not_one_wait_the_time_between_them_is_no_work(
    gap_s, is_effect, is_sampled
) -> None:
    """Not recorded is not zero: what lies between may be waiting, or the optimizer."""
    part = job(gap_s, is_keras=False)
    cores = system_table({"cpu0": [50.0] * 200}) if is_sampled else part.system
    found = finding(run(RULE, replace(part, spans=part.spans.steps(), system=cores)), "FW-1")

    told = None if found is None else (found.severity, found.cause)
    effect = (Severity.WARNING, "host_bound")
    reading = (Severity.INFO, "work_between_steps")
    assert told == ((effect if is_sampled else reading) if is_effect else None)


@pytest.mark.parametrize(("known_s", "host_ratio"), [(0.0, 0.2), (10.0, 0.15), (40.0, 0.0)])
def test_gpus_that_wait_for_copies_and_growing_work_do_not_wait_for_the_script(known_s, host_ratio):
    # GPUs idle in half of what lies between steps; of it, what has another cause goes first.
    between = Between(
        worker="algo-1-27",
        n_steps=100,
        regular_ns=40e9,
        copied_ns=known_s / 2 * 1e9,
        grown_ns=known_s / 2 * 1e9,
        idle_ratio=0.5,
        idle_at_most_ratio=0.5,
        loop_ns=100_000_000_000,
        is_waiting_known=True,
    )

    assert between.host_ratio == between.seen_ratio == pytest.approx(host_ratio)


@pytest.mark.parametrize(("at_most_ratio", "open_ratio"), [(0.5, 0.2), (1.0, 0.3)])
def test_copies_for_which_gpus_may_not_wait_are_no_known_cause(at_most_ratio, open_ratio) -> None:
    """They are taken out of the time between steps only where a fit decides."""
    between = Between(
        worker="algo-1-27",
        n_steps=100,
        regular_ns=20e9,
        copied_ns=10e9,
        idle_ratio=0.5,
        idle_at_most_ratio=at_most_ratio,
        loop_ns=100_000_000_000,
        is_waiting_known=True,
    )

    assert between.open_ratio == pytest.approx(open_ratio)


def recorded_job(batch_s: float, *, between_s: float = 0.0, loader: bool = True) -> NodeProfile:
    """Return a node without GPUs, recorded by us: work with each batch, and behind each step."""
    rows: list[tuple[Any, ...]] = []
    at_s = START_S
    for step in range(300):
        if loader:
            rows.append(("DataLoaderIter", "It::GetNext", at_s - 0.001, at_s, {}))
        end_s = at_s + batch_s + 0.3
        rows.append((TRAIN, TRAIN, at_s, end_s, {"step": step}))
        rows.append(("Forward", "Net", at_s + batch_s, at_s + batch_s + 0.1, {}))
        rows.append(("Optimizer", "SGD.step", at_s + batch_s + 0.1, end_s, {}))
        at_s = end_s + between_s + 0.001
    return replace(node_profile(spans=span_table(rows)), recorded=RecordedNode(node="node-1"))


@pytest.mark.parametrize(("batch_s", "is_told"), [(0.014, False), (0.0145, True)])
def test_work_in_steps_beside_the_passes_is_told_as_that_between_them(batch_s, is_told) -> None:
    found = finding(run(RULE, recorded_job(batch_s)), "FW-1")

    assert (found is not None) is is_told
    if found is not None:
        assert (found.severity, found.cause) == (Severity.WARNING, "work_between_steps")
        assert found.title.startswith("Work of the script beside the passes")
        assert found.measured == pytest.approx(100 * batch_s / (0.301 + batch_s), rel=0.01)


@pytest.mark.parametrize(("may_use_closures", "is_told"), [(True, True), (False, False)])
def test_an_optimizer_that_runs_the_passes_shows_what_else_a_step_holds(may_use_closures, is_told):
    part = recorded_job(0.1)
    rows = part.spans.where(~part.spans.in_phases(["Forward"]))
    node = RecordedNode(node="node-1", may_use_closures=may_use_closures)
    found = finding(run(RULE, replace(part, spans=rows, recorded=node)), "FW-1")

    assert (found is not None) is is_told
    if found is not None:
        # The pass of 0.1 s is not seen either.
        assert "the script works for 200 ms (median)" in found.text


def test_on_cores_alone_what_lies_between_recorded_steps_is_work_of_the_script() -> None:
    found = known(finding(run(RULE, recorded_job(0.0, between_s=0.1)), "FW-1"))
    assert (found.severity, found.cause) == (Severity.WARNING, "work_between_steps")
    assert found.measured == pytest.approx(100 * 0.1 / 0.401, rel=0.01)


def test_without_waits_it_may_be_that_or_loading() -> None:
    found = known(finding(run(RULE, recorded_job(0.0, between_s=0.2, loader=False)), "FW-1"))
    assert (found.severity, found.cause) == (Severity.WARNING, "host_bound")


@pytest.mark.parametrize(
    ("copied_ratio", "cause"), [(0.4, "work_between_steps"), (0.6, "lost_gpu_time")]
)
def test_where_pinning_is_unknown_what_follows_a_batch_may_be_its_copy(copied_ratio, cause) -> None:
    between = Between(
        worker="algo-1-27",
        n_steps=100,
        regular_ns=40e9,
        maybe_copied_ns=copied_ratio * 40e9,
        idle_ratio=1.0,
        loop_ns=100_000_000_000,
        is_waiting_known=True,
    )
    params = NoParams()
    outcome = RULE.judge([replace(RULE.measure(job(0.01), params), between=(between,))], params)

    (found,) = (item for item in outcome.findings if item and item.id == "FW-1")
    assert found.cause == cause
