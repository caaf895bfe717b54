"""One rule result as JSON bytes and back.

The first five keys are AWS's, in AWS's order (docs/rules.md, Five keys); ``reportgen`` holds ours.
History of ``format``: 1, first version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

import msgspec

from reportgen.errors import FormatError
from reportgen.results.model import (
    COLUMNAR,
    Column,
    ColumnType,
    Counters,
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    RuleId,
    RuleResult,
    Scalar,
    Status,
)

FORMAT = 1
UNSAVED = frozenset({"causes"})
"""Fields of a finding that shape the report and are in no file."""
NOT_OURS = (
    msgspec.DecodeError,
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
)
"""What reading a file of any other shape can raise."""
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
        "reason": reason_tree(result.reason),
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
    except NOT_OURS as err:
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
    """Read a finding back from its JSON object.

    Raises:
        ValueError: a field is absent or of another type.
    """
    saved = [item.name for item in fields(Finding) if item.name not in UNSAVED]
    missing = [name for name in saved if name not in tree]
    if missing:
        raise ValueError(f"a finding has no {missing[0]}")
    return msgspec.convert({name: tree[name] for name in saved}, Finding)


def reason_tree(reason: Reason | None) -> dict[str, str] | None:
    """Return a reason as the JSON object that result files and ``report.json`` hold."""
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
    columns = tuple(_column(head, items) for head, items in zip(heads, values, strict=True))
    if len({len(column.values) for column in columns}) > 1:
        raise ValueError(f"columns of {tree['id']} differ in length")
    return Exhibit(
        id=msgspec.convert(tree["id"], str),
        kind=ExhibitKind(tree["kind"]),
        title=msgspec.convert(tree["title"], str),
        caption=msgspec.convert(tree["caption"], str),
        columns=columns,
    )


def _column(head: dict[str, Any], values: tuple[Any, ...]) -> Column:
    """Return a column whose values are of the type it declares."""
    kind = ColumnType(head["type"])
    msgspec.convert(values, _VALUES[kind])
    return Column(
        name=msgspec.convert(head["name"], str),
        unit=msgspec.convert(head["unit"], str),
        type=kind,
        values=values,
    )


_VALUES: Mapping[ColumnType, Any] = {
    ColumnType.INT: tuple[int | None, ...],
    ColumnType.FLOAT: tuple[float | None, ...],
    ColumnType.TEXT: tuple[str | None, ...],
    ColumnType.BOOL: tuple[bool | None, ...],
}


_COUNT: Any = Annotated[int, msgspec.Meta(ge=0)]


def reason_from_tree(tree: Any) -> Reason | None:
    """Read a reason back from its JSON object."""
    return msgspec.convert(tree, Reason | None)


def _result(tree: dict[str, Any], ours: dict[str, Any]) -> RuleResult:
    return RuleResult(
        id=RuleId(msgspec.convert(ours["id"], str)),
        status=Status(ours["status"]),
        reason=reason_from_tree(ours["reason"]),
        counters=Counters(
            rule_triggered=msgspec.convert(tree["RuleTriggered"], _COUNT),
            violations=msgspec.convert(tree["Violations"], _COUNT),
            datapoints=msgspec.convert(tree["Datapoints"], _COUNT),
        ),
        details=msgspec.convert(tree["Details"], dict[str, Any]),
        rule_parameters=msgspec.convert(tree["RuleParameters"], str),
        params=msgspec.convert(ours["params"], dict[str, Scalar]),
        metrics=msgspec.convert(ours["metrics"], dict[str, int | float | None]),
        findings=tuple(finding_from_tree(item) for item in ours["findings"]),
        exhibits=tuple(_exhibit(item) for item in ours["exhibits"]),
    )
