"""SageMaker's rule results: one JSON object of five keys per rule."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any

import msgspec

from reportgen.errors import FormatError
from reportgen.results import AwsResult, Counters, RuleId

FOLDERS = ("profiler-reports", "profiler-report")
"""How SageMaker calls the folder of results: real outputs say the first, its guide the second."""

_RULES = (
    "OverallSystemUsage OverallFrameworkMetrics MaxInitializationTime StepOutlier "
    "LowGPUUtilization LoadBalancing Dataloader BatchSize CPUBottleneck IOBottleneck "
    "GPUMemoryIncrease"
)
AWS_RULES = tuple(map(RuleId, _RULES.split()))
"""SageMaker writes a file for each of them, also where a rule cannot apply; in a report's order."""

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Result(msgspec.Struct, rename="pascal"):
    rule_triggered: _Count
    violations: _Count
    details: dict[str, Any]
    datapoints: _Count
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
        found = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"), type=_Result)
    except msgspec.ValidationError as err:
        raise FormatError(f"{path} is not a rule result of SageMaker: {err}.", path=path) from err
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise FormatError(f"{path} is not JSON ({err}).", path=path) from err
    return AwsResult(
        raw=raw,
        counters=Counters(
            rule_triggered=found.rule_triggered,
            violations=found.violations,
            datapoints=found.datapoints,
        ),
        details=found.details,
        rule_parameters=found.rule_parameters,
    )
