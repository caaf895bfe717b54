"""Write the JSON Schemas of both file kinds from the types: ``python docs/schema_build.py``.

Enumerations, keys and which of them may be null come from the dataclasses of ``reportgen.results``
and ``reportgen.report``; a test proves that the files are fresh.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Any

from reportgen.comparison import Comparison
from reportgen.comparison import codec as comparison_codec
from reportgen.index import Index, JobRow
from reportgen.index.model import FORMAT as INDEX_FORMAT
from reportgen.profile import Clock, Quality
from reportgen.profiler_config import Profiling
from reportgen.recorded_job import Recording
from reportgen.report import (
    Figures,
    JobHeader,
    JobSummary,
    QualityNote,
    RuleEntry,
    Setup,
    TimelineEntry,
)
from reportgen.report import codec as report_codec
from reportgen.results import (
    About,
    Column,
    Exhibit,
    ExhibitKind,
    Finding,
    PackedTable,
    Reason,
    Status,
    place,
)
from reportgen.results import codec as result_codec
from reportgen.results.model import COLUMNAR

FOLDER = Path(__file__).resolve().parent / "schema"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS = {"type": ["string", "number", "boolean", "null"]}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_COUNT = {"type": "integer", "minimum": 0}


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema of a type: a dataclass, an enumeration, a union or a plain type.

    Raises:
        TypeError: a type that has no counterpart here.
    """
    if isinstance(kind, types.UnionType):
        return _one_of([schema_of(option) for option in typing.get_args(kind)])
    if hasattr(kind, "__supertype__"):
        return schema_of(kind.__supertype__)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if typing.get_origin(kind) in {tuple, frozenset}:
        return _list_of(schema_of(typing.get_args(kind)[0]))
    if typing.get_origin(kind) is Mapping:
        return _map_of(schema_of(typing.get_args(kind)[1]))
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        return closed(_fields_of(kind, ()), optional=_optional(kind))
    raise TypeError(f"no schema for {kind!r}")


def _fields_of(kind: Any, left_out: Collection[str]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    names = [item.name for item in fields(kind) if item.name not in left_out]
    return {name: schema_of(hints[name]) for name in names}


def _optional(kind: Any) -> frozenset[str]:
    """Return the keys that a declaration leaves out where they have their default."""
    if kind.__module__ != place.__name__ and kind not in (About, Column, Exhibit):
        return frozenset()
    return frozenset(
        item.name
        for item in fields(kind)
        if item.default is not MISSING or item.default_factory is not MISSING
    )


def closed(properties: dict[str, Any], *, optional: Collection[str] = ()) -> dict[str, Any]:
    """Return an object that has these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _one_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    if all(set(option) == {"type"} for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map_of(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _exhibit() -> dict[str, Any]:
    """Return an exhibit: rows, or for curves columns under ``data``."""
    column = closed(_fields_of(Column, {"values"}), optional=_optional(Column))
    head = {**_fields_of(Exhibit, {"kind", "columns"}), "columns": _list_of(column)}
    in_columns = [kind.value for kind in COLUMNAR]
    in_rows = [kind.value for kind in ExhibitKind if kind.value not in in_columns]
    data, rows = _map_of(_list_of(_SCALARS)), _list_of(_list_of(_SCALARS))
    optional = _optional(Exhibit)
    return {
        "anyOf": [
            closed({**head, "kind": {"enum": in_columns}, "data": data}, optional=optional),
            closed({**head, "kind": {"enum": in_rows}, "rows": rows}, optional=optional),
        ]
    }


def result_schema() -> dict[str, Any]:
    """Return the schema of ``<Id>.json``."""
    ours = {
        "format": {"const": result_codec.FORMAT},
        "id": {"type": "string"},
        "status": schema_of(Status),
        "reason": schema_of(Reason | None),
        "about": schema_of(About | None),
        "params": _map_of(_SCALARS),
        "metrics": _map_of({"type": ["number", "null"]}),
        "findings": _list_of(schema_of(Finding)),
        "exhibits": _list_of(_exhibit()),
        "data": _list_of(schema_of(PackedTable)),
    }
    five: dict[str, Any] = dict.fromkeys(result_codec.AWS_KEYS, _COUNT)
    five |= {"Details": {"type": "object"}, "RuleParameters": {"type": "string"}}
    return _titled("One rule's result, <Id>.json", closed({**five, "reportgen": closed(ours)}))


def report_schema() -> dict[str, Any]:
    """Return the schema of ``report.json``."""
    finding = schema_of(Finding)["properties"]
    quality = {item.value: _COUNT for item in Quality}
    header = schema_of(JobHeader)["properties"] | {"clock": schema_of(Clock)}
    body = {
        "format": {"const": report_codec.FORMAT},
        "report_id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "job": closed(header),
        "summary": schema_of(JobSummary),
        "nodes": _list_of({"type": "string"}),
        "sampling_interval_ms": schema_of(int | None),
        "findings": _list_of(closed({"rule": {"type": "string"}, **finding})),
        "rules": _map_of(schema_of(RuleEntry)),
        "data_quality": closed({**quality, "notes": _list_of(schema_of(QualityNote))}),
        "versions": _map_of({"type": "string"}),
        "profiling": schema_of(Profiling | None),
        "recording": schema_of(Recording | None),
        "setup": schema_of(Setup | None),
        "figures": schema_of(Figures | None),
        "timeline": schema_of(TimelineEntry | None),
    }
    return _titled("The job and all findings, report.json", closed(body))


def comparison_schema() -> dict[str, Any]:
    """Return the schema of ``profiler-comparison.json``."""
    body = {
        "format": {"const": comparison_codec.FORMAT},
        **_fields_of(Comparison, ()),
        "step_mean_difference_s": schema_of(float | None),
    }
    return _titled("Two jobs side by side, profiler-comparison.json", closed(body))


def index_schema() -> dict[str, Any]:
    """Return the schema of ``profiler-index.json``."""
    body = {
        "format": {"const": INDEX_FORMAT},
        **_fields_of(Index, {"jobs"}),
        "jobs": _list_of(schema_of(JobRow)),
    }
    return _titled("Many jobs, profiler-index.json", closed(body))


def _titled(title: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **body}


def fresh_schemas() -> dict[Path, str]:
    """Return the text of each schema by its path."""
    made = {
        "result.schema.json": result_schema(),
        "report.schema.json": report_schema(),
        "comparison.schema.json": comparison_schema(),
        "index.schema.json": index_schema(),
    }
    return {FOLDER / name: json.dumps(tree, indent=1) + "\n" for name, tree in made.items()}


def main() -> None:
    """Write the schemas."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in fresh_schemas().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    main()
