"""Real traces: every figure against the published ones and against a second computation."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reportgen.intake import discover, read
from reportgen.profile.trace import RankTrace
from reportgen.report import rank_findings
from reportgen.results import Exhibit, RuleResult, Severity
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part, reads
from tests.builders import known
from tests.rules.kernels import second
from tests.shared_data import SHARED_DATA, needs_shared_data

KINETO = SHARED_DATA / "kineto"
OTHER_NAMES = {
    "v100_resnet50_torch19_workers0": "resnet50_num_workers_0",
    "v100_resnet50_torch19_workers4": "resnet50_num_workers_4",
}
EXPECTED = tuple(sorted(path.stem for path in (KINETO / "expected").glob("*.json")))
KERNEL_RULES = tuple(rule for rule in BUILTIN_RULES if reads(rule, is_rank=True))
CLOSE_US = 0.001
PUBLISHED_CLOSE_US = 0.05
"""Published figures add up many float64 µs, which lie 0.0005 µs apart near 4e12."""
MEASURED_SPEEDUP = 1.39
"""ResNet-50 with 4 loader workers instead of none: median step 176.3 to 126.5 ms."""

pytestmark = needs_shared_data
every_set = pytest.mark.parametrize("name", EXPECTED, scope="module")
"""By module: the tests of a set come one after the other and share what was read of it."""
with_steps_only = [name for name in EXPECTED if "alexnet" not in name]


@pytest.fixture(scope="module", autouse=True)
def forgotten_events() -> Iterator[None]:
    """Keep no events behind the last test: they take hundreds of megabytes."""
    yield
    second.events_of.cache_clear()


def place_of(name: str) -> Path:
    """Return the file or folder that a set of expected figures is about."""
    place = KINETO / OTHER_NAMES.get(name, name)
    return place if place.is_dir() else place.with_name(f"{place.name}.json.gz")


def files_of(name: str) -> list[Path]:
    """Return the trace files of a set in order."""
    place = place_of(name)
    return sorted(place.glob("*json*")) if place.is_dir() else [place]


@functools.cache
def traces_of(name: str) -> tuple[RankTrace, ...]:
    """Read a set as the package reads it."""
    parts = [read(ref) for ref in discover(str(place_of(name))).parts]
    return tuple(part for part in parts if isinstance(part, RankTrace))


@functools.cache
def results_of(name: str) -> dict[str, RuleResult]:
    """Run every rule over kernel traces."""
    params: dict[Any, Any] = {rule.id: rule.params() for rule in KERNEL_RULES}
    measured = [measure_part(trace, KERNEL_RULES, params) for trace in traces_of(name)]
    return {str(item.id): item for item in judge_all(measured, KERNEL_RULES, params)}


@functools.cache
def raw_of(name: str) -> dict[str, Any]:
    """Return the expected figures of a set."""
    content: dict[str, Any] = json.loads((KINETO / "expected" / f"{name}.json").read_text())
    return content


def rows_of(name: str, rule: str, exhibit_id: str) -> list[dict[str, Any]]:
    """Return the rows of an exhibit as mappings."""
    exhibit: Exhibit | None = results_of(name)[rule].exhibit(exhibit_id)
    assert exhibit is not None
    names = [column.name for column in exhibit.columns]
    return [
        dict(zip(names, row, strict=True))
        for row in zip(*(column.values for column in exhibit.columns), strict=True)
    ]


def by_rank(name: str) -> Iterator[tuple[int, dict[str, Any], second.RawTrace]]:
    """Yield each rank's number, expected figures and raw trace."""
    pairs = zip(traces_of(name), raw_of(name)["raw"], files_of(name), strict=True)
    for trace, raw, path in pairs:
        yield trace.rank, raw, second.raw_trace(path)


def agree(found: float, *own: float, published: float | None = None) -> None:
    """Assert that figures are equal to the nanosecond, to published ones as far as these go."""
    for other in own:
        assert found == pytest.approx(other, abs=CLOSE_US, rel=0)
    if published is not None:
        assert found == pytest.approx(published, abs=PUBLISHED_CLOSE_US, rel=0)


