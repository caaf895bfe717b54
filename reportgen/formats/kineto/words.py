"""The vocabularies of a kernel trace as they are kept: cleaned, and equal texts with one code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.diagnostics import printable
from reportgen.formats.kineto.columns import TraceVocabularies
from reportgen.formats.kineto.names import first_floating, without_folders
from reportgen.formats.trace_events.columns import ABSENT, Codes
from reportgen.profile import Thread

LONGEST_KERNEL_NAME = 65_536
"""Characters; kernels are told by their full names, whose templates have some thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoding:
    """Values, and the code of each code that was given while reading; ``ABSENT`` stays."""

    values: tuple[Any, ...]
    codes: NDArray[np.int32]

    def of(self, column: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column in the new codes."""
        with_absent = np.append(self.codes, np.int32(ABSENT))
        return with_absent[column]


def names_of(words: TraceVocabularies) -> Recoding:
    """Return the names, without people's folders."""
    return _recode(
        without_folders(printable(name, most=LONGEST_KERNEL_NAME)) for name in words.names
    )


def threads_of(words: TraceVocabularies) -> Recoding:
    """Return the threads; ids that one event writes as a number and one as text are one."""
    return _recode(Thread(pid=_id_text(pid), tid=_id_text(tid)) for pid, tid in words.threads)


def input_types_of(words: TraceVocabularies) -> Recoding:
    """Return the first floating types of the lists of input types."""
    return _recode(first_floating(text) for text in words.input_lists)


def _recode(values: Iterable[Any]) -> Recoding:
    codes = Codes()
    recoded = [ABSENT if value is None else codes[value] for value in values]
    return Recoding(values=tuple(codes), codes=np.array(recoded, dtype=np.int32))


def _id_text(value: Any) -> str:
    return printable(str(value))[:40]
