"""The rules judge the measurements of all parts: those of many parts in a process of its own.

What a thousand ranks measured is made of so many small objects that the memory in which they lay is
not given back: it goes with that process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from reportgen.engine import HelperError, run_in_helper
from reportgen.pipeline.packed_measurements import PackedMeasurements
from reportgen.results import RuleId, RuleResult
from reportgen.results.codec import PackedExhibits
from reportgen.rules.base import AnyRule
from reportgen.rules.runner import judge_all
from reportgen.scratch import scratch_folder

MANY_PARTS = 256
"""Measured: fewer take less memory than a thousand in any case, and another process takes 0.5 s."""

_CANNOT_TRAVEL = (pickle.PicklingError, AttributeError, TypeError)


def judged(
    measured: list[PackedMeasurements], rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Sequence[RuleResult]:
    """Return what the rules say of all parts, of which evidence on many is packed.

    Edge cases: what cannot travel, or finds no space in TMPDIR, is judged in this process.

    Args:
        measured: of each part; empty afterwards, as they take memory.
    """
    results: Sequence[RuleResult] = ()
    if len(measured) > MANY_PARTS:
        with suppress(HelperError, OSError, *_CANNOT_TRAVEL), scratch_folder() as folder:
            _write(measured, rules, folder / "measurements")
            with run_in_helper(_judge, folder / "measurements", rules, params) as judgements:
                results = list(judgements)
    results = results or judge_all(measured, rules, params)
    measured.clear()
    return results


def _write(measured: Sequence[PackedMeasurements], rules: Sequence[AnyRule], path: Path) -> None:
    """Write the measurements of all parts rule by rule, so that one is read at a time."""
    with path.open("wb") as file:
        for rule in rules:
            pickle.dump([part.packed[rule.id] for part in measured if rule.id in part], file)


def _judge(
    path: Path, rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Iterator[RuleResult]:
    """Yield what each rule says of the measurements in a file. Runs in the helper."""
    with path.open("rb") as file:
        for rule in rules:
            items = pickle.load(file)  # noqa: S301  # we wrote it
            parts = [PackedMeasurements({rule.id: item}) for item in items]
            (result,) = judge_all(parts, (rule,), params)
            yield replace(result, exhibits=PackedExhibits(result.exhibits))
