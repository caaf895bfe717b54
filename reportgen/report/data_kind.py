"""The kind of data of a report."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from reportgen.results import ReasonCode, RuleId, RuleResult, Status

_STEPS = RuleId("StepOutlier")
_OF_TRACES = tuple(map(RuleId, ("GPUActivity", "StepTime")))
"""Rules that read kernel traces alone. Reports of old versions list them, skipped, for any job."""


class DataKind(StrEnum):
    """The richest kind of data that was recorded of a job."""

    TRACES = "kernel traces"
    EVENTS = "framework events"
    SAMPLES = "system metrics"
    IMPORTED = "results of SageMaker's rules"


def data_kind(results: Mapping[RuleId, RuleResult]) -> DataKind:
    """Return the kind of data behind the results of a job."""
    if any(
        result.reason and result.reason.code is ReasonCode.IMPORTED for result in results.values()
    ):
        return DataKind.IMPORTED
    traced = [results[rule_id] for rule_id in _OF_TRACES if rule_id in results]
    steps = results.get(_STEPS)
    if traced and (steps is None or any(result.status is not Status.SKIPPED for result in traced)):
        return DataKind.TRACES
    has_steps = steps is not None and (steps.data or steps.metrics.get("steps"))
    return DataKind.EVENTS if has_steps else DataKind.SAMPLES
