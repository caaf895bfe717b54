"""The laws that every built-in rule obeys."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from reportgen.profile import (
    NodeProfile,
    ProfileInterval,
    ProfileMoment,
    PythonFunction,
    PythonProfile,
    PythonTable,
    SystemTable,
)
from reportgen.profile.spans import ARRAY_COLUMNS
from reportgen.results import ExhibitKind, RuleResult, Status
from reportgen.results.codec import decode, encode
from reportgen.rules.base import Rule, param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part, reads
from tests.builders import START_S, node_profile, span_table, system_table

MAX_SERIES_POINTS = 2_000
EMPTY_DETAILS: dict[str, Any] = {
    "BatchSize": {},
    "CPUBottleneck": {"low_gpu_utilization": 0, "bottlenecks": {}},
    "Dataloader": {},
    "GPUMemoryIncrease": {},
    "IOBottleneck": {"low_gpu_utilization": 0, "bottlenecks": {}},
    "GPUTimeBudget": {},
    "LoadBalancing": {},
    "LowGPUUtilization": {},
    "NetworkBottleneck": {"limit_bytes_per_s": {}, "limit_source": "own_p99", "episodes": {}},
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
    "HorovodNegotiation": "fair_factor:2\nmin_held_up_pct:1\nmin_negotiations:20",
    "IOBottleneck": "threshold:50\nio_threshold:50\ngpu_threshold:10\npatience:1000",
    "LoadBalancing": "threshold:0.2\npatience:1000",
    "LowGPUUtilization": "threshold_p95:70\nthreshold_p5:10\nwindow:500\npatience:1000",
    "MaxInitializationTime": "threshold:20",
    "NetworkBottleneck": (
        "gpu_threshold:10\nnetwork_threshold:90\nlimit_bytes_per_s:None\n"
        "floor_bytes_per_s:10000000\nmin_duration_s:30\npatience:1000"
    ),
    "OverallFrameworkMetrics": "",
    "OverallSystemUsage": "",
    "PythonFunctions": "min_share_pct:10",
    "StepOutlier": "threshold:3\nmode:None\nn_outliers:10\nstddev:3",
    "StepPeriodicity": "min_share_pct:0.5\nmin_steps:20",
}

NODE_RULES = tuple(rule for rule in BUILTIN_RULES if reads(rule, is_rank=False))
"""Those that read kernel traces obey the same laws in ``kernels/test_laws.py``."""

every_rule = pytest.mark.parametrize("rule", NODE_RULES, ids=lambda rule: str(rule.id))


def busy_node(node: str = "algo-1", *, seed: int = 1) -> NodeProfile:
    """A node that makes most rules speak: GPU idle while a core is hot, slow steps, waits."""
    rng = np.random.default_rng(seed)
    n_ticks = 1300
    hot = np.arange(n_ticks) % 10 < 7
    columns = {
        "gpu0": np.where(hot, 0.0, 95.0),
        "gpu0_memory": np.where(np.arange(n_ticks) > 700, 70.0, 20.0),
        "gpu1": rng.integers(20, 40, n_ticks).astype(float),
        "gpu1_memory": rng.integers(10, 15, n_ticks).astype(float),
        "cpu0": np.where(hot, 99.0, 20.0),
        "cpu0_iowait": np.where(hot, 60.0, 0.0),
        "cpu1": rng.integers(5, 20, n_ticks).astype(float),
        "cpu1_iowait": np.zeros(n_ticks),
        "memory": np.linspace(10, 30, n_ticks),
        "receive": rng.integers(0, 10_000, n_ticks).astype(float),
        "transmit": rng.integers(0, 10_000, n_ticks).astype(float),
    }
    rows: list[tuple[Any, ...]] = []
    for step in range(300):
        begin = START_S + 40 + 2 * step
        length = 1.9 if step % 20 == 0 else 0.5
        args = {"step": step, "os_pid": 27}
        rows.append(("Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN", begin, begin + length, args))
        rows.append(("Forward", "Net", begin, begin + length / 2, args))
        rows.append(("DataLoaderIter", "It::GetNext", begin - 0.05, begin, {"os_pid": 70}))
        rows.append(("cpu_functions", "aten::conv2d", begin, begin + 0.2, args))
    system = system_table({name: values.tolist() for name, values in columns.items()})
    spans = span_table(rows, worker=f"{node}-27")
    return node_profile(system=system, spans=spans, python=python_table(f"{node}-27"), node=node)


def python_table(worker: str) -> PythonTable:
    """Two profiles of one worker: its start, and a step in which printing takes most time."""
    ends = [
        ProfileMoment(mode=mode, step=step, phase="stepstart", time_us=round(time_s * 1e6))
        for mode, step, time_s in (
            ("prestepzero", None, START_S),
            ("train", 0, START_S + 40),
            ("train", 1, START_S + 42),
        )
    ]
    names = ("main", "<built-in method builtins.print>", "step")
    return PythonTable(
        profiles=tuple(
            PythonProfile(
                worker=worker,
                profiler="cprofile",
                interval=ProfileInterval(start=start, end=end),
            )
            for start, end in pairwise(ends)
        ),
        functions=tuple(
            PythonFunction(file="train.py", line=line, name=name) for line, name in enumerate(names)
        ),
        profile=np.array([0, 1, 1], dtype=np.int32),
        function=np.array([0, 1, 2], dtype=np.int32),
        calls=np.array([1, 8, 1], dtype=np.int64),
        own_s=np.array([40.0, 1.5, 0.5]),
        cumulative_s=np.array([40.0, 1.5, 2.0]),
    )


def run(rule: Rule, *parts: NodeProfile, params: Any = None) -> RuleResult:
    chosen = {rule.id: params or rule.params()}
    measured = [measure_part(part, (rule,), chosen) for part in parts]
    (result,) = judge_all(measured, (rule,), chosen)
    return result


@every_rule
@pytest.mark.parametrize("parts", [(), (node_profile(),)], ids=["no part", "an empty part"])
def test_an_empty_job_is_skipped_with_the_details_aws_would_write(
    rule: Rule, parts: tuple[NodeProfile, ...]
) -> None:
    result = run(rule, *parts)

    assert result.status is Status.SKIPPED
    assert result.reason is not None
    assert result.reason.text
    assert result.findings == ()
    assert result.counters.rule_triggered == result.counters.violations == 0
    if rule.id in EMPTY_DETAILS:
        assert result.details == EMPTY_DETAILS[rule.id]


@every_rule
def test_parameters_are_printed_as_aws_prints_them(rule: Rule) -> None:
    assert rule.describe_params(rule.params()) == DEFAULT_PARAMETERS[rule.id]
    assert run(rule).rule_parameters == DEFAULT_PARAMETERS[rule.id]


@every_rule
def test_every_parameter_has_a_meaning_a_source_and_a_valid_default(rule: Rule) -> None:
    from reportgen.rules.settings import checked_value

    for spec in param_specs(rule.params):
        assert spec.meaning
        assert spec.source
        assert checked_value(spec.name, spec, spec.default) == spec.default


@every_rule
def test_the_input_stays_as_it_was(rule: Rule) -> None:
    part = busy_node()
    values = part.system.values.copy()
    columns = {name: getattr(part.spans, name).copy() for name in ARRAY_COLUMNS}

    run(rule, part)

    np.testing.assert_array_equal(part.system.values, values)
    for name, before in columns.items():
        np.testing.assert_array_equal(getattr(part.spans, name), before)


@every_rule
def test_equal_input_gives_equal_bytes(rule: Rule) -> None:
    first = encode(run(rule, busy_node("algo-1"), busy_node("algo-2", seed=2)))
    second = encode(run(rule, busy_node("algo-1"), busy_node("algo-2", seed=2)))

    assert first == second


@every_rule
def test_the_order_of_columns_does_not_matter(rule: Rule) -> None:
    part = busy_node()
    order = list(range(len(part.system.series)))[::-1]
    shuffled: SystemTable = replace(
        part.system,
        series=tuple(part.system.series[index] for index in order),
        values=np.asfortranarray(part.system.values[:, order]),
    )

    assert encode(run(rule, replace(part, system=shuffled))) == encode(run(rule, part))


@every_rule
def test_a_result_survives_json_and_holds_no_illegal_number(rule: Rule) -> None:
    result = run(rule, busy_node("algo-1"), busy_node("algo-2", seed=2))
    raw = encode(result)

    assert result.status is not Status.FAILED, result.reason
    assert encode(decode(raw, path="x.json")) == raw
    assert_finite(json.loads(raw, parse_constant=illegal))
    assert_finite([list(column.values) for item in result.exhibits for column in item.columns])
    assert_finite(list(result.metrics.values()))
    assert_finite(result.details)


@every_rule
def test_a_measurement_can_travel(rule: Rule) -> None:
    params = rule.params()
    measurement = rule.measure(busy_node(), params)
    raw = pickle.dumps(measurement)

    assert encode(rule.judge([pickle.loads(raw)], params)) == encode(
        rule.judge([measurement], params)
    )


@every_rule
def test_exhibits_are_unique_bounded_and_named_by_their_findings(rule: Rule) -> None:
    result = run(rule, busy_node("algo-1"), busy_node("algo-2", seed=2))
    ids = [item.id for item in result.exhibits]

    assert len(set(ids)) == len(ids)
    assert ids[-1] == "about"
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


@every_rule
def test_presenting_without_context_still_speaks(rule: Rule) -> None:
    result = run(rule, busy_node())

    presented = rule.present(result.counters, result.details, rule.params(), None)

    assert isinstance(presented.exhibits, tuple)


@every_rule
def test_percentages_of_shares_add_up_to_a_hundred(rule: Rule) -> None:
    for item in run(rule, busy_node()).exhibits:
        if item.kind is ExhibitKind.SHARES and item.n_rows:
            pct = next(column for column in item.columns if column.name == "pct")
            total = sum(value for value in pct.values if isinstance(value, int | float))
            assert math.isclose(total, 100.0, abs_tol=1e-6)


def illegal(constant: str) -> None:
    raise AssertionError(constant)


def assert_finite(tree: Any) -> None:
    if isinstance(tree, float):
        assert math.isfinite(tree)
    elif isinstance(tree, dict):
        for value in tree.values():
            assert_finite(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            assert_finite(value)
