"""Findings of rules over system metrics on jobs whose faults are known, and AWS's parameters.

Each value of AWS's results on these jobs is compared in ``test_oracle_every_value``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from reportgen.intake import discover, read_node
from reportgen.profile import NodeProfile
from reportgen.results import Finding, Severity
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
from tests.rules.framework_jobs import finding
from tests.rules.oracle_jobs import aws_result, folder_of, leaves
from tests.rules.samples import run
from tests.shared_data import needs_shared_data

pytestmark = needs_shared_data

HEALTHY, STARVED = "a_healthy_1gpu", "b_cpu_bottleneck"
IMBALANCE, STRAGGLER = "d_imbalance_4gpu", "e_two_nodes_straggler"
LEAK, EIGHT_WORKERS = "f_gpu_memory_leak", "h8_cpu_only_workers8"
CUT = "non-default"
RULES = (
    overall_system_usage.RULE, low_gpu_utilization.RULE, load_balancing.RULE, batch_size.RULE,
    cpu_bottleneck.RULE, io_bottleneck.RULE, gpu_memory_increase.RULE,
)  # fmt: skip
AS_AWS = (low_gpu_utilization.RULE, gpu_memory_increase.RULE)


@cache
def parts_of(job: str) -> tuple[NodeProfile, ...]:
    return tuple(read_node(ref) for ref in discover(str(folder_of(job))).parts)


def parts_until_the_cut() -> Iterator[NodeProfile]:
    """Yield the ticks of the starved job up to the end of AWS's last window, inclusive."""
    end_ns = aws_result(STARVED, "scans", variant=CUT)[-1]["end"] * 1000
    for part in parts_of(STARVED):
        system = part.system
        stop = int(np.searchsorted(system.tick_ns, end_ns, side="right"))
        columns = [column[:stop] for column in system.columns]
        yield replace(part, system=replace(system, tick_ns=system.tick_ns[:stop], columns=columns))


@pytest.mark.parametrize("rule", AS_AWS, ids=lambda rule: str(rule.id))
def test_use_and_memory_by_other_parameters_equal_aws_entirely(rule: AnyRule) -> None:
    set_by_user = aws_result(STARVED, "parameters", variant=CUT).get(rule.id, {})
    ours = run(rule, *parts_until_the_cut(), **set_by_user)
    theirs = aws_result(STARVED, rule.id, variant=CUT)

    found = ours.counters
    counts = [found.rule_triggered, found.violations, found.datapoints]
    assert counts == [theirs[key] for key in ("RuleTriggered", "Violations", "Datapoints")]
    assert ours.rule_parameters == theirs["RuleParameters"]
    mine, other = list(leaves(ours.details)), list(leaves(theirs["Details"]))
    assert [path for path, _ in mine] == [path for path, _ in other]
    for (path, value), (_, expected) in zip(mine, other, strict=True):
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9), path


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
