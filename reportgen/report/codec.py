"""``report.json``: the model as bytes and back. History of ``format``: 1, first version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import msgspec

from reportgen.masking import json_without_secrets
from reportgen.report.model import Report
from reportgen.results import RuleId, RuleResult
from reportgen.results.codec import check_format, reading

FILE = "report.json"
FORMAT = 1
_ID_LENGTH = 16
_BESIDE = frozenset({"results", "contents", "timeline_data"})
"""Content of separate files."""


def encode(report: Report) -> bytes:
    """Return the bytes of ``report.json``, indented, the same for equal reports."""
    saved = [item.name for item in fields(report) if item.name not in _BESIDE]
    tree = {
        "format": FORMAT,
        **{name: getattr(report, name) for name in saved},
        "findings": [
            {"rule": item.rule, **msgspec.to_builtins(item.finding)} for item in report.findings
        ],
        "data_quality": {**report.data_quality.counters, "notes": report.data_quality.notes},
    }
    return json_without_secrets(msgspec.json.format(msgspec.json.encode(tree), indent=1)) + b"\n"


def decode(raw: bytes, *, path: str, results: Mapping[RuleId, RuleResult]) -> Report:
    """Read the bytes of ``report.json``, beside which the ``results`` were found.

    Raises:
        FormatError: not JSON, not a report of ours, or a newer format.
    """
    with reading(path, of="report"):
        tree: Any = msgspec.json.decode(json_without_secrets(raw), type=dict[str, Any])
        check_format(tree["format"], (FORMAT,), path=path, of="report")
        notes = tree["data_quality"].pop("notes")
        tree["data_quality"] = {"counters": tree["data_quality"], "notes": notes}
        tree["findings"] = [{"rule": item["rule"], "finding": item} for item in tree["findings"]]
        return replace(msgspec.convert({**tree, "results": {}}, Report), results=results)


def report_id(contents: Iterable[bytes]) -> str:
    """Return a hash of the files of results: equal results give an equal id."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()[:_ID_LENGTH]
