"""Rules over system metrics against AWS's own results on the same jobs (docs/aws-differences.md).

``expected`` and ``all-data`` differ in where AWS stopped; each is compared after the input was
cut there. Deviations are those of docs/aws-differences.md, column "ours", and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from reportgen.intake import discover, read_node
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Finding, RuleResult, Severity, Status
from reportgen.rules import (
    batch_size,
    cpu_bottleneck,
    gpu_memory_increase,
    io_bottleneck,
    load_balancing,
    low_gpu_utilization,
    overall_system_usage,
)
from reportgen.rules.base import AnyRule
from tests.builders import known
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run
from tests.shared_data import ORACLE_JOBS, SHARED_DATA, needs_shared_data

pytestmark = needs_shared_data

HEALTHY, STARVED = "a_healthy_1gpu", "b_cpu_bottleneck"
IMBALANCE, STRAGGLER = "d_imbalance_4gpu", "e_two_nodes_straggler"
LEAK, EIGHT_WORKERS = "f_gpu_memory_leak", "h8_cpu_only_workers8"
REPAIRED = "variants/load-balancing-repaired"
CUTS = [
    *((job, cut) for job in ORACLE_JOBS for cut in ("expected", "variants/all-data")),
    (STARVED, "variants/non-default"),
]
RULES = (
    overall_system_usage.RULE,
    low_gpu_utilization.RULE,
    load_balancing.RULE,
    batch_size.RULE,
    cpu_bottleneck.RULE,
    io_bottleneck.RULE,
    gpu_memory_increase.RULE,
)
AS_AWS = (low_gpu_utilization.RULE, gpu_memory_increase.RULE)
BOTTLENECKS = (cpu_bottleneck.RULE, io_bottleneck.RULE)

every_cut = pytest.mark.parametrize(("job", "cut"), CUTS)


@cache
def parts_of(job: str) -> tuple[NodeProfile, ...]:
    return tuple(read_node(ref) for ref in discover(str(_folder(job))).parts)


@cache
def parts_until(job: str, cut: str) -> tuple[NodeProfile, ...]:
    """Return a job's ticks up to the end of AWS's last window, inclusive."""
    scans = _json(job, "scans.json" if cut == "expected" else f"{cut}/scans.json")
    end_ns = scans[-1]["end"] * 1000
    return tuple(_cut(part, end_ns) for part in parts_of(job))


def _cut(part: NodeProfile, end_ns: int) -> NodeProfile:
    system = part.system
    stop = int(np.searchsorted(system.tick_ns, end_ns, side="right"))
    cut = replace(
        system, tick_ns=system.tick_ns[:stop], columns=[column[:stop] for column in system.columns]
    )
    return replace(part, system=cut)


@cache
def _json(job: str, path: str) -> Any:
    return json.loads((_folder(job) / path).read_text())


def _folder(job: str) -> Path:
    return SHARED_DATA / "oracle" / job


def ours_and_theirs(rule: AnyRule, job: str, cut: str) -> tuple[RuleResult, Any]:
    set_by_user = _json(job, f"{cut}/parameters.json") if cut.endswith("default") else {}
    ours = run(rule, *parts_until(job, cut), **set_by_user.get(rule.id, {}))
    theirs = _json(job, f"{cut}/{rule.id}.json")
    assert ours.rule_parameters == theirs["RuleParameters"]
    return ours, theirs


def counters(result: RuleResult) -> tuple[int, int, int]:
    found = result.counters
    return found.rule_triggered, found.violations, found.datapoints


def aws_counters(theirs: Any) -> tuple[int, int, int]:
    return theirs["RuleTriggered"], theirs["Violations"], theirs["Datapoints"]


def numbers(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every leaf, in order."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from numbers(value, f"{path}/{key}")
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from numbers(value, f"{path}/{place}")
    else:
        yield path, tree


def assert_equal(ours: Any, theirs: Any) -> None:
    """Compare keys, their order, and values to 1e-9, the rounding of sums in another order."""
    mine, other = list(numbers(ours)), list(numbers(theirs))
    assert [path for path, _ in mine] == [path for path, _ in other]
    for (path, value), (_, expected) in zip(mine, other, strict=True):
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9), path


@every_cut
@pytest.mark.parametrize("rule", AS_AWS, ids=lambda rule: str(rule.id))
def test_gpu_use_and_gpu_memory_equal_aws_entirely(rule: AnyRule, job: str, cut: str) -> None:
    ours, theirs = ours_and_theirs(rule, job, cut)

    assert counters(ours) == aws_counters(theirs)
    assert_equal(ours.details, theirs["Details"])


@every_cut
def test_batch_size_equals_aws_but_for_its_defects(job: str, cut: str) -> None:
    ours, theirs = ours_and_theirs(batch_size.RULE, job, cut)
    without_defects = [
        dict(item for item in numbers(details) if not _is_defect(item[0]))
        for details in (ours.details, theirs["Details"])
    ]

    assert counters(ours) == aws_counters(theirs)
    assert without_defects[0] == pytest.approx(without_defects[1], rel=1e-9)


def _is_defect(path: str) -> bool:
    is_whisker = path.endswith(("_memory/upper", "_memory/lower"))
    return is_whisker or path.endswith("last_timestamp")


def test_batch_size_has_whiskers_inside_the_data_and_the_newest_minute() -> None:
    ours, theirs = ours_and_theirs(batch_size.RULE, IMBALANCE, "expected")
    details: Any = ours.details
    memory = parts_until(IMBALANCE, "expected")[0].system.matrix(SeriesKind.GPU_MEMORY)[:, 1]
    p25, p75 = np.percentile(memory, (25, 75))

    assert theirs["Details"]["algo-1"]["gpu1_memory"]["upper"] == -2.0
    assert details["algo-1"]["gpu1_memory"]["upper"] == p75 + 1.5 * (p75 - p25) == 22.0
    assert details["algo-1"]["gpu1_memory"]["lower"] == p25 - 1.5 * (p75 - p25) == 6.0
    low_gpu: Any = run(low_gpu_utilization.RULE, *parts_until(IMBALANCE, "expected")).details
    assert details["last_timestamp"] == low_gpu["last_timestamp"] == 1783330740000000


@every_cut
def test_system_usage_equals_aws_to_its_last_digit(job: str, cut: str) -> None:
    ours, theirs = ours_and_theirs(overall_system_usage.RULE, job, cut)

    assert counters(ours) == aws_counters(theirs)
    # AWS divides after the percentile, which may turn the second decimal.
    mine, other = list(numbers(ours.details)), list(numbers(theirs["Details"]))
    assert [path for path, _ in mine] == [path for path, _ in other]
    for (path, value), (_, expected) in zip(mine, other, strict=True):
        assert value == pytest.approx(expected, abs=0.0101), path
        assert isinstance(value, int) is isinstance(expected, int), path


@every_cut
@pytest.mark.parametrize("rule", BOTTLENECKS, ids=lambda rule: str(rule.id))
def test_bottlenecks_are_those_of_aws_and_the_few_it_lost(
    rule: AnyRule, job: str, cut: str
) -> None:
    ours, theirs = ours_and_theirs(rule, job, cut)
    found: Any = ours.details["bottlenecks"]
    expected = theirs["Details"]["bottlenecks"]

    assert ours.counters.rule_triggered == theirs["RuleTriggered"]
    assert ours.counters.violations == len(found)
    assert {key: found[key] for key in expected} == expected
    # A group of samples more than 20 ms late has another anchor at AWS: 1.5 % of them in job b.
    assert 0 <= len(found) - len(expected) <= 0.015 * len(found)
    low: Any = ours.details["low_gpu_utilization"]
    assert 0 <= low - theirs["Details"]["low_gpu_utilization"] <= 0.015 * max(low, 1)
    assert ours.counters.datapoints == sum(
        part.system.n_ticks for part in parts_until(job, cut)
    ) <= theirs["Datapoints"]  # fmt: skip


@pytest.mark.parametrize("job", ORACLE_JOBS)
def test_datapoints_of_the_whole_job_are_the_planted_ticks(job: str) -> None:
    scenario = _json(job, "scenario.json")
    n_ticks = scenario["snapshots_per_node"] * len(scenario["nodes"])

    assert run(cpu_bottleneck.RULE, *parts_of(job)).counters.datapoints == n_ticks


def test_events_at_bottlenecks_count_once_with_their_full_length() -> None:
    (part,) = parts_until(STARVED, "expected")
    ours: Any = run(cpu_bottleneck.RULE, part).details
    theirs = _json(STARVED, "expected/CPUBottleneck.json")["Details"]
    moments_ns = [round(float(key) * 1e6) * 1000 for key in ours["bottlenecks"]]
    spans = part.spans
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    total_ns = sum(
        end - start
        for start, end, code, phase in zip(
            spans.start_ns.tolist(), spans.end_ns.tolist(), spans.name, spans.phase, strict=True
        )
        if spans.names[code] == name
        and spans.phases[phase] == "cpu_functions"
        and any(start <= moment <= end for moment in moments_ns)
    )

    # AWS's order is that of first appearance and differs between its own outputs.
    assert sorted(ours) == sorted(theirs)
    # A key is a float of seconds, exact to the microsecond; the sum is whole microseconds.
    assert ours["CPU_total"][name] == pytest.approx(total_ns / 1000, abs=1)
    assert ours["CPU_total"][name] < theirs["CPU_total"][name]


@every_cut
def test_workloads_equal_aws_and_one_gpu_is_nothing_to_compare(job: str, cut: str) -> None:
    ours, theirs = ours_and_theirs(load_balancing.RULE, job, cut)
    details: Any = ours.details

    assert ours.counters.datapoints == theirs["Datapoints"]
    assert list(details) == list(theirs["Details"])
    for node, entry in theirs["Details"].items():
        assert list(details[node]["workloads"].items()) == list(entry["workloads"].items())
    gpus = _json(job, "scenario.json")["gpus_per_node"]
    assert (ours.status is Status.SKIPPED) is (gpus < 2)


def test_distances_are_what_the_repaired_rule_meant() -> None:
    ours, _ = ours_and_theirs(load_balancing.RULE, IMBALANCE, "expected")
    theirs = _json(IMBALANCE, f"{REPAIRED}/LoadBalancing.json")
    details: Any = ours.details
    mine = dict(numbers(details["algo-1"]["distances"]))
    other = dict(numbers(theirs["Details"]["algo-1"]["distances"]))

    # Ours has a bin for 98 to 100 %, theirs drops those samples and normalises otherwise.
    assert mine == pytest.approx(other, abs=0.002)
    assert ours.counters.violations == theirs["Violations"] == 11


def test_distances_equal_scipys_on_fifty_bins() -> None:
    (part,) = parts_of(IMBALANCE)
    use = part.system.matrix(SeriesKind.GPU_UTILIZATION)
    bins = [np.histogram(use[:, gpu], bins=50, range=(0, 100))[0] for gpu in range(4)]
    rows = rows_of(run(load_balancing.RULE, part), "distances")

    assert len(rows) == 6
    for row in rows:
        one, other = int(row["gpu"][3:]), int(row["other_gpu"][3:])
        expected = float(jensenshannon(bins[one], bins[other]))
        assert row["distance"] == pytest.approx(expected, abs=5e-7)  # shown with six decimals


def all_findings(job: str) -> list[Finding]:
    return [item for rule in RULES for item in run(rule, *parts_of(job)).findings]


@pytest.mark.parametrize("job", [HEALTHY, EIGHT_WORKERS, "h0_cpu_only_workers0"])
def test_jobs_without_a_fault_of_the_system_get_readings_only(job: str) -> None:
    assert {item.severity for item in all_findings(job)} <= {Severity.INFO}


def test_the_starved_job_has_its_cpu_bottleneck_and_no_alarm_about_memory() -> None:
    found = {item.id: item for item in all_findings(STARVED)}

    assert found["CPU-1"].severity is Severity.CRITICAL
    assert found["CPU-1"].measured == pytest.approx(55.3, abs=0.1)
    assert "DataLoaderIter" in found["CPU-1"].text
    assert found["GPU-2"].severity is Severity.CRITICAL
    assert "a CPU core was busy" in found["GPU-2"].advice
    assert set(found) == {"CPU-1", "GPU-2"}


@pytest.mark.parametrize(
    ("job", "node", "device"), [(IMBALANCE, "algo-1", "gpu0"), (STRAGGLER, "algo-2", "gpu0")]
)
def test_uneven_jobs_name_the_node_and_the_pair(job: str, node: str, device: str) -> None:
    found = known(finding(run(load_balancing.RULE, *parts_of(job)), "BAL-1"))

    assert found.severity is not Severity.INFO
    assert found.where.node == node
    assert str(found.where.device).startswith(device)


def test_the_leaking_job_has_its_jump() -> None:
    found = known(finding(run(gpu_memory_increase.RULE, *parts_of(LEAK)), "MEM-1"))

    assert found.severity is Severity.WARNING
    # Planted at minute 9.8 of the job, from 54 to 82 points.
    assert found.where.start_s == pytest.approx(1783503011 + 9.8 * 60, abs=1.5)
    assert "from 55.0 % to 83.0 %" in found.title


def test_an_idle_end_is_no_alarm() -> None:
    result = run(low_gpu_utilization.RULE, *parts_of(STRAGGLER))

    assert result.counters.rule_triggered == 4
    assert "gpu_stopped" not in {item.cause for item in result.findings}
