"""One rule result as JSON bytes and back.

The first five keys are AWS's, in AWS's order (source: rules-spec §0.1); ``reportgen`` holds ours.
History of ``format``: 1, first version.
"""

from __future__ import annotations

from typing import Any

import msgspec

from reportgen.errors import FormatError
from reportgen.results.model import (
    Column,
    ColumnType,
    Counters,
    Estimate,
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Severity,
    Status,
    Where,
)

FORMAT = 1
COLUMNAR = (ExhibitKind.SERIES, ExhibitKind.BAND)
AWS_KEYS = ("RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters")


def encode(result: RuleResult) -> bytes:
    """Return the bytes of ``<Id>.json``, the same for equal results, with a final newline."""
    tree = {
        "RuleTriggered": result.counters.rule_triggered,
        "Violations": result.counters.violations,
        "Details": result.details,
        "Datapoints": result.counters.datapoints,
        "RuleParameters": result.rule_parameters,
        "reportgen": _our_tree(result),
    }
    return msgspec.json.encode(tree) + b"\n"


def encode_beside(result: RuleResult, original: bytes) -> bytes:
    """Return the bytes of a file with five keys, untouched, and our key appended to them.

    Args:
        result: what we say about an imported result.
        original: the bytes of its file. Where its keys are not exactly AWS's five in AWS's order,
            they are written anew, with equal values.
    """
    text = original.removeprefix(b"\xef\xbb\xbf").rstrip()
    if tuple(msgspec.json.decode(text)) != AWS_KEYS:
        return encode(result)
    ours = msgspec.json.encode(_our_tree(result))
    return text[:-1] + b', "reportgen": ' + ours + b"}\n"


def _our_tree(result: RuleResult) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "id": result.id,
        "status": result.status.value,
        "reason": _reason_tree(result.reason),
        "params": dict(result.params),
        "metrics": dict(result.metrics),
        "findings": [finding_tree(finding) for finding in result.findings],
        "exhibits": [_exhibit_tree(exhibit) for exhibit in result.exhibits],
    }


def decode(raw: bytes, *, path: str) -> RuleResult:
    """Read the bytes of an ``<Id>.json`` that we wrote.

    Args:
        raw: the file's bytes.
        path: where they come from, for messages.

    Raises:
        FormatError: not JSON, not a result of ours, or a newer format.
    """
    try:
        tree: Any = msgspec.json.decode(raw)
        ours = tree["reportgen"]
        version = ours["format"]
        if version != FORMAT:
            raise FormatError(
                f"{path} has result format {version}; this version reads format {FORMAT}.",
                hint="Update with: pip install -U make-profiler-report",
                path=path,
            )
        return _result(tree, ours)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as err:
        raise FormatError(
            f"{path} is not a rule result of make-profiler-report ({type(err).__name__}: {err}).",
            hint="Run make-profiler-report on the job again.",
            path=path,
        ) from err


def finding_tree(finding: Finding) -> dict[str, Any]:
    """Return a finding as the JSON object that result files and ``report.json`` hold."""
    where = finding.where
    estimate = finding.estimate
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "title": finding.title,
        "text": finding.text,
        "where": {
            "node": where.node,
            "device": where.device,
            "start_s": where.start_s,
            "end_s": where.end_s,
        },
        "measured": finding.measured,
        "threshold": finding.threshold,
        "unit": finding.unit,
        "advice": finding.advice,
        "estimate": None
        if estimate is None
        else {
            "share_ratio": estimate.share_ratio,
            "speedup_at_most": estimate.speedup_at_most,
        },
        "exhibit": finding.exhibit,
    }


def finding_from_tree(tree: dict[str, Any]) -> Finding:
    """Read a finding back from its JSON object."""
    estimate = tree["estimate"]
    return Finding(
        id=tree["id"],
        severity=Severity(tree["severity"]),
        title=tree["title"],
        text=tree["text"],
        where=Where(**tree["where"]),
        measured=tree["measured"],
        threshold=tree["threshold"],
        unit=tree["unit"],
        advice=tree["advice"],
        estimate=None if estimate is None else Estimate(**estimate),
        exhibit=tree["exhibit"],
    )


def _reason_tree(reason: Reason | None) -> dict[str, str] | None:
    return None if reason is None else {"code": reason.code.value, "text": reason.text}


def _exhibit_tree(exhibit: Exhibit) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "id": exhibit.id,
        "kind": exhibit.kind.value,
        "title": exhibit.title,
        "caption": exhibit.caption,
        "columns": [
            {"name": column.name, "unit": column.unit, "type": column.type.value}
            for column in exhibit.columns
        ],
    }
    if exhibit.kind in COLUMNAR:
        tree["data"] = {column.name: column.values for column in exhibit.columns}
    else:
        tree["rows"] = list(zip(*(column.values for column in exhibit.columns), strict=True))
    return tree


def _exhibit(tree: dict[str, Any]) -> Exhibit:
    heads = tree["columns"]
    if "data" in tree:
        values = [tuple(tree["data"][head["name"]]) for head in heads]
    elif tree["rows"]:
        values = list(zip(*tree["rows"], strict=True))
    else:
        values = [() for _ in heads]
    return Exhibit(
        id=tree["id"],
        kind=ExhibitKind(tree["kind"]),
        title=tree["title"],
        caption=tree["caption"],
        columns=tuple(
            Column(
                name=head["name"],
                unit=head["unit"],
                type=ColumnType(head["type"]),
                values=items,
            )
            for head, items in zip(heads, values, strict=True)
        ),
    )


def _result(tree: dict[str, Any], ours: dict[str, Any]) -> RuleResult:
    reason = ours["reason"]
    return RuleResult(
        id=RuleId(ours["id"]),
        status=Status(ours["status"]),
        reason=None
        if reason is None
        else Reason(code=ReasonCode(reason["code"]), text=reason["text"]),
        counters=Counters(
            rule_triggered=tree["RuleTriggered"],
            violations=tree["Violations"],
            datapoints=tree["Datapoints"],
        ),
        details=tree["Details"],
        rule_parameters=tree["RuleParameters"],
        params=ours["params"],
        metrics=ours["metrics"],
        findings=tuple(finding_from_tree(item) for item in ours["findings"]),
        exhibits=tuple(_exhibit(item) for item in ours["exhibits"]),
    )
