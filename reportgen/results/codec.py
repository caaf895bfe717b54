"""One rule result as JSON bytes and back.

The first five keys are AWS's, in AWS's order (docs/rules.md, Five keys); ``reportgen`` holds ours.
History of ``format``: 1, first version; 2, the needs of the page and of later readers are declared:
``about`` (a table among the exhibits before), ``data``, and of exhibits and columns ``depth``,
``role``, ``row_roles`` and ``place``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import GenericAlias
from typing import Annotated, Any

import msgspec

from reportgen.errors import FormatError
from reportgen.results.model import COLUMNAR, ColumnType, Exhibit, RuleResult

FORMAT, FIRST_FORMAT = 2, 1
AWS_KEYS = ("RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters")
_COUNTERS = {"rule_triggered": AWS_KEYS[0], "violations": AWS_KEYS[1], "datapoints": AWS_KEYS[3]}
_TYPES: dict[str, Any] = {"int": int, "float": float, "text": str, "bool": bool}


def encode(result: RuleResult) -> bytes:
    """Return the bytes of ``<Id>.json``, the same for equal results, with a final newline."""
    tree = {key: getattr(result.counters, name) for name, key in _COUNTERS.items()}
    tree |= {"Details": result.details, "RuleParameters": result.rule_parameters}
    five = {key: tree[key] for key in AWS_KEYS}
    return msgspec.json.encode({**five, "reportgen": _our_tree(result)}) + b"\n"


def encode_beside(result: RuleResult, original: bytes) -> bytes:
    """Return the ``original`` bytes of an imported result, untouched, with our key appended.

    Where the keys are not exactly AWS's five in AWS's order, they are written anew.
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
        "about": _lean(result.about),
        "params": result.params,
        "metrics": result.metrics,
        "findings": result.findings,
        "exhibits": [_exhibit_tree(exhibit) for exhibit in result.exhibits],
        "data": result.data,
    }


def _exhibit_tree(exhibit: Exhibit) -> dict[str, Any]:
    tree, columns = _lean(exhibit), exhibit.columns
    if exhibit.kind in COLUMNAR:
        return {**tree, "data": {column.name: column.values for column in columns}}
    return {**tree, "rows": list(zip(*(column.values for column in columns), strict=True))}


def _lean(value: Any) -> Any:
    """Return a declaration as JSON, without what is as it is by default and without ``values``."""
    defaults = _defaults_of(value.__class__)
    if defaults:
        return {
            name: _lean(held)
            for name, default in defaults
            if (held := getattr(value, name)) != default
        }
    return [_lean(item) for item in value] if isinstance(value, tuple) else value


@cache
def _defaults_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a declaration, all but ``values``, with their defaults."""
    return tuple(
        (item.name, item.default if item.default_factory is MISSING else item.default_factory())
        for item in (fields(kind) if is_dataclass(kind) else ())
        if item.name != "values"
    )


def decode(raw: bytes, *, path: str) -> RuleResult:
    """Read the bytes of an ``<Id>.json`` that we wrote; messages name its ``path``.

    Raises:
        FormatError: not JSON, not a result of ours, or a newer format.
    """
    with reading(path, of="rule result"):
        tree: Any = msgspec.json.decode(raw)
        ours = tree["reportgen"]
        check_format(ours["format"], (FIRST_FORMAT, FORMAT), path=path, of="result")
        if ours["format"] == FIRST_FORMAT:
            ours = _from_first(ours)
        counters = {name: tree[key] for name, key in _COUNTERS.items()}
        ours["counters"] = msgspec.convert(counters, dict[str, Annotated[int, msgspec.Meta(ge=0)]])
        ours |= {"details": tree["Details"], "rule_parameters": tree["RuleParameters"]}
        ours["exhibits"] = [_with_values(item) for item in ours["exhibits"]]
        return msgspec.convert(ours, RuleResult)


def _from_first(ours: dict[str, Any]) -> dict[str, Any]:
    """Return our key of format 1 in this format; ``reportgen.store.load`` adds where it stands."""
    evidence = [item for item in ours["exhibits"] if item["id"] != "about"]
    words = [dict(item["rows"]) for item in ours["exhibits"] if item["id"] == "about"]
    return {**ours, "exhibits": evidence, "about": words[0] if words else None, "data": []}


def _with_values(tree: dict[str, Any]) -> dict[str, Any]:
    """Return an exhibit's object with the values in their columns, each of the declared type."""
    heads = tree["columns"]
    if "data" in tree:
        values = [tree["data"][head["name"]] for head in heads]
    else:
        values = list(zip(*tree.pop("rows"), strict=True)) or [() for _ in heads]
    if len(set(map(len, values))) > 1:
        raise ValueError(f"columns of {tree['id']} differ in length")
    for head, items in zip(heads, values, strict=True):
        msgspec.convert(items, GenericAlias(list, (_TYPES[head["type"]] | None,)))
        known: dict[Any, Any] = {}  # a group of ranks is named in thousands of rows
        is_text = head["type"] == ColumnType.TEXT
        head["values"] = [known.setdefault(item, item) for item in items] if is_text else items
    return tree


@contextmanager
def reading(path: str, *, of: str) -> Iterator[None]:
    """Raise a ``FormatError`` that names the file for all that a file of another shape raises."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as err:
        raise FormatError(
            f"{path} is not a {of} of make-profiler-report ({type(err).__name__}: {err}).",
            hint="Run make-profiler-report on the job again.",
            path=path,
        ) from err


def check_format(version: object, known: tuple[int, ...], *, path: str, of: str) -> None:
    """Refuse a file of a format that is not among the known ones, the newest of which is last."""
    if version not in known:
        raise FormatError(
            f"{path} has {of} format {version}; this version reads format {known[-1]}.",
            hint="Update with: pip install -U make-profiler-report",
            path=path,
        )
