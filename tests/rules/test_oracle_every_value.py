"""Every value of every result AWS computed on the oracle jobs: equal, or explained.

A value of ours is AWS's (``expected``), or that of a named variant of AWS's own run, or that of an
independent computation (``oracle_recount``) where docs/aws-differences.md says that we deviate. A
leaf that is none of them fails, on either side: values of ours that AWS does not have count too.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from reportgen.intake import cut_job, discover, read_node
from reportgen.profile import NodeProfile, SeriesKind, TimeRange
from reportgen.results import RuleResult
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part
from tests.rules import oracle_recount as recount
from tests.rules.oracle_jobs import folder_of, leaves
from tests.shared_data import ORACLE_JOBS, needs_shared_data

pytestmark = needs_shared_data

AWS_RULES = tuple(rule for rule in BUILTIN_RULES if rule.id in {
    "BatchSize", "CPUBottleneck", "Dataloader", "GPUMemoryIncrease", "IOBottleneck",
    "LoadBalancing", "LowGPUUtilization", "MaxInitializationTime", "OverallFrameworkMetrics",
    "OverallSystemUsage", "StepOutlier",
})  # fmt: skip
ABSENT = "absent"
REPAIRED = "load-balancing-repaired"
ONE_SHOT = "one-shot"

Recount = Callable[[tuple[NodeProfile, ...]], recount.Leaves]
RECOUNTED: dict[str, tuple[str, tuple[Recount, ...]]] = {
    "BatchSize": (r".*_memory/(upper|lower)|/Details/last_timestamp", (recount.batch_sizes,)),
    "CPUBottleneck": (
        r"/Datapoints|/Violations|/Details/(bottlenecks|general|ratio|CPU_total|GPU_total)/.*",
        (partial(recount.bottlenecks, hot_kind=SeriesKind.CPU_UTILIZATION, hot_pct=90),),
    ),
    "Dataloader": (r"/Details/dataloading_time/.*", (recount.waits,)),
    "IOBottleneck": (
        r"/Datapoints|/Violations|/Details/bottlenecks/.*",
        (partial(recount.bottlenecks, hot_kind=SeriesKind.IO_WAIT, hot_pct=50),),
    ),
    "LoadBalancing": (r"/RuleTriggered|/Violations|.*/distances/.*", (recount.balance,)),
    "OverallFrameworkMetrics": (r"/Details/(phase|horovod)/.*", (recount.phases, recount.horovod)),
    "StepOutlier": (r"/Details/step_details/.*", (recount.step_outliers,)),
}
"""Where we deviate (docs/aws-differences.md): which values, and how they are computed again."""

OF_ONE_WINDOW = {
    "CPUBottleneck", "Dataloader", "MaxInitializationTime", "OverallFrameworkMetrics",
    "StepOutlier",
}  # fmt: skip
"""Rules whose events AWS delivers twice at window edges, and once in the variant one-shot."""


def five_keys(result: RuleResult) -> dict[str, Any]:
    return {
        "RuleTriggered": result.counters.rule_triggered,
        "Violations": result.counters.violations,
        "Details": result.details,
        "Datapoints": result.counters.datapoints,
        "RuleParameters": result.rule_parameters,
    }


@cache
def parts_until_aws_end(job: str) -> tuple[NodeProfile, ...]:
    """Read a job as ``--to <end of AWS's last window>`` does."""
    end_us = json.loads((folder_of(job) / "scans.json").read_text())[-1]["end"]
    cut = cut_job(discover(str(folder_of(job))), TimeRange(to_ns=end_us * 1000))
    return tuple(read_node(part) for part in cut.parts)


@cache
def results(job: str) -> dict[str, RuleResult]:
    params = {rule.id: rule.params() for rule in AWS_RULES}
    measured = [measure_part(part, AWS_RULES, params) for part in parts_until_aws_end(job)]
    return {result.id: result for result in judge_all(measured, AWS_RULES, params)}


def theirs(job: str, rule: str, folder: str) -> dict[str, Any]:
    path = folder_of(job) / folder / f"{rule}.json"
    return dict(leaves(json.loads(path.read_text()))) if path.exists() else {}


def is_equal(ours: Any, other: Any, *, within: float = 0.0) -> bool:
    """Compare whole numbers, texts and instants exactly, other numbers to 1e-9."""
    if isinstance(ours, float) and isinstance(other, int | float):
        is_instant = ours > 1e9
        return math.isclose(ours, other, rel_tol=0 if is_instant else 1e-9, abs_tol=within)
    return type(ours) is type(other) and bool(ours == other)


