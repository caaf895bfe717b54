"""What a comparison says of machines, costs, settings, kernels: from reports made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from reportgen.comparison import Comparison, compare, exhibits
from reportgen.report import Report, Setup
from reportgen.results import ExhibitKind, RuleId, RuleResult, Status
from reportgen.results.exhibits import column, exhibit
from reportgen.results.model import ColumnType, Scalar
from reportgen.results.packed_columns import unpack
from tests.builders import known
from tests.comparison.builders import budget_table, report_of, steps_table

TIMES = np.random.default_rng(1).lognormal(0, 0.02, 400)


def table(exhibit_id: str, columns: Mapping[str, Sequence[Scalar]]) -> RuleResult:
    types = {str: ColumnType.TEXT, float: ColumnType.FLOAT, int: ColumnType.INT}
    made = exhibit(
        exhibit_id,
        ExhibitKind.TABLE,
        title="T",
        columns=[
            column(name, "", values, type=types[type(values[0])])
            for name, values in columns.items()
        ],
    )
    return RuleResult(id=RuleId("any"), status=Status.OK, exhibits=(made,))


def with_results(report: Report, results: Mapping[str, RuleResult]) -> Report:
    named = {RuleId(name): replace(result, id=RuleId(name)) for name, result in results.items()}
    return replace(report, results={**report.results, **named})


def job(factor: float = 1.0, *, setup: Setup | None = None, **results: RuleResult) -> Report:
    return with_results(report_of(steps_table(100 * factor * TIMES), setup=setup), results)


def cells(comparison: Comparison, section: str, exhibit_id: str) -> list[tuple[object, ...]]:
    made = exhibits.SECTIONS[section](comparison)
    (found,) = [item for item in made if item.id == exhibit_id]
    return list(zip(*(item.values for item in found.columns), strict=True))


def test_samples_per_second_follow_from_the_batch_size_of_all_ranks() -> None:
    setups = [Setup(batch_size=32, n_ranks=4), Setup(batch_size=64, n_ranks=4)]

    comparison = compare(job(setup=setups[0]), job(1.5, setup=setups[1]))

    step = known(comparison.step)
    assert step.before_samples_per_s == pytest.approx(128 / step.before_mean_s)
    assert step.after_samples_per_s == pytest.approx(256 / step.after_mean_s)
    assert "samples per second" in comparison.headline
    assert comparison.lead.endswith("Settings that changed: batch size from 32 to 64.")
    assert cells(comparison, "resources", "settings") == [("batch size", "32", "64")]
    assert comparison.warnings == ()


def test_without_a_batch_size_nothing_is_said_of_samples() -> None:
    comparison = compare(job(setup=Setup(batch_size=32)), job(1.5))

    assert known(comparison.step).after_samples_per_s is None
    assert "samples" not in comparison.headline


def test_money_and_energy_of_a_thousand_steps_stand_side_by_side() -> None:
    def priced(factor: float, usd: float, joules: float) -> Report:
        budget = RuleResult(id=RuleId("any"), status=Status.OK, params={"usd_per_gpu_hour": usd})
        power = RuleResult(
            id=RuleId("any"), status=Status.OK, metrics={"gpu_energy_per_step_j": joules}
        )
        return job(factor, setup=Setup(n_gpus=8), GPUTimeBudget=budget, GPUPower=power)

    comparison = compare(priced(1.0, 3.0, 40.0), priced(0.5, 4.0, 30.0))

    money, energy = comparison.costs
    assert comparison.step is not None
    assert money.before == pytest.approx(1000 * comparison.step.before_mean_s * 8 * 3.0 / 3600)
    assert money.after == pytest.approx(1000 * comparison.step.after_mean_s * 8 * 4.0 / 3600)
    assert (energy.before, energy.after, energy.difference) == (40.0, 30.0, -10.0)
    assert len(cells(comparison, "resources", "costs")) == 2


def usage(node: str, p5: float, *, has_p5: bool = True) -> RuleResult:
    columns: dict[str, Sequence[Scalar]] = {
        "metric": ["GPU"],
        "node": [node],
        "unit": ["%"],
        "p95": [90.0],
        "p50": [50.0],
    }
    return table("usage", {**columns, **({"p5": [p5]} if has_p5 else {})})


def test_percentiles_of_the_only_node_of_each_job_stand_side_by_side() -> None:
    comparison = compare(
        job(OverallSystemUsage=usage("algo-1", 10.0)), job(OverallSystemUsage=usage("node-1", 20.0))
    )

    (row,) = comparison.usage
    assert (row.metric, row.node, row.unit) == ("GPU", "", "%")
    assert (row.before, row.after) == ((10.0, 50.0, 90.0), (20.0, 50.0, 90.0))


KERNELS: Mapping[str, Sequence[Scalar]] = {
    "name": ["ampere_sgemm_128x64", "old_copy_kernel", "nccl_all_reduce"],
    "category": ["compute", "compute", "communication"],
    "operator": ["aten::mm", "aten::copy_", "record_param_comms"],
    "sum_us": [60_000.0, 20_000.0, 90_000.0],
}


def traced(kernels: Mapping[str, Sequence[Scalar]], compute_ms: float) -> Report:
    steps = steps_table(np.full(50, 100.0), inside_ms=np.full(50, 90.0))
    starts = unpack(steps)["start_ns"]
    budget = budget_table(
        steps,
        {"compute": np.full(50, compute_ms), "launch": np.full(50, 90.0 - compute_ms)},
        starts,
    )
    by_shape = {
        "name": kernels["name"],
        "shape": ["grid 1"] * len(kernels["name"]),
        "count": [100] * len(kernels["name"]),
        "sum_us": kernels["sum_us"],
    }
    both = replace(
        table("kernels", kernels),
        exhibits=(
            *table("kernels", kernels).exhibits,
            *table("kernels_by_shape", by_shape).exhibits,
        ),
    )
    return with_results(report_of(steps, budget), {"KernelTime": both})


def test_computing_is_divided_by_kinds_of_kernels_and_still_adds_up() -> None:
    changed = {**KERNELS, "sum_us": [30_000.0, 30_000.0, 90_000.0]}

    comparison = compare(traced(KERNELS, 80.0), traced(changed, 60.0))

    parts = {row.key: (row.before_s, row.after_s) for row in comparison.waterfall}
    assert parts["compute_matrix"] == pytest.approx((0.060, 0.030))
    assert parts["compute_elementwise"] == pytest.approx((0.020, 0.030))
    assert "compute" not in parts
    assert sum(after - before for before, after in parts.values()) == pytest.approx(
        known(comparison.step).step_mean_difference_s, abs=1e-9
    )


def test_a_renamed_kernel_is_a_row_of_each_job_with_its_operator() -> None:
    renamed = {**KERNELS, "name": ["ampere_sgemm_128x64", "new_copy_kernel", "nccl_all_reduce"]}

    comparison = compare(traced(KERNELS, 80.0), traced(renamed, 80.0))

    rows = [row[:5] for row in cells(comparison, "moved", "moved_kernel")]
    assert rows[:2] == [
        ("new_copy_kernel · grid 1", "aten::copy_", None, 400.0, 400.0),
        ("old_copy_kernel · grid 1", "aten::copy_", 400.0, None, -400.0),
    ]
    assert [row[4] for row in rows[2:]] == [0.0, 0.0]
