"""One rule result as JSON bytes and back.

The first five keys are AWS's, in AWS's order (docs/rules.md, Five keys); ``reportgen`` holds ours.
History of ``format``: 1, first version; 2, what the page and later readers need is declared:
``about`` (a table among the exhibits before), ``data``, and of exhibits and columns ``depth``,
``role``, ``row_roles`` and ``place``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Annotated, Any

import msgspec

from reportgen.errors import FormatError
from reportgen.results.model import (
    COLUMNAR,
    About,
    ColumnType,
    Counters,
    Exhibit,
    Finding,
    PackedTable,
    Reason,
    RuleId,
    RuleResult,
    Scalar,
    Status,
)

FORMAT, FIRST_FORMAT = 2, 1
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
        "status": result.status,
        "reason": result.reason,
        "about": None if result.about is None else lean(result.about),
        "params": result.params,
        "metrics": result.metrics,
        "findings": [finding_tree(finding) for finding in result.findings],
        "exhibits": [_exhibit_tree(exhibit) for exhibit in result.exhibits],
        "data": result.data,
    }


def decode(raw: bytes, *, path: str) -> RuleResult:
    """Read the bytes of an ``<Id>.json`` that we wrote, in this format or the first one.

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
        if version not in (FIRST_FORMAT, FORMAT):
            raise FormatError(
                f"{path} has result format {version}; this version reads format {FORMAT}.",
                hint="Update with: pip install -U make-profiler-report",
                path=path,
            )
        return _result(tree, _from_first(ours) if version == FIRST_FORMAT else ours)
    except NOT_OURS as err:
        raise FormatError(
            f"{path} is not a rule result of make-profiler-report ({type(err).__name__}: {err}).",
            hint="Run make-profiler-report on the job again.",
            path=path,
        ) from err


def lean(value: Any) -> Any:
    """Return a declaration as JSON, without what is as it is by default."""
    if is_dataclass(value):
        return {
            item.name: lean(held)
            for item in fields(value)
            if (held := getattr(value, item.name)) != _default_of(item)
        }
    if isinstance(value, tuple):
        return [lean(item) for item in value]
    return value


def _default_of(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def finding_tree(finding: Finding) -> dict[str, Any]:
    """Return a finding as the JSON object that result files and ``report.json`` hold."""
    return {item.name: getattr(finding, item.name) for item in fields(finding)}


_ADDED = ("cause", "symptom_of", "attributed_ratio", "evidence", "possible_causes")
"""Fields of a finding that reports of former versions lack."""


def finding_from_tree(tree: dict[str, Any]) -> Finding:
    """Read a finding back from its JSON object.

    Raises:
        ValueError: a field is absent or of another type.
    """
    missing = [item.name for item in fields(Finding) if item.name not in {*tree, *_ADDED}]
    if missing:
        raise ValueError(f"a finding has no {missing[0]}")
    return msgspec.convert(tree, Finding)


def _exhibit_tree(exhibit: Exhibit) -> dict[str, Any]:
    tree = lean(replace(exhibit, columns=()))
    tree["columns"] = [lean(replace(column, values=())) for column in exhibit.columns]
    for head in tree["columns"]:
        del head["values"]
    if exhibit.kind in COLUMNAR:
        return {**tree, "data": {column.name: column.values for column in exhibit.columns}}
    return {**tree, "rows": list(zip(*(column.values for column in exhibit.columns), strict=True))}


def _exhibit(tree: dict[str, Any]) -> Exhibit:
    heads = tree["columns"]
    if "data" in tree:
        values = [tuple(tree["data"][head["name"]]) for head in heads]
    elif tree["rows"]:
        values = list(zip(*tree["rows"], strict=True))
    else:
        values = [() for _ in heads]
    if len(set(map(len, values))) > 1:
        raise ValueError(f"columns of {tree['id']} differ in length")
    for head, items in zip(heads, values, strict=True):
        msgspec.convert(items, _VALUES[ColumnType(head["type"])])
    columns = [{**head, "values": items} for head, items in zip(heads, values, strict=True)]
    return msgspec.convert({**tree, "columns": columns}, Exhibit)


_VALUES: Mapping[ColumnType, Any] = {
    ColumnType.INT: tuple[int | None, ...],
    ColumnType.FLOAT: tuple[float | None, ...],
    ColumnType.TEXT: tuple[str | None, ...],
    ColumnType.BOOL: tuple[bool | None, ...],
}
_COUNT: Any = Annotated[int, msgspec.Meta(ge=0)]


def _result(tree: dict[str, Any], ours: dict[str, Any]) -> RuleResult:
    return RuleResult(
        id=RuleId(msgspec.convert(ours["id"], str)),
        status=Status(ours["status"]),
        reason=msgspec.convert(ours["reason"], Reason | None),
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
        data=msgspec.convert(ours["data"], tuple[PackedTable, ...]),
        about=msgspec.convert(ours["about"], About | None),
    )


def _from_first(ours: dict[str, Any]) -> dict[str, Any]:
    """Return our key of format 1 as it is in this one: the rule's words were its last exhibit.

    Where its results stand was known to the page alone; see ``reportgen.store.load``.
    """
    evidence = [item for item in ours["exhibits"] if item["id"] != "about"]
    words = [dict(item["rows"]) for item in ours["exhibits"] if item["id"] == "about"]
    return {**ours, "exhibits": evidence, "about": words[0] if words else None, "data": []}
