"""The laws that every built-in rule obeys, whatever it reads."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.profile import SystemTable
from reportgen.profile.column_file import ColumnFile, Columns
from reportgen.profile.spans import ARRAY_COLUMNS
from reportgen.results import ExhibitKind, Status
from reportgen.results.codec import decode, encode
from reportgen.rules.base import AnyRule, Part, param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge
from reportgen.rules.settings import checked_value
from tests.builders import known, node_profile, values_of
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import assert_finite, busy_node, cases, illegal, nodes, ranks, run

MAX_SERIES_POINTS = 2_000
EMPTY_DETAILS: dict[str, Any] = {
    "BatchSize": {},
    "CPUBottleneck": {"low_gpu_utilization": 0, "bottlenecks": {}},
    "Dataloader": {},
    "GPUMemoryIncrease": {},
    "IOBottleneck": {"low_gpu_utilization": 0, "bottlenecks": {}},
    "GPUTimeBudget": {},
    "LoadBalancing": {},
    "LongPause": {},
    "LowGPUUtilization": {},
    "NetworkBottleneck": {},
    "OverallFrameworkMetrics": {"ratio": {}, "phase": {}, "phase_time": {}},
    "StepOutlier": {"step_details": {}},
    "StepPeriodicity": {},
}
DEFAULT_PARAMETERS = {
    "BatchSize": (
        "cpu_threshold_p95:70\ngpu_threshold_p95:70\ngpu_memory_threshold_p95:70\n"
        "patience:1000\nwindow:500"
    ),
    "CPUBottleneck": "threshold:50\ncpu_threshold:90\ngpu_threshold:10\npatience:1000",
    "Dataloader": "min_threshold:70\nmax_threshold:200",
    "GPUMemoryIncrease": "increase:5\npatience:1000\nwindow:10",
    "GPUTimeBudget": "",
    "HorovodNegotiation": "",
    "IOBottleneck": "threshold:50\nio_threshold:50\ngpu_threshold:10\npatience:1000",
    "LoadBalancing": "threshold:0.2\npatience:1000",
    "LongPause": "threshold_pct:4.5\nmin_share_pct:0.5\nmin_steps:20\nmin_samples:100",
    "LowGPUUtilization": "threshold_p95:70\nthreshold_p5:10\nwindow:500\npatience:1000",
    "MaxInitializationTime": "threshold:20",
    "NetworkBottleneck": "gpu_threshold:10\nnetwork_threshold:90\nlimit_bytes_per_s:None",
    "OverallFrameworkMetrics": "",
    "OverallSystemUsage": "",
    "PythonFunctions": "min_share_pct:10",
    "StepOutlier": "threshold:3\nmode:None\nn_outliers:10\nstddev:3",
    "StepPeriodicity": "min_share_pct:0.5\nmin_steps:20",
}

every_node_rule = pytest.mark.parametrize("rule", cases(is_rank=False))
every_case = pytest.mark.parametrize(
    ("rule", "is_rank"),
    [
        pytest.param(*case.values, is_rank, id=f"{case.id}, {'ranks' if is_rank else 'nodes'}")
        for is_rank in (False, True)
        for case in cases(is_rank=is_rank)
    ],
)


def parts_of(*, is_rank: bool) -> tuple[Part, ...]:
    """Return two busy parts of the kind that a rule reads."""
    return ranks() if is_rank else nodes()


def empty_parts(*, is_rank: bool) -> tuple[Part, ...]:
    """Return one part in which nothing happened."""
    return (rank_trace(),) if is_rank else (node_profile(),)


@every_case
def test_an_empty_job_is_skipped_with_a_reason(rule: AnyRule, is_rank: bool) -> None:
    for parts in ((), empty_parts(is_rank=is_rank)):
        result = run(rule, *parts)

        assert result.status is Status.SKIPPED
        assert known(result.reason).text
        assert result.findings == ()
        assert result.counters.rule_triggered == result.counters.violations == 0
        if is_rank:
            assert result.details == {}
        elif rule.id in EMPTY_DETAILS:
            assert result.details == EMPTY_DETAILS[rule.id]


@every_node_rule
def test_parameters_are_printed_as_aws_prints_them(rule: AnyRule) -> None:
    printed = run(rule).rule_parameters

    assert printed == rule.describe_params(rule.params())
    if rule.about.has_counters or rule.id in DEFAULT_PARAMETERS:
        assert printed == DEFAULT_PARAMETERS[rule.id]


@pytest.mark.parametrize("rule", BUILTIN_RULES, ids=lambda rule: str(rule.id))
def test_every_parameter_has_a_meaning_a_source_and_a_valid_default(rule: AnyRule) -> None:
    for spec in param_specs(rule.params):
        assert spec.meaning
        assert spec.source
        assert checked_value(spec.name, spec, spec.default) == spec.default


@every_node_rule
def test_the_input_stays_as_it_was(rule: AnyRule) -> None:
    part = busy_node()
    values = values_of(part.system)
    columns = {name: getattr(part.spans, name).copy() for name in ARRAY_COLUMNS}

    run(rule, part)

    np.testing.assert_array_equal(values_of(part.system), values)
    for name, before in columns.items():
        np.testing.assert_array_equal(getattr(part.spans, name), before)


@every_case
def test_equal_input_gives_equal_bytes(rule: AnyRule, is_rank: bool) -> None:
    first = encode(run(rule, *parts_of(is_rank=is_rank)))
    assert first == encode(run(rule, *parts_of(is_rank=is_rank)))


@every_node_rule
def test_the_order_of_columns_does_not_matter(rule: AnyRule) -> None:
    part = busy_node()
    order = list(range(len(part.system.series)))[::-1]
    shuffled: SystemTable = replace(
        part.system,
        series=tuple(part.system.series[index] for index in order),
        columns=[part.system.columns[index] for index in order],
    )

    assert encode(run(rule, replace(part, system=shuffled))) == encode(run(rule, part))


@every_node_rule
def test_samples_in_a_file_give_what_samples_in_memory_do(rule: AnyRule) -> None:
    part = busy_node()
    columns, n_ticks = part.system.columns, part.system.n_ticks
    file = ColumnFile(large_bytes=1)
    stretches = [
        file.keep(lambda place, rows=rows: columns[place][rows], n_columns=len(columns), n_rows=n)  # type: ignore[misc]  # bound at once
        for rows, n in ((slice(0, 7), 7), (slice(7, None), n_ticks - 7))
    ]
    stored = Columns(stretches=tuple(stretches), places=tuple(range(len(columns))))

    assert encode(run(rule, replace(part, system=replace(part.system, columns=stored)))) == encode(
        run(rule, part)
    )


@every_case
def test_a_result_survives_json_and_holds_no_illegal_number(rule: AnyRule, is_rank: bool) -> None:
    result = run(rule, *parts_of(is_rank=is_rank))
    raw = encode(result)

    assert result.status is not Status.FAILED, result.reason
    assert encode(decode(raw, path="x.json")) == raw
    assert_finite(json.loads(raw, parse_constant=illegal))
    assert_finite([list(column.values) for item in result.exhibits for column in item.columns])
    assert_finite(list(result.metrics.values()))
    assert_finite(result.details)


@every_case
def test_a_measurement_can_travel(rule: AnyRule, is_rank: bool) -> None:
    params = rule.params()
    measurement = rule.measure(parts_of(is_rank=is_rank)[0], params)
    again = pickle.loads(pickle.dumps(measurement))

    assert encode(judge(rule, [again], params)) == encode(judge(rule, [measurement], params))


@every_case
def test_exhibits_are_unique_bounded_and_named_by_their_findings(rule: AnyRule, is_rank: bool):
    result = run(rule, *parts_of(is_rank=is_rank))
    ids = [item.id for item in result.exhibits]

    assert len(set(ids)) == len(ids)
    for item in result.exhibits:
        assert item.title
        if item.kind in (ExhibitKind.SERIES, ExhibitKind.BAND):
            assert item.n_rows * max(1, (len(item.columns) - 1) // 3) <= MAX_SERIES_POINTS * 16
            assert item.n_rows <= MAX_SERIES_POINTS
            assert item.columns[0].name == "time_s"
    for finding in result.findings:
        assert finding.exhibit is None or finding.exhibit in ids
        assert finding.title
        assert finding.text
        assert finding.advice


@every_case
def test_percentages_of_shares_add_up_to_a_hundred(rule: AnyRule, is_rank: bool) -> None:
    for item in run(rule, *parts_of(is_rank=is_rank)).exhibits:
        if item.kind is ExhibitKind.SHARES and item.n_rows:
            pct = next(column for column in item.columns if column.name == "pct")
            total = sum(value for value in pct.values if isinstance(value, int | float))
            assert math.isclose(total, 100.0, abs_tol=1e-6)
