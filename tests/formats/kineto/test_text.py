"""A trace is decoded in small runs, however its bytes come."""

from __future__ import annotations

import pytest

from reportgen.formats.kineto.text import CHUNK_BYTES, TraceText
from tests.traces import kernel, trace_text


@pytest.mark.parametrize("block_bytes", [1 << 16, 4 << 20])
def test_runs_are_small_whatever_the_size_of_blocks(block_bytes: int) -> None:
    events = [kernel(10.0 * number, 5.0, number) for number in range(20_000)]
    text = trace_text(events).encode()
    assert len(text) > 6 * CHUNK_BYTES
    blocks = (text[at : at + block_bytes] for at in range(0, len(text), block_bytes))

    runs = [len(batch.events) for batch in TraceText(blocks=blocks).batches()]

    assert sum(runs) == len(events)
    assert max(runs) / len(events) <= 3 * CHUNK_BYTES / len(text)