def source_of(path: str, ours: Any, job: str, rule: str, again: recount.Leaves) -> str:
    """Return what a value of ours agrees with; an empty text when nothing."""
    rounding = 0.0101 if rule == "OverallSystemUsage" else 0.0
    if is_equal(ours, theirs(job, rule, "expected").get(path, ABSENT), within=rounding):
        return "expected"
    if rule == "MaxInitializationTime" and path.endswith("step_num/last"):
        return "recounted" if ours == _last_end_us(job) else ""
    one_shot = theirs(job, rule, f"variants/{ONE_SHOT}").get(path, ABSENT)
    if rule in OF_ONE_WINDOW and is_equal(ours, one_shot):
        return ONE_SHOT
    if rule == "LoadBalancing":
        repaired = theirs(job, rule, f"variants/{REPAIRED}").get(path, ABSENT)
        if "/distances/" in path and is_equal(ours, repaired, within=0.002):
            return REPAIRED
    pattern = RECOUNTED.get(rule, ("$^", ()))[0]
    if re.fullmatch(pattern, path) and is_equal(ours, again.get(path, ABSENT)):
        return "recounted"
    return ""


def _last_end_us(job: str) -> int:
    return max(int(part.spans.steps().end_ns.max()) for part in parts_until_aws_end(job)) // 1000


@cache
def sources(job: str, rule: str) -> dict[str, str]:
    """Return for each value, ours or AWS's, what ours agrees with."""
    ours = dict(leaves(five_keys(results(job)[rule])))
    again: recount.Leaves = {}
    for compute in RECOUNTED.get(rule, ("", ()))[1]:
        again |= compute(parts_until_aws_end(job))
    paths = {**ours, **theirs(job, rule, "expected")}
    return {path: source_of(path, ours.get(path, ABSENT), job, rule, again) for path in paths}


@cache
def stamps_of(job: str) -> tuple[tuple[int, str], ...]:
    """Return (microseconds, type) of the raw samples up to AWS's end, in AWS's order."""
    end_us = json.loads((folder_of(job) / "scans.json").read_text())[-1]["end"]
    files = sorted((folder_of(job) / "profiler-output").glob("system/**/*.json"), key=_place)
    samples = (json.loads(line) for path in files for line in path.read_text().splitlines())
    stamps = ((round(sample["Timestamp"] * 1e6), sample["Type"]) for sample in samples)
    return tuple(stamp for stamp in stamps if stamp[0] <= end_us)


def _place(path: Path) -> tuple[str, str]:
    stamp, node = path.name.split(".")[:2]
    return stamp, node


@pytest.mark.parametrize("job", ORACLE_JOBS)
def test_datapoints_of_aws_are_anchors_of_twenty_milliseconds(job: str) -> None:
    """Our reason for fewer Datapoints: AWS opens an anchor for each group over 20 ms late."""
    anchors = 0
    anchor_us = -(10**9)
    for stamp_us, _ in stamps_of(job):
        if abs(stamp_us - anchor_us) > 20_000:
            anchor_us = stamp_us
            anchors += 1
    assert theirs(job, "CPUBottleneck", "expected")["/Datapoints"] == anchors


def test_each_bottleneck_that_aws_lost_has_a_cpu_group_over_twenty_milliseconds_late() -> None:
    job = "b_cpu_bottleneck"
    ours: Any = results(job)["CPUBottleneck"].details["bottlenecks"]
    expected = {path.split("/")[3] for path in theirs(job, "CPUBottleneck", "expected")
                if path.startswith("/Details/bottlenecks/")}  # fmt: skip
    lost = set(ours) - expected
    assert expected < set(ours)
    assert len(lost) == 5
    cpu_us = sorted(stamp_us for stamp_us, kind in stamps_of(job) if kind == "cpu")
    for key in lost:
        tick_us = round(float(key) * 1e6)
        assert next(stamp_us for stamp_us in cpu_us if stamp_us >= tick_us) - tick_us > 20_000


@pytest.mark.parametrize("job", ORACLE_JOBS)
@pytest.mark.parametrize("rule", [rule.id for rule in AWS_RULES])
def test_every_value_is_aws_or_explained(job: str, rule: str) -> None:
    assert [path for path, source in sources(job, rule).items() if not source] == []


def test_most_values_are_those_that_aws_wrote() -> None:
    counts = Counter(
        source
        for job in ORACLE_JOBS
        for rule in AWS_RULES
        for source in sources(job, rule.id).values()
    )
    document = Path(__file__).resolve().parents[2] / "docs" / "aws-differences.md"
    table = dict(re.findall(r"^\| `([\w-]+)` \| ([\d,]+) \|", document.read_text(), re.MULTILINE))
    assert {name: int(count.replace(",", "")) for name, count in table.items()} == counts
