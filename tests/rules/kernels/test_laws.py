"""The laws that only rules over kernel traces have; see ``tests/rules/test_family.py``."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from reportgen.results import Status
from reportgen.results.codec import encode
from reportgen.rules import (
    collectives,
    gpu_activity,
    gpu_time_budget,
    kernel_precision,
    kernel_time,
    launch_latency,
)
from reportgen.rules.base import AnyRule
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import assert_finite, busy_trace, cases, column, illegal, ranks, run

TABLES = ("gpu_ops", "calls", "slices", "steps", "memory", "collectives", "syncs", "flows")

every_rule = pytest.mark.parametrize("rule", cases(is_rank=True))


@every_rule
def test_one_kernel_without_a_launch_breaks_nothing(rule: AnyRule) -> None:
    result = run(rule, rank_trace(gpu=[("k", 5.0, 0.0)]))

    assert result.status is not Status.FAILED, result.reason
    assert_finite(json.loads(encode(result), parse_constant=illegal))


@every_rule
def test_a_host_without_gpu_work_breaks_nothing(rule: AnyRule) -> None:
    trace = rank_trace(slices=[("aten::mm", 0.0, 5.0)], steps=[(1, 0.0, 9.0)])

    assert run(rule, trace).status is not Status.FAILED


@every_rule
def test_a_busy_pair_of_ranks_is_judged(rule: AnyRule) -> None:
    assert run(rule, *ranks()).status in (Status.OK, Status.TRIGGERED)


@every_rule
def test_the_input_stays_as_it_was(rule: AnyRule) -> None:
    part = busy_trace()
    before = pickle.dumps(part)

    run(rule, part)

    assert pickle.dumps(part) == before


@every_rule
def test_codes_of_names_do_not_matter(rule: AnyRule) -> None:
    part = busy_trace()
    n_names = len(part.names)
    renamed: dict[str, Any] = {"names": tuple(reversed(part.names))}
    for table in ("gpu_ops", "calls", "slices"):
        columns = getattr(part, table)
        renamed[table] = replace(columns, name=(n_names - 1 - columns.name).astype(np.int32))

    assert encode(run(rule, replace(part, **renamed))) == encode(run(rule, part))


def test_every_table_of_the_built_trace_has_equal_columns() -> None:
    for table in TABLES:
        columns = getattr(busy_trace(), table)
        assert len({len(getattr(columns, item.name)) for item in fields(columns)}) == 1


@pytest.mark.parametrize("rule", [kernel_time.RULE, launch_latency.RULE])
def test_how_many_are_shown_can_be_set(rule: AnyRule) -> None:
    assert rule.params().top == 15


def test_names_of_ones_own_are_communication_in_every_rule() -> None:
    gpu = [("my_Exchange<float>", 0.0, 10.0), ("volta_sgemm_64x64_nt", 20.0, 10.0)]
    trace = rank_trace(gpu=gpu)
    own = "^MY_exchange"

    activity = run(
        gpu_activity.RULE, trace, params=gpu_activity.RULE.params(communication_names=own)
    )
    assert column(activity, "activity_by_device", "communication_us") == [10.0]
    times = run(kernel_time.RULE, trace, params=kernel_time.RULE.params(communication_names=own))
    assert column(times, "kernels", "category") == ["communication", "compute"]
    precision = run(
        kernel_precision.RULE, trace, params=kernel_precision.RULE.params(communication_names=own)
    )
    assert column(precision, "precision_shares", "time_us") == [10.0]
    alone = run(collectives.RULE, trace, params=collectives.RULE.params(communication_names=own))
    assert alone.status is Status.OK
    budget = run(
        gpu_time_budget.RULE, trace, params=gpu_time_budget.RULE.params(communication_names=own)
    )
    assert "exposed_communication" in column(budget, "gpu_time_budget", "part")
    assert run(collectives.RULE, trace).status is Status.SKIPPED
