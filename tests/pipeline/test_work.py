"""Nodes and ranks in one job: each rule sees the parts that it can read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reportgen.intake import discover
from reportgen.pipeline.work import work_on
from reportgen.profile import JobProfile
from reportgen.results import RuleId
from reportgen.rules.base import AnyRule, Need, Part
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, rules_for
from reportgen.rules.settings import resolve_params
from tests.builders import write_system
from tests.traces import ranked, write_trace

SYSTEM = next(rule for rule in BUILTIN_RULES if rule.needs == (Need.SYSTEM,))


def of_kind(name: str, *needs: Need) -> AnyRule:
    """A rule that measures the name of the part."""

    def measure(part: Part, _: object) -> str:
        return str(part.node)

    return replace(SYSTEM, id=RuleId(name), needs=needs, measure=measure)


RULES = (
    of_kind("OfNodes", Need.SYSTEM, Need.FRAMEWORK),
    of_kind("OfRanks", Need.KERNELS),
    of_kind("OfBoth", Need.SYSTEM, Need.KERNELS),
)
PARAMS = {rule.id: SYSTEM.params() for rule in RULES}


@pytest.fixture
def mixed(tmp_path: Path) -> JobProfile:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    for rank in range(2):
        write_trace(tmp_path / f"rank{rank}.json", ranked(rank))
    return discover(str(tmp_path))


def test_rules_of_one_kind_never_see_the_other(mixed: JobProfile) -> None:
    measured = [work_on(part, rules=RULES, params=PARAMS) for part in mixed.parts]

    assert [part.measurements for part in measured] == [
        {"OfNodes": "algo-1", "OfBoth": "algo-1"},
        {"OfRanks": "rank 0", "OfBoth": "rank 0"},
        {"OfRanks": "rank 1", "OfBoth": "rank 1"},
    ]


def test_the_memory_at_the_end_is_that_of_the_last_sample_with_one(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20, "memory": [90.0] * 10 + [30.0] * 5})
    (part,) = discover(str(tmp_path)).parts
    extent = work_on(part, rules=RULES, params=PARAMS).extent
    assert (extent.last_host_memory_pct, extent.last_gpu_memory_pct) == (30.0, None)


def test_the_rules_of_samples_judge_a_mixed_job_as_if_it_had_no_traces(mixed: JobProfile) -> None:
    rules = [rule for rule in BUILTIN_RULES if Need.KERNELS not in rule.needs]
    params = resolve_params(BUILTIN_RULES, {})
    measured = [work_on(part, rules=rules, params=params).measurements for part in mixed.parts]

    assert judge_all(measured, rules, params) == judge_all(measured[:1], rules, params)


def test_a_job_is_looked_at_by_the_rules_that_can(mixed: JobProfile) -> None:
    nodes = replace(mixed, parts=mixed.parts[:1])
    ranks = replace(mixed, parts=mixed.parts[1:])

    assert [rule.id for rule in rules_for(nodes, RULES)] == ["OfNodes", "OfBoth"]
    assert [rule.id for rule in rules_for(ranks, RULES)] == ["OfRanks", "OfBoth"]
    assert rules_for(mixed, RULES) == RULES
