"""The rules judge the measurements of all parts: those of many parts in a process of its own.

What a thousand ranks measured is made of so many small objects that the memory in which they lay is
not given back: it goes with that process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


def results_of(n_parts: int, fn: Callable[..., Iterable[Any]], *args: object) -> list[Any]:
    """Return what a function yields on parts; on many it runs in another process, if it can."""
    if n_parts > MANY_PARTS:
        with suppress(HelperError, *_CANNOT_TRAVEL), run_in_helper(fn, *args) as results:
            return list(results)
    return list(fn(*args))


def judged(
    measured: list[PackedMeasurements], rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Sequence[RuleResult]:
    """Return what the rules say of all parts, and empty ``measured``; evidence on many is packed.

    Edge cases: what cannot be pickled, or finds no space in TMPDIR, is judged as it is.
    """
    results: Sequence[RuleResult] = ()
    if len(measured) > MANY_PARTS:
        with suppress(OSError, *_CANNOT_TRAVEL), scratch_folder() as folder:
            with (folder / "measurements").open("wb") as file:
                for rule in rules:
                    pickle.dump(
                        [part.packed[rule.id] for part in measured if rule.id in part], file
                    )
            results = results_of(len(measured), _judge, folder / "measurements", rules, params)
    results = results or judge_all(measured, rules, params)
    measured.clear()
    return results


def _judge(
    path: Path, rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Iterator[RuleResult]:
    """Yield what each rule says of the measurements in a file."""
    with path.open("rb") as file:
        for rule in rules:
            items = pickle.load(file)  # noqa: S301  # we wrote it
            parts = [PackedMeasurements({rule.id: item}) for item in items]
            (result,) = judge_all(parts, (rule,), params)
            yield replace(result, exhibits=PackedExhibits(result.exhibits))
