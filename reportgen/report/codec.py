"""``report.json``: the model as bytes and back. History of ``format``: 1, first version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from reportgen.errors import FormatError
from reportgen.profiler_config import Profiling
from reportgen.report.model import (
    DataQuality,
    JobHeader,
    JobSummary,
    QualityNote,
    RankedFinding,
    Report,
    RuleEntry,
)
from reportgen.results import RuleId, RuleResult
from reportgen.results.codec import NOT_OURS, finding_from_tree, finding_tree

FORMAT = 1


def encode(report: Report) -> bytes:
    """Return the bytes of ``report.json``, indented, the same for equal reports."""
    tree = {
        "format": FORMAT,
        "report_id": report.report_id,
        "job": report.job,
        "summary": report.summary,
        "nodes": report.nodes,
        "sampling_interval_ms": report.sampling_interval_ms,
        "findings": [
            {"rule": ranked.rule, **finding_tree(ranked.finding)} for ranked in report.findings
        ],
        "rules": report.rules,
        "data_quality": {**report.data_quality.counters, "notes": report.data_quality.notes},
        "versions": report.versions,
        "profiling": report.profiling,
    }
    return msgspec.json.format(msgspec.json.encode(tree), indent=1) + b"\n"


def decode(raw: bytes, *, path: str, results: Mapping[RuleId, RuleResult]) -> Report:
    """Read the bytes of ``report.json``.

    Args:
        raw: the file's bytes.
        path: where they come from, for messages.
        results: the rule results found beside it.

    Raises:
        FormatError: not JSON, not a report of ours, or a newer format.
    """
    try:
        tree: Any = msgspec.json.decode(raw)
        if tree["format"] != FORMAT:
            raise FormatError(
                f"{path} has report format {tree['format']}; this version reads format {FORMAT}.",
                hint="Update with: pip install -U make-profiler-report",
                path=path,
            )
        return _report(tree, results)
    except NOT_OURS as err:
        raise FormatError(
            f"{path} is not a report of make-profiler-report ({type(err).__name__}: {err}).",
            hint="Run make-profiler-report on the job again.",
            path=path,
        ) from err


def _report(tree: dict[str, Any], results: Mapping[RuleId, RuleResult]) -> Report:
    quality = msgspec.convert(tree["data_quality"], dict[str, Any])
    notes = msgspec.convert(quality.pop("notes"), tuple[QualityNote, ...])
    return Report(
        report_id=msgspec.convert(tree["report_id"], str),
        job=msgspec.convert(tree["job"], JobHeader),
        summary=msgspec.convert(tree["summary"], JobSummary),
        nodes=msgspec.convert(tree["nodes"], tuple[str, ...]),
        sampling_interval_ms=msgspec.convert(tree["sampling_interval_ms"], int | None),
        findings=tuple(
            RankedFinding(
                rule=RuleId(msgspec.convert(item["rule"], str)), finding=finding_from_tree(item)
            )
            for item in tree["findings"]
        ),
        rules=msgspec.convert(tree["rules"], dict[RuleId, RuleEntry]),
        data_quality=DataQuality(counters=msgspec.convert(quality, dict[str, int]), notes=notes),
        versions=msgspec.convert(tree["versions"], dict[str, str]),
        profiling=msgspec.convert(tree.get("profiling"), Profiling | None),
        results=results,
    )
