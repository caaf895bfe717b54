"""FW-1: work of the script between steps is a warning where it costs the loop."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Severity
from reportgen.rules.overall_framework_metrics import RULE
from tests.builders import START_S, node_profile, span_table, system_table
from tests.rules.framework_jobs import TRAIN, finding, rows_of, run


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


@pytest.mark.parametrize(("work_s", "is_told"), [(0.009, False), (0.0095, True), (0.1, True)])
def test_work_between_steps_of_keras_is_told_with_its_share(work_s: float, is_told: bool) -> None:
    result = run(RULE, job(work_s))
    found = finding(result, "FW-1")

    assert (found is not None) == is_told
    if found is not None:
        assert (found.severity, found.cause) == (Severity.WARNING, "work_between_steps")
        assert found.estimate is not None
        assert found.estimate.share_ratio == pytest.approx(work_s / (0.3 + work_s), rel=0.01)
        (row,) = rows_of(result, "between_steps")
        assert found.measured == pytest.approx(row["host_work_pct"], abs=1e-3)


@pytest.mark.parametrize("use", [None, 97.0])
def test_what_gpus_work_through_or_nobody_sampled_is_no_work_of_the_script(
    use: float | None,
) -> None:
    found = finding(run(RULE, job(0.05, is_keras=False, use=use)), "FW-1")

    assert found is None or found.severity is Severity.INFO
