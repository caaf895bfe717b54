"""What the ranks of a recording left besides events: their cards, and what went wrong in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reportgen.record.folder import read_json

_SAID = {
    "other_machine": "a process on a machine that has no recorder of its own",
    "not_seen": "an interpreter that ignores PYTHONPATH",
    "cupti_taken": "kernel traces: another profiler uses CUPTI",
    "trace_failed": "kernel traces: the profiler failed",
    "lost": "events of a process that could not write",
}


def rank_cards(root: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the cards of all ranks."""
    for path in sorted((root / "recorder" / "ranks").glob("*.json")):
        if card := read_json(path):
            yield card


def ranks_said(root: Path) -> list[str]:
    """Return what the ranks could not record, one phrase per kind of trouble."""
    counts = Counter(map(_phrase, _faults(root)))
    return [
        f"{phrase} ({count} times)" if count > 1 else phrase for phrase, count in counts.items()
    ]


def _phrase(fault: Mapping[str, Any]) -> str:
    hook = fault.get("hook")
    if fault.get("kind") == "open_range":
        return f"the end of the annotation {hook!r}"
    if fault.get("kind") == "not_seen" and hook:
        return str(hook)
    known = _SAID.get(str(fault.get("kind")))
    if known is not None:
        return known
    return f"{hook or 'a hook'} was switched off after {fault.get('error', 'a fault')}"


def _faults(root: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted((root / "recorder" / "faults").glob("*.jsonl")):
        with suppress(OSError):
            for line in path.read_bytes().splitlines():
                with suppress(ValueError):
                    fault = json.loads(line)
                    if isinstance(fault, dict):
                        yield fault
