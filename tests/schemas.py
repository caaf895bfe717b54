"""Validate produced files with the schemas that are shipped."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema  # nbformat brings it
from jsonschema import Draft202012Validator

from reportgen.assets import schema_dir


@cache
def validator(name: str) -> Any:
    """Return the validator of ``result`` or ``report`` files."""
    schema = json.loads((schema_dir() / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def _compiled(name: str) -> Any:
    # Our schemas say nothing that this older version does not know.
    schema = validator(name).schema | {"$schema": "http://json-schema.org/draft-07/schema#"}
    return fastjsonschema.compile(schema)


def is_valid(name: str, tree: Any) -> bool:
    """Return whether a file obeys its schema: ten times faster than ``complaints``."""
    try:
        _compiled(name)(tree)
    except fastjsonschema.JsonSchemaException:
        return False
    return True


def complaints(name: str, raw: bytes) -> list[str]:
    """Return what a file's schema says against it."""
    errors = validator(name).iter_errors(json.loads(raw))
    return [f"{error.json_path}: {error.message[:200]}" for error in errors]


def assert_valid(report_dir: Path) -> int:
    """Check every file of a report directory and return how many there are."""
    paths = sorted(report_dir.glob("*.json"))
    for path in paths:
        name = "report" if path.name == "report.json" else "result"
        assert complaints(name, path.read_bytes()) == [], path.name
    return len(paths)
