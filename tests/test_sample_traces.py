"""The made-up kernel traces are what their generator makes, and hold what is planted in them."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

from reportgen.intake import discover, read
from reportgen.profile import RankTrace, SourceNote
from sample_data.kernel_trace import FOLDER, LOADER_US, N_RANKS, N_STEPS, trace_chunks
from sample_data.record_trace import FILE as RECORDED


@pytest.fixture(scope="module")
def traces() -> list[RankTrace]:
    found = [read(part) for part in discover(str(FOLDER)).parts]
    return [trace for trace in found if isinstance(trace, RankTrace)]


@pytest.mark.parametrize("rank", range(N_RANKS))
def test_the_files_are_what_the_generator_makes(rank: int) -> None:
    packed = (FOLDER / f"rank-{rank}.pt.trace.json.gz").read_bytes()
    assert len(packed) < 500_000
    assert gzip.decompress(packed) == b"".join(trace_chunks(rank))


def test_they_are_whole(traces: list[RankTrace]) -> None:
    assert [(trace.rank, trace.world_size, trace.is_rank_known) for trace in traces] == [
        (0, 2, True), (1, 2, True)
    ]  # fmt: skip
    for trace in traces:
        assert [note for note in trace.notes if note.text] == list[SourceNote]()
        assert trace.steps.number.tolist() == list(range(4, 4 + N_STEPS))
        assert (trace.gpu_ops.launch >= 0).all()


def test_each_step_waits_for_the_loader(traces: list[RankTrace]) -> None:
    for trace in traces:
        is_loader = np.array(["DataLoader" in name for name in trace.names])
        waits_ns = trace.slices.duration_ns[is_loader[trace.slices.name]]
        assert waits_ns.size == N_STEPS
        assert np.median(waits_ns) == pytest.approx(1000 * LOADER_US, rel=0.1)


def test_rank_0_waits_for_rank_1(traces: list[RankTrace]) -> None:
    durations_ns = [trace.gpu_ops.duration_ns[trace.collectives.gpu_op] for trace in traces]
    assert (durations_ns[0] > 5_000_000).all()
    assert (durations_ns[1] < 1_000_000).all()
    ends_ns = [trace.origin_ns + trace.gpu_ops.end_ns[trace.collectives.gpu_op] for trace in traces]
    assert np.abs(ends_ns[0] - ends_ns[1]).max() < 100_000


def test_the_recorded_trace_is_whole_and_says_nothing_of_its_machine() -> None:
    (part,) = discover(str(RECORDED.parent)).parts
    trace = read(part)
    assert isinstance(trace, RankTrace)
    assert trace.steps.number.tolist() == [2, 3, 4, 5, 6, 7]
    assert [note for note in trace.notes if note.text] == list[SourceNote]()
    content = gzip.decompress(RECORDED.read_bytes())
    assert not re.search(rb"/home|/tmp|/root|host_name|traceName|process_name", content)
