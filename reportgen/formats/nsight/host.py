"""Events of a process's threads: NVTX ranges, calls of the operating system, tracer costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT
from reportgen.formats.nsight.reading import Batch, ProcessReading, constant
from reportgen.profile.trace_tables import NUMBERED_STEP, PROFILER_STEP, SliceKind

MARK, PUSHED, STARTED, DOMAIN = 34, 59, 60, 75
"""``NVTX_EVENTS.eventType``: a moment, ranges of ``push``/``pop`` and of ``start``/``end``, and
the name of a domain."""

_NUMBERED = re.compile(r", (?:seq|op_id) = -?\d+.*", re.DOTALL)
"""The text that ``torch.autograd.profiler.emit_nvtx`` writes behind the names of operators."""

_OPERATOR = re.compile(r"(?:struct )?[a-z_]\w*::\S.*|\w+Backward\d*|detach_?")
"""Among them, those of the framework; others are ranges of the program: ``FSDP::post_forward``."""

NVTX_COLUMNS = ("start", "end", "eventType", "text", "textId", "globalTid", "domainId")


def read_nvtx(reading: ProcessReading) -> None:
    """Take NVTX ranges and marks; those of other domains than the default have its name before.

    Names of operators that PyTorch writes are operators here.
    """
    domains = _domains(reading)
    kept = f"eventType IN ({MARK}, {PUSHED}, {STARTED})"
    for batch in reading.batches("NVTX_EVENTS", NVTX_COLUMNS, kept):
        named = zip(texts_of(reading, batch), batch["domainId"], strict=True)
        read = [_read_name(text, domains.get(domain, "")) for text, domain in named]
        is_mark = reading.numbers(batch["eventType"]) == MARK
        ends = [
            start if mark else end
            for start, end, mark in zip(batch["start"], batch["end"], is_mark.tolist(), strict=True)
        ]
        kind = np.array([kind for _, kind in read], dtype=np.int8)
        _add_slices(
            reading,
            {**batch, "end": ends},
            [name for name, _ in read],
            np.where(is_mark, np.int8(SliceKind.OTHER), kind),
        )


def texts_of(reading: ProcessReading, batch: Batch) -> Iterable[str]:
    """Return the texts of NVTX events, which are inline or ids."""
    by_id = reading.report.texts(batch["textId"])
    return [str(text) if text else named for text, named in zip(batch["text"], by_id, strict=True)]


def _domains(reading: ProcessReading) -> Mapping[Any, str]:
    return {
        domain: text
        for batch in reading.batches("NVTX_EVENTS", NVTX_COLUMNS, f"eventType = {DOMAIN}")
        for domain, text in zip(batch["domainId"], texts_of(reading, batch), strict=True)
    }


def _read_name(text: str, domain: str) -> tuple[str, SliceKind]:
    """Return the name of a range, and what it is.

    Example:
        >>> _read_name("aten::mm, seq = 7, op_id = 12, sizes = [[2, 2]]", "")
        ('aten::mm', <SliceKind.OPERATOR: 0>)
        >>> _read_name("ncclAllReduce", "NCCL")
        ('NCCL:ncclAllReduce', <SliceKind.ANNOTATION: 1>)
    """
    name = _NUMBERED.sub("", text)
    if name != text and _OPERATOR.fullmatch(name):
        return name, SliceKind.OPERATOR
    if domain and not (NUMBERED_STEP.fullmatch(name) or PROFILER_STEP.fullmatch(name)):
        name = f"{domain}:{name}"
    return name, SliceKind.ANNOTATION


def read_system_calls(reading: ProcessReading) -> None:
    """Take calls of the operating system (``--trace=osrt``) and what the tracer itself cost."""
    for table, kind in (
        ("OSRT_API", SliceKind.OTHER),
        ("PROFILER_OVERHEAD", SliceKind.OVERHEAD),
        ("CUPTI_ACTIVITY_KIND_OVERHEAD", SliceKind.OVERHEAD),
    ):
        for batch in reading.batches(table, ("start", "end", "globalTid", "nameId")):
            texts = reading.report.texts(batch["nameId"])
            _add_slices(reading, batch, texts, constant(kind, batch, np.int8))


def _add_slices(
    reading: ProcessReading, batch: Batch, texts: list[str], kind: NDArray[np.int8]
) -> None:
    nothing = constant(ABSENT, batch)
    reading.columns.tables["slices"].add(
        **reading.spans(batch, texts),
        thread=reading.threads(batch["globalTid"]),
        kind=kind,
        external_id=nothing,
        input_list=nothing.astype(np.int32),
        input_dims=nothing.astype(np.int32),
        input_values=nothing.astype(np.int32),
    )
