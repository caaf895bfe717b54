"""The rules judge the measurements of all parts; many parts are judged in a separate process.

The measurements of a thousand ranks consist of many small objects, whose memory this process could
not give back to the system. That of the separate process is free when it ends.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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

MOST_PARTS_HERE = 256
"""Measured: fewer take less memory than a thousand in any case, and another process takes 0.5 s."""

_CANNOT_TRAVEL = (pickle.PicklingError, AttributeError, TypeError)


def results_of(n_parts: int, fn: Callable[..., Iterable[Any]], *args: object) -> list[Any]:
    """Return the results of a function on parts; on many parts it runs in another process."""
    if n_parts > MOST_PARTS_HERE:
        with suppress(HelperError, *_CANNOT_TRAVEL), run_in_helper(fn, *args) as results:
            return list(results)
    return list(fn(*args))


@contextmanager
def folder_aside(n_parts: int) -> Iterator[Path | None]:
    """Yield a folder in TMPDIR where the measurements of many parts wait; few need none."""
    with ExitStack() as exits:
        folder = None
        if n_parts > MOST_PARTS_HERE:
            with suppress(OSError):
                folder = exits.enter_context(scratch_folder())
        yield folder


def judged(
    measured: list[PackedMeasurements], rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Sequence[RuleResult]:
    """Return the results of the rules for all parts, and empty ``measured``.

    Evidence on many parts is packed.

    Edge cases: measurements that cannot be sent, or find no space in TMPDIR, are judged here.
    """
    results: Sequence[RuleResult] = ()
    with suppress(OSError, *_CANNOT_TRAVEL), folder_aside(len(measured)) as folder:
        if folder is not None:
            aside = [part.aside(folder / str(place)) for place, part in enumerate(measured)]
            results = results_of(len(measured), _judge, aside, rules, params)
    results = results or judge_all(measured, rules, params)
    measured.clear()
    return results


def _judge(
    parts: Sequence[PackedMeasurements], rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
) -> Iterator[RuleResult]:
    """Yield the result of each rule."""
    for rule in rules:
        (result,) = judge_all(parts, (rule,), params)
        yield replace(result, exhibits=PackedExhibits(result.exhibits))
