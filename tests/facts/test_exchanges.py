"""Communication operations of a rank as a table, by hand-made numbers."""

from __future__ import annotations

import numpy as np

from reportgen.facts.exchanges import exchanges_of, joined
from tests.facts.exchange_rows import Row, exchanges
from tests.rules.kernels.builders import rank_trace

US = 1_000


def test_only_what_nothing_computes_beside_is_alone() -> None:
    trace = rank_trace(
        gpu=[
            ("gemm", 0.0, 60.0, {"correlation": 1}),
            ("ncclKernel_AllReduce", 20.0, 100.0, {"correlation": 2, "stream": 20}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 1.0, {"correlation": 1}),
            ("cudaLaunchKernel", 2.0, 1.0, {"correlation": 2}),
        ],
    )
    found = exchanges_of(trace, None)
    # The first 10 µs may be a rest of compute.
    assert (found.alone_start_ns.tolist(), found.alone_end_ns.tolist()) == ([70 * US], [120 * US])
    assert found.alone_between_ns(np.array([0]), np.array([100 * US])).tolist() == [30 * US]


def test_a_trace_without_communication_has_an_empty_table() -> None:
    found = exchanges_of(rank_trace(gpu=[("gemm", 0.0, 60.0, {"correlation": 1})]), None)
    assert (found.n, found.alone_row.size, found.labels) == (0, 0, ())


def test_the_tables_of_ranks_become_one_with_the_labels_of_all() -> None:
    first = exchanges([Row(rank=0, start_ns=1, end_ns=2, group="b", is_alone=False)])
    second = exchanges([
        Row(rank=1, start_ns=3, end_ns=4, group="c", is_alone=False),
        Row(rank=1, start_ns=5, end_ns=9, group="a"),
    ])  # fmt: skip
    every = joined([first, second])
    assert every.texts(every.group) == ["b", "c", "a"]
    assert set(every.texts(every.name)) == {"allreduce"}
    assert every.labels == ("a", "allreduce", "b", "c")
    assert every.alone_row.tolist() == [2]


def test_rows_are_taken_with_the_time_in_which_they_were_alone() -> None:
    rows = [Row(rank=0, start_ns=10 * k, end_ns=10 * k + 5, is_alone=k != 1) for k in range(3)]
    found = exchanges(rows).take(np.array([2, 1, 2, 0]))
    assert found.start_ns.tolist() == [20, 10, 20, 0]
    assert found.alone_row.tolist() == [0, 2, 3]
    assert found.alone_start_ns.tolist() == [20, 20, 0]


def test_times_move_with_the_clock_of_each_row() -> None:
    rows = [Row(rank=k, start_ns=100, end_ns=105) for k in range(2)]
    found = exchanges(rows).moved(np.array([0, 30]))
    assert (found.start_ns.tolist(), found.end_ns.tolist()) == ([100, 70], [105, 75])
    assert found.alone_start_ns.tolist() == [100, 70]
