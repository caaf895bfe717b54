"""What was measured has crossed the threshold that stands beside it, whatever the job is like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reportgen.results import RuleResult
from reportgen.rules.base import AnyRule
from tests.rules.samples import cases, run
from tests.rules.test_wording_laws import NODES, RANKS, job_of, params_of

CEILINGS = frozenset(["BATCH-1", "DL-1", "DL-6"])
"""Findings of too little of something, as the use of GPUs is: it lies below the threshold."""


def contradictions(result: RuleResult) -> Iterator[str]:
    """Yield findings whose measured value has not crossed their threshold."""
    for found in result.findings:
        if found.measured is None or found.threshold is None:
            continue
        is_ceiling = found.id in CEILINGS or "in its working time" in found.unit
        if found.measured > found.threshold if is_ceiling else found.measured < found.threshold:
            yield f"{found.id}: measured {found.measured}, threshold {found.threshold}"


@pytest.mark.parametrize("end", ["default", "least"])
@pytest.mark.parametrize("rule", cases(is_rank=False))
def test_what_was_measured_on_nodes_has_crossed_its_threshold(rule: AnyRule, end: str) -> None:
    params = params_of(rule, end=end)
    for job in NODES:
        result = run(rule, *job_of(job, is_rank=False), params=params)
        assert list(contradictions(result)) == [], job


@pytest.mark.parametrize("rule", cases(is_rank=True))
def test_what_was_measured_on_ranks_has_crossed_its_threshold(rule: AnyRule) -> None:
    for job in RANKS:
        assert list(contradictions(run(rule, *job_of(job, is_rank=True)))) == [], job
