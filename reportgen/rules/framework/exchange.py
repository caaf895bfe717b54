"""Which framework events exchange data between workers, by their writer, phase or name."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SpanSource, SpanTable

SOURCES = frozenset({SpanSource.HOROVOD.value, SpanSource.SMDATAPARALLEL.value})
_PHASES = ("NcclManager",)
_NAME = re.compile(
    r"nccl|horovod|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|(^|::)broadcast_?$",
    re.IGNORECASE,
)
"""Source: formats §4.3 and §5; names of c10d and Horovod. Tensors that are broadcast to another
shape (``aten::broadcast_tensors``) stay where they are."""


def exchanges_data(spans: SpanTable) -> NDArray[np.bool_]:
    """Return an (n,) mask of the events in which workers exchange data."""
    sources = [code for code, source in enumerate(spans.sources) if source in SOURCES]
    names = [code for code, name in enumerate(spans.names) if _NAME.search(name)]
    is_named = np.isin(spans.source, sources) | np.isin(spans.name, names)
    return np.asarray(is_named | spans.in_phases(_PHASES))