@every_set
def test_activity_equals_the_unions_of_the_raw_trace(name: str) -> None:
    rows = rows_of(name, "GPUActivity", "activity_by_device")
    for rank, raw, trace in by_rank(name):
        (row,) = (item for item in rows if (item["rank"], item["window"]) == (rank, "gpu"))
        own = second.basics(trace)
        agree(row["window_us"], own["span"], published=raw["span"])
        for column in ("busy", "idle", "compute", "communication", "memory", "overlap"):
            agree(row[f"{column}_us"], own[column], published=raw[column])
        agree(row["busy_us"] - row["compute_us"], published=raw["non_compute"])


@every_set
def test_the_parts_of_the_activity_fill_the_window(name: str) -> None:
    for row in rows_of(name, "GPUActivity", "activity_by_device"):
        parts = (
            row["compute_us"] - row["overlap_us"],
            row["overlap_us"],
            row["exposed_communication_us"],
            row["busy_us"] - row["kernel_us"],
            row["idle_us"],
        )
        assert min(parts) >= -CLOSE_US
        assert sum(parts) == pytest.approx(row["window_us"], abs=1.0, rel=0)
        assert row["busy_us"] + row["idle_us"] == pytest.approx(row["window_us"], abs=1.0, rel=0)


@every_set
def test_utilization_over_time_has_the_mean_of_the_window(name: str) -> None:
    from reportgen.facts.device_busy import fine_use, headline, unions_of, use_together, windows_of

    for trace in traces_of(name):
        window = headline(windows_of(trace))
        for unions in unions_of(trace, None):
            use = use_together(
                [fine_use(unions.busy, window, origin_ns=trace.origin_ns, node="", device="")]
            )
            rows = rows_of(name, "GPUActivity", "activity_by_device")
            busy = [
                row["busy_us"]
                for row in rows
                if (row["rank"], row["window"]) == (trace.rank, window.kind.value)
            ]
            agree(float(use.busy_ns.sum()) / 1000, *busy)
            agree(float(use.length_ns.sum()) / 1000, window.length_ns / 1000)
            assert 120 <= use.time_s.size <= 300


@every_set
def test_kernels_equal_the_sums_of_the_raw_trace(name: str) -> None:
    rows = {row["name"]: row for row in rows_of(name, "KernelTime", "kernels")}
    raws, own = raw_of(name)["raw"], [second.raw_trace(path) for path in files_of(name)]
    agree(sum(row["sum_us"] for row in rows.values()), sum(raw["kernel_time_sum"] for raw in raws))
    assert sum(row["count"] for row in rows.values()) == sum(raw["kernels"] for raw in raws)
    agree(sum(row["pct_of_kernel_time"] for row in rows.values()), 100.0)
    if len(raws) > 1:
        return
    assert len(rows) == raws[0]["distinct_kernels"]
    for kernel, figures in second.top_kernels(own[0]).items():
        for key, value in figures.items():
            agree(rows[kernel]["count" if key == "count" else f"{key}_us"], value)
    for raw in raws[0]["top_kernels"]:
        for key in ("sum", "min", "max", "mean", "std"):
            agree(rows[raw["name"]][f"{key}_us"], raw[key])
        assert rows[raw["name"]]["count"] == raw["count"]


@every_set
def test_memory_operations_equal_the_raw_trace(name: str) -> None:
    rows = rows_of(name, "MemoryOperations", "memory_operations")
    for rank, raw, trace in by_rank(name):
        assert second.memory_operations(trace).keys() == raw["memory_ops"].keys()
        for operation, figures in raw["memory_ops"].items():
            direction = operation.removeprefix("Memcpy ")
            mine = [row for row in rows if row["rank"] == rank and row["direction"] == direction]
            assert sum(row["count"] for row in mine) == figures["count"]
            assert sum(row["bytes"] for row in mine) == figures["bytes"]
            agree(sum(row["time_us"] for row in mine), figures["sum"])


@every_set
def test_launch_delays_equal_the_raw_trace(name: str) -> None:
    rows = rows_of(name, "LaunchLatency", "launch_latency")
    for rank, raw, trace in by_rank(name):
        (row,) = (item for item in rows if (item["rank"], item["delay"]) == (rank, "queue"))
        expected, own = raw["launch_latency_from_call_end"], second.queue_delay(trace)
        for key in ("p50", "p95", "max"):
            agree(row[f"{key}_us"], own[key], published=expected[key])
        assert row["count"] == expected["matched"]
        assert row["orphans"] == expected["orphans"]
        assert row["negative"] == expected["negative"]


