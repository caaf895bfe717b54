"""One rule result as JSON bytes and back.

The first five keys are AWS's, in AWS's order (docs/rules.md, Five keys); ``reportgen`` holds ours.
History of ``format``: 1, first version; 2, the needs of the page and of later readers are declared:
``about`` (a table among the exhibits before), ``data``, and of exhibits and columns ``depth``,
``role``, ``row_roles`` and ``place``; 3, ``about`` says which exhibits are shown ``at_a_glance``,
the kind of exhibit ``roofline``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from types import GenericAlias
from typing import Annotated, Any

import msgspec

from reportgen.errors import FormatError
from reportgen.masking import json_without_secrets
from reportgen.results.model import COLUMNAR, Exhibit, RuleResult
from reportgen.results.packed_columns import check_lengths

FORMAT, FIRST_FORMAT = 3, 1
AWS_KEYS = ("RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters")
_COUNTERS = {"rule_triggered": AWS_KEYS[0], "violations": AWS_KEYS[1], "datapoints": AWS_KEYS[3]}
_TYPES: dict[str, Any] = {"int": int, "float": float, "text": str, "bool": bool}


def encode(result: RuleResult) -> bytes:
    """Return the bytes of ``<Id>.json``, the same for equal results, with a final newline."""
    return b"".join(map(json_without_secrets, _encoded_parts(result)))


def _encoded_parts(result: RuleResult) -> Iterator[bytes]:
    tree = {key: getattr(result.counters, name) for name, key in _COUNTERS.items()}
    tree |= {"Details": result.details, "RuleParameters": result.rule_parameters}
    five = {key: tree[key] for key in AWS_KEYS}
    yield msgspec.json.encode({**five, "reportgen": _our_tree(result)})[: -len(b"}}")]
    yield from _last_keys(result)
    yield b"}}\n"


def encode_beside(result: RuleResult, original: bytes) -> bytes:
    """Return the ``original`` bytes of an imported result with our key appended.

    They are untouched but for secrets. Where the keys are not exactly AWS's five in AWS's order, or
    the bytes are no UTF-8, they are written anew.
    """
    text = original.removeprefix(b"\xef\xbb\xbf").rstrip()
    try:
        keys = tuple(msgspec.json.decode(text))
    except (UnicodeDecodeError, msgspec.DecodeError):
        keys = ()
    if keys != AWS_KEYS:
        return encode(result)
    ours = msgspec.json.encode(_our_tree(result))[: -len(b"}")]
    parts = [text[:-1], b', "reportgen": ', ours, *_last_keys(result), b"}}\n"]
    return b"".join(map(json_without_secrets, parts))


def _our_tree(result: RuleResult) -> dict[str, Any]:
    """Return our key without the last two keys in it."""
    return {
        "format": FORMAT,
        "id": result.id,
        "status": result.status,
        "reason": result.reason,
        "about": _lean(result.about),
        "params": result.params,
        "metrics": result.metrics,
        "findings": result.findings,
    }


def _last_keys(result: RuleResult) -> Iterator[bytes]:
    yield b',"exhibits":['
    for number, text in enumerate(_texts(result.exhibits)):
        yield b"," + text if number else text
    yield b'],"data":' + msgspec.json.encode(result.data)


def _texts(exhibits: Iterable[Exhibit]) -> Iterator[bytes]:
    """Yield the JSON of exhibits, one by one: the rows of all of them take much memory."""
    for item in exhibits:
        tree, values = _lean(item), [column.values for column in item.columns]
        if item.kind in COLUMNAR:
            named = zip((column.name for column in item.columns), values, strict=True)
            yield msgspec.json.encode({**tree, "data": dict(named)})
        else:
            yield msgspec.json.encode({**tree, "rows": list(zip(*values, strict=True))})


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
        tree = _parts(json_without_secrets(raw))
        ours, known = _parts(tree["reportgen"]), tuple(range(FIRST_FORMAT, FORMAT + 1))
        check_format(msgspec.json.decode(ours["format"]), known, path=path, of="result")
        texts = msgspec.json.decode(ours.pop("exhibits"), type=list[msgspec.Raw])
        trees: Iterable[Any] = map(msgspec.json.decode, texts)
        parts = {name: msgspec.json.decode(text) for name, text in ours.items()}
        if parts["format"] == FIRST_FORMAT:
            trees = list(trees)
            about = next((dict(item["rows"]) for item in trees if item["id"] == "about"), None)
            parts |= {"about": about, "data": []}  # the store adds where the rule stands
            trees = [item for item in trees if item["id"] != "about"]
        counters = {name: msgspec.json.decode(tree[key]) for name, key in _COUNTERS.items()}
        parts["counters"] = msgspec.convert(counters, dict[str, Annotated[int, msgspec.Meta(ge=0)]])
        parts["details"] = msgspec.json.decode(tree["Details"])
        parts["rule_parameters"] = msgspec.json.decode(tree["RuleParameters"])
        result = msgspec.convert(parts, RuleResult)
        check_lengths(result.data)
        exhibits = (msgspec.convert(_with_values(item), Exhibit) for item in trees)
        return replace(result, exhibits=tuple(exhibits))


def is_current(raw: bytes) -> bool:
    """Return whether a file is surely of the newest format; one that others wrote may be, too."""
    return f'{{"format":{FORMAT},'.encode() in raw


def _parts(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return the values of a JSON object, not yet decoded."""
    return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])


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
        head["values"] = _shared(items)
    return tree


def _shared(items: Iterable[Any]) -> list[Any]:
    """Return values of which equal ones are one object: groups of ranks, times of steps, zeros.

    ``0``, ``0.0``, ``-0.0`` and ``False`` are equal to Python, but not here.
    """
    known: dict[Any, Any] = {}
    return [known.setdefault((item.__class__, item or str(item)), item) for item in items]


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
