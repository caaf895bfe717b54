"""SageMaker's rule results: one JSON object of five keys per rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec

from reportgen.errors import FormatError
from reportgen.results import Counters, Details

FOLDERS = ("profiler-reports", "profiler-report")
"""How SageMaker calls the folder of results: real outputs say the first, its guide the second."""

AWS_RULES = frozenset(
    {
        "BatchSize",
        "CPUBottleneck",
        "Dataloader",
        "GPUMemoryIncrease",
        "IOBottleneck",
        "LoadBalancing",
        "LowGPUUtilization",
        "MaxInitializationTime",
        "OverallFrameworkMetrics",
        "OverallSystemUsage",
        "StepOutlier",
    }
)
"""SageMaker writes a file for each of them, also where a rule cannot apply."""

_KEYS = ("RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters")
_COUNTS = ("RuleTriggered", "Violations", "Datapoints")


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsResult:
    """One rule's result as SageMaker wrote it: its bytes, and the values of the five keys."""

    raw: bytes
    counters: Counters
    details: Details
    rule_parameters: str


def rule_name_of(key: str) -> str:
    """Return the rule that a result file is about: its name without ``.json``."""
    return PurePosixPath(key).stem


def read_aws_result(raw: bytes, *, path: str) -> AwsResult:
    """Read the five keys of a result; further keys are ignored.

    Raises:
        FormatError: not JSON, or one of the five keys is absent or of another type.
    """
    try:
        tree: Any = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise FormatError(f"{path} is not JSON ({err}).", path=path) from err
    problem = _problem(tree)
    if problem:
        raise FormatError(f"{path} is not a rule result of SageMaker: {problem}.", path=path)
    return AwsResult(
        raw=raw,
        counters=Counters(
            rule_triggered=tree["RuleTriggered"],
            violations=tree["Violations"],
            datapoints=tree["Datapoints"],
        ),
        details=tree["Details"],
        rule_parameters=tree["RuleParameters"],
    )


def _problem(tree: Any) -> str:
    if not isinstance(tree, dict):
        return "expected an object"
    missing = [key for key in _KEYS if key not in tree]
    if missing:
        return f"it has no {missing[0]}"
    if any(type(tree[key]) is not int or tree[key] < 0 for key in _COUNTS):
        return f"{', '.join(_COUNTS)} are expected to be whole numbers of at least 0"
    if not isinstance(tree["Details"], dict) or not isinstance(tree["RuleParameters"], str):
        return "Details is expected to be an object, RuleParameters a text"
    return ""