@every_set
def test_idle_causes_equal_the_raw_trace_and_add_up(name: str) -> None:
    rows = rows_of(name, "IdleTime", "idle_causes")
    activity = rows_of(name, "GPUActivity", "activity_by_device")
    for rank, raw, trace in by_rank(name):
        found = {
            row["cause"]: row["time_us"]
            for row in rows
            if (row["rank"], row["window"]) == (rank, "gpu")
        }
        late = sum(us for cause, us in found.items() if cause.startswith("host_late:"))
        expected, own = raw["idle_attribution_30us"], second.idle_attribution(trace)
        for key, value in {
            "host_late": late,
            "in_launch_call": found["in_launch_call"],
            "gap_small": found["kernel_gap"],
            "gap_large": found["waiting"],
            "launch_not_recorded": found["launch_not_recorded"],
            "host_late_inside_DataLoader_next": found["host_late:dataloader"],
        }.items():
            agree(value, own[key], published=expected[key])
    for item in activity:
        place = (item["rank"], item["device"], item["window"])
        causes = [
            row["time_us"] for row in rows if (row["rank"], row["device"], row["window"]) == place
        ]
        assert min(causes) >= -CLOSE_US
        agree(sum(causes), item["idle_us"])


@pytest.mark.parametrize("name", with_steps_only, scope="module")
def test_steps_equal_the_raw_trace(name: str) -> None:
    rows = rows_of(name, "StepTime", "steps")
    for rank, raw, _ in by_rank(name):
        mine = [row for row in rows if row["rank"] == rank]
        expected = raw["steps"]
        assert [row["step"] for row in mine] == [step["step"] for step in expected]
        for row, step in zip(mine, expected, strict=True):
            agree(row["start_us"], step["ts"])
        for row, step, after in zip(mine, expected, expected[1:], strict=False):
            agree(row["period_us"], after["ts"] - step["ts"])
        agree(mine[-1]["period_us"], expected[-1]["dur"])


@every_set
def test_most_kernel_time_has_a_precision(name: str) -> None:
    rows = rows_of(name, "KernelPrecision", "precision_shares")

    agree(sum(row["pct"] for row in rows), 100.0)
    assert sum(row["pct"] for row in rows if row["part"] == "Unknown") < 10


@every_set
def test_the_budget_from_kernels_says_so_and_fills_the_window(name: str) -> None:
    result = results_of(name)["GPUTimeBudget"]
    rows = rows_of(name, "GPUTimeBudget", "gpu_time_budget")
    activity = rows_of(name, "GPUActivity", "activity_by_device")
    windows = {(row["rank"], row["device"]): row["window_us"] for row in activity}

    agree(sum(row["gpu_s"] for row in rows) * 1e6, sum(windows.values()))
    assert all("kernels" in item.caption for item in result.exhibits[:-1])
    said = [*(item.caption for item in result.exhibits), known(result.about).reading]
    assert not [text for text in said if "training" in text]


def test_the_loader_finding_bounds_the_gain_that_was_measured() -> None:
    findings = results_of("v100_resnet50_torch19_workers0")["IdleTime"].findings
    (loader,) = (item for item in findings if item.id == "IDLE-1")

    assert loader.severity is Severity.WARNING
    assert loader.estimate is not None
    assert loader.estimate.speedup_at_most is not None
    assert loader.estimate.speedup_at_most >= MEASURED_SPEEDUP
    assert "33.2 % of the recorded steps" in loader.text
    assert "The GPU was idle for 352 ms, 33.1 % of the GPU time" in loader.text


def test_with_four_workers_the_loader_is_no_fault() -> None:
    findings = results_of("v100_resnet50_torch19_workers4")["IdleTime"].findings

    assert "IDLE-1" not in {item.id for item in findings}


def test_waiting_dominates_communication_and_rank_7_comes_last() -> None:
    name = "param_dlrm_8ranks"
    expected = raw_of(name)["collectives"]
    rows = rows_of(name, "Collectives", "stragglers")
    collectives = rows_of(name, "Collectives", "collectives")
    waits = rows_of(name, "Collectives", "waits")
    (finding,) = results_of(name)["Collectives"].findings

    assert [row["rank"] for row in rows] == list(range(8))
    assert [row["total_wait_us"] for row in rows] == expected["wait_by_rank_us"]
    assert [row["last_arrivals"] for row in rows] == expected["last_arrivals_by_rank"]
    assert len(collectives) == expected["matched"]
    agree(sum(row["transfer_us"] for row in collectives), expected["transfer_us_sum_of_min_dur"])
    for rank, total in enumerate(expected["dur_sum_by_rank_us"]):
        agree(sum(row["duration_us"] for row in waits if row["rank"] == rank), total)
    assert finding.id == "COMM-1"
    assert finding.where.node == "rank 7"
    assert finding.measured is not None
    assert finding.measured < 10  # most of the waiting is due to windows that begin apart
    assert "The recordings begin up to 7.51 ms apart" in finding.text


