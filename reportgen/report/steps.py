"""The steps that stand for the training, among all that a report keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from reportgen.results import PackedTable, RuleResult
from reportgen.results.packed_columns import unpack

_PREFERRED = ("TRAIN", "GLOBAL")
"""Phases that stand for the training, the better one first; any other comes after them."""
_EVALUATION = "EVAL"


def training_tables(results: Iterable[RuleResult]) -> list[PackedTable]:
    """Return the steps of the phase that stands for the training, of each worker with the most."""
    tables = (table for result in results for table in result.data)
    steps = [table for table in tables if table.id == "steps" and table.n_rows]
    phase = min(map(phase_of, steps), key=_preference, default=None)
    of_phase = [table for table in steps if phase_of(table) == phase]
    most = max((table.n_measured for table in of_phase), default=0)
    return [table for table in of_phase if table.n_measured == most]


def phase_of(table: PackedTable) -> str:
    """Return the phase in a word: ``TRAIN`` of ``Step:ModeKeys.TRAIN``."""
    return table.of.get("phase", "").rpartition(".")[2]


def cycle_ns(columns: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the time to the next step; of reports that do not have it, that of the step."""
    return columns.get("cycle_ns", columns["duration_ns"])


def first_number(tables: Iterable[PackedTable]) -> int | None:
    """Return the number of the first recorded step, ``None`` where steps have no numbers."""
    numbers = [unpack(table).get("step") for table in tables]
    known = [int(number.min()) for number in numbers if number is not None and number.size]
    return min(known, default=None)


def _preference(phase: str) -> tuple[int, str]:
    order = (*_PREFERRED, "", _EVALUATION)
    return (order.index(phase) if phase in order else order.index(""), phase)
