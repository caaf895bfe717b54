"""The laws that every rule over kernel traces obeys."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind
from reportgen.results import ExhibitKind, RuleResult, Status
from reportgen.results.codec import decode, encode
from reportgen.rules.base import Rule, param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part, reads
from reportgen.rules.settings import checked_value
from tests.rules.kernels.builders import rank_trace

MAX_POINTS = 2_000
KERNEL_RULES = tuple(rule for rule in BUILTIN_RULES if reads(rule, is_rank=True))
TABLES = ("gpu_ops", "calls", "slices", "steps", "memory", "collectives", "syncs", "flows")
STEP_US = 1_000.0

every_rule = pytest.mark.parametrize("rule", KERNEL_RULES, ids=lambda rule: str(rule.id))


def busy_trace(rank: int = 0, *, late_us: float = 0.0) -> RankTrace:
    """A rank that makes most rules speak: it waits for batches, copies, communicates, leaks."""
    gpu: list[Any] = []
    calls: list[Any] = []
    slices: list[Any] = []
    memory = []
    for step in range(8):
        at = step * STEP_US
        slices.append(
            (
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                at,
                300.0,
                {"kind": int(SliceKind.ANNOTATION)},
            )
        )
        slices.append((f"work_{step}", at + 300, 600.0, {"kind": int(SliceKind.ANNOTATION)}))
        calls.append(("cudaMemcpyAsync", at + 300, 40.0, {"correlation": 100 * step}))
        gpu.append(
            (
                "Memcpy HtoD (Pageable -> Device)",
                at + 310,
                30.0,
                {"correlation": 100 * step, "bytes": 400_000},
            )
        )
        for kernel in range(8):
            number = 100 * step + 1 + kernel
            begin = at + 350 + 20 * kernel
            calls.append(("cudaLaunchKernel", begin, 8.0, {"correlation": number}))
            gpu.append(("ampere_sgemm_128x64_nn", begin + 9, 3.0, {"correlation": number}))
        number = 100 * step + 50
        begin = at + 600 + late_us
        calls.append(("cudaLaunchKernelExC", begin - 15, 10.0, {"correlation": number}))
        gpu.append(
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
                begin,
                at + 900 - begin,
                {
                    "correlation": number,
                    "stream": 20,
                    "collective": {
                        "name": "allreduce",
                        "group": "0",
                        "seq": step,
                        "dtype": "Float",
                        "in_elements": 1000,
                        "out_elements": 1000,
                        "group_size": 2,
                    },
                },
            )
        )
        slices.append(("aten::mm", at + 340, 180.0))
        calls.append(("cudaStreamSynchronize", at + 650, 250.0, {}))
        held = 1_000_000 * (step + 1)
        memory.append({"time": at, "change": 1_000_000, "allocated": held, "reserved": 2 * held})
    return rank_trace(
        gpu=gpu,
        calls=calls,
        slices=slices,
        memory=memory,
        steps=[(step, step * STEP_US, STEP_US) for step in range(8)],
        rank=rank,
        world_size=2,
        origin_ns=1_783_071_000_000_000_000,
    )


def ranks() -> tuple[RankTrace, RankTrace]:
    """Two ranks of one job; the second arrives late."""
    return busy_trace(0), busy_trace(1, late_us=250.0)


def run(rule: Rule, *parts: RankTrace, params: Any = None) -> RuleResult:
    """Run one rule as the runner does."""
    chosen = {rule.id: params or rule.params()}
    measured = [measure_part(part, (rule,), chosen) for part in parts]
    (result,) = judge_all(measured, (rule,), chosen)
    return result


@every_rule
@pytest.mark.parametrize("parts", [(), (rank_trace(),)], ids=["no part", "an empty trace"])
def test_an_empty_trace_is_skipped_with_a_reason(rule: Rule, parts: tuple[RankTrace, ...]) -> None:
    result = run(rule, *parts)

    assert result.status is Status.SKIPPED
    assert result.reason is not None
    assert result.reason.text
    assert result.findings == ()
    assert result.details == {}
    assert result.counters.rule_triggered == result.counters.violations == 0


@every_rule
def test_one_kernel_without_a_launch_breaks_nothing(rule: Rule) -> None:
    result = run(rule, rank_trace(gpu=[("k", 5.0, 0.0)]))

    assert result.status is not Status.FAILED, result.reason
    assert_finite(json.loads(encode(result), parse_constant=illegal))


@every_rule
def test_a_host_without_gpu_work_breaks_nothing(rule: Rule) -> None:
    trace = rank_trace(slices=[("aten::mm", 0.0, 5.0)], steps=[(1, 0.0, 9.0)])

    assert run(rule, trace).status is not Status.FAILED


@every_rule
def test_a_busy_pair_of_ranks_is_judged(rule: Rule) -> None:
    assert run(rule, *ranks()).status in (Status.OK, Status.TRIGGERED)


@every_rule
def test_parameters_are_explained_and_valid(rule: Rule) -> None:
    for spec in param_specs(rule.params):
        assert spec.meaning
        assert spec.source
        assert checked_value(spec.name, spec, spec.default) == spec.default


@every_rule
def test_the_input_stays_as_it_was(rule: Rule) -> None:
    part = busy_trace()
    before = pickle.dumps(part)

    run(rule, part)

    assert pickle.dumps(part) == before


@every_rule
def test_equal_input_gives_equal_bytes(rule: Rule) -> None:
    assert encode(run(rule, *ranks())) == encode(run(rule, *ranks()))


@every_rule
def test_codes_of_names_do_not_matter(rule: Rule) -> None:
    part = busy_trace()
    n_names = len(part.names)
    renamed: dict[str, Any] = {"names": tuple(reversed(part.names))}
    for table in ("gpu_ops", "calls", "slices"):
        columns = getattr(part, table)
        codes = (n_names - 1 - columns.name).astype(np.int32)
        renamed[table] = replace(columns, name=codes)

    assert encode(run(rule, replace(part, **renamed))) == encode(run(rule, part))


@every_rule
def test_a_result_survives_json_and_holds_no_illegal_number(rule: Rule) -> None:
    result = run(rule, *ranks())
    raw = encode(result)

    assert encode(decode(raw, path="x.json")) == raw
    assert_finite(json.loads(raw, parse_constant=illegal))
    assert_finite([list(column.values) for item in result.exhibits for column in item.columns])
    assert_finite(list(result.metrics.values()))


@every_rule
def test_a_measurement_can_travel(rule: Rule) -> None:
    params = rule.params()
    measurement = rule.measure(busy_trace(), params)
    again = pickle.loads(pickle.dumps(measurement))

    assert encode(rule.judge([again], params)) == encode(rule.judge([measurement], params))


@every_rule
def test_exhibits_are_unique_bounded_and_named_by_their_findings(rule: Rule) -> None:
    result = run(rule, *ranks())
    ids = [item.id for item in result.exhibits]

    assert len(set(ids)) == len(ids)
    for item in result.exhibits:
        assert item.title
        if item.kind in (ExhibitKind.SERIES, ExhibitKind.BAND):
            assert item.n_rows <= MAX_POINTS
            assert item.columns[0].name == "time_s"
    for finding in result.findings:
        assert finding.exhibit is None or finding.exhibit in ids
        assert finding.title
        assert finding.text
        assert finding.advice


@every_rule
def test_presenting_without_context_still_speaks(rule: Rule) -> None:
    result = run(rule, busy_trace())
    presented = rule.present(result.counters, result.details, rule.params(), None)

    assert isinstance(presented.exhibits, tuple)


@every_rule
def test_percentages_of_shares_add_up_to_a_hundred(rule: Rule) -> None:
    for item in run(rule, *ranks()).exhibits:
        if item.kind is ExhibitKind.SHARES and item.n_rows:
            pct = next(column for column in item.columns if column.name == "pct")
            total = sum(value for value in pct.values if isinstance(value, int | float))
            assert math.isclose(total, 100.0, abs_tol=1e-6)


def test_every_table_of_the_built_trace_has_equal_columns() -> None:
    for table in TABLES:
        columns = getattr(busy_trace(), table)
        assert len({len(getattr(columns, item.name)) for item in fields(columns)}) == 1


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