@pytest.mark.parametrize("name", ["v100_ns", "h100_qwen_inference"])
def test_a_trace_that_keeps_its_gpu_busy_gives_no_alarm(name: str) -> None:
    assert results_of(name)["IdleTime"].findings == ()


@every_set
def test_no_rule_fails(name: str) -> None:
    assert "failed" not in {result.status.value for result in results_of(name).values()}


@every_set
def test_operators_equal_a_walk_over_the_threads_of_the_raw_trace(name: str) -> None:
    rows = {row["name"]: row for row in rows_of(name, "OperatorTime", "operators")}
    walked = [second.operators(path) for path in files_of(name)]
    assert set(rows) == {operator for totals in walked for operator in totals}
    for operator, row in rows.items():
        own = [totals[operator] for totals in walked if operator in totals]
        assert row["count"] == sum(item["count"] for item in own)
        agree(row["sum_us"], sum(item["sum_us"] for item in own))
        # Ends of times since 1970 with decimals are known to a quarter of a microsecond.
        close_us = CLOSE_US + 0.25 * row["count"]
        assert row["self_us"] == pytest.approx(sum(item["self_us"] for item in own), abs=close_us)
        agree(row["gpu_time_us"], sum(item["gpu_us"] for item in own))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("a100_alexnet_sync_events", "IDLE-9"),
        ("a100_dlrm_rank3of8", "ACT-1"),
        ("mi300x_resnet_rank0of8", "ACT-1"),
        ("param_dlrm_8ranks", "IDLE-5"),
        ("v100_dlrm_rank1of2", "COPY-2"),
        ("v100_ns", "PREC-1"),
        ("v100_resnet50_torch19_workers0", "IDLE-1"),
        ("v100_resnet50_torch19_workers4", "IDLE-5"),
    ],
)
def test_the_finding_that_matters_most_comes_first(name: str, first: str) -> None:
    assert rank_findings(tuple(results_of(name).values()))[0].finding.id == first


@pytest.mark.parametrize(
    "name",
    [
        "a100_alexnet_sync_events",
        "v100_resnet50_torch19_workers0",
        "v100_resnet50_torch19_workers4",
    ],
)
def test_pinning_wins_what_the_copies_last_too_long(name: str) -> None:
    """Here the host and the GPU wait for each copy, though its call returns before it is done."""
    (path,) = files_of(name)
    raw = second.raw_trace(path)
    is_pageable = np.array(["Pageable" in text for text in raw.names]) & (raw.bytes >= 65_536)
    too_long_us = (raw.duration - raw.bytes / 25_000)[is_pageable].sum()
    copies = next(item for item in results_of(name)["MemoryOperations"].findings)

    assert copies.id == "COPY-1"
    assert copies.measured is not None
    window_us = rows_of(name, "GPUActivity", "activity_by_device")[-1]["window_us"]
    assert copies.measured / 100 * window_us == pytest.approx(too_long_us, rel=0.02)


@pytest.mark.parametrize("name", with_steps_only, scope="module")
def test_steps_on_the_gpu_equal_the_raw_trace(name: str) -> None:
    found = [row["gpu_span_us"] for row in rows_of(name, "StepTime", "steps")]

    assert max(found) > 0
    own = [us for path in files_of(name) for us in second.step_spans(path)]
    assert found == pytest.approx(own, abs=CLOSE_US)


@pytest.mark.parametrize(
    "name", ["a100_dlrm_rank3of8", "v100_dlrm_rank1of2", "v100_ns"], scope="module"
)
def test_the_backward_pass_owns_what_autograd_launched(name: str) -> None:
    rows = {row["name"]: row for row in rows_of(name, "Annotations", "annotations")}
    own_us = sum(second.gpu_time_during(path, "## backward ##") for path in files_of(name))

    assert own_us > 100_000
    agree(rows["## backward ##"]["gpu_time_us"], own_us)
