"""Threads: order kept, first error kept."""

from __future__ import annotations

import threading
import time

import pytest

from reportgen.engine import Executor, LocalExecutor


def test_results_keep_the_order_of_the_items() -> None:
    executor: Executor = LocalExecutor(max_threads=4)

    def slow_first(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item * item

    assert executor.map(slow_first, [0, 1, 2, 3]) == [0, 1, 4, 9]


def test_no_items_give_no_results() -> None:
    assert LocalExecutor().map(str, []) == []


def test_the_first_error_in_order_reaches_the_caller() -> None:
    def fail(item: int) -> int:
        if item:
            raise ValueError(f"item {item}")
        return item

    with pytest.raises(ValueError, match="item 1"):
        LocalExecutor(max_threads=2).map(fail, [0, 1, 2, 3])


def test_several_items_run_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=60)
    LocalExecutor(max_threads=2).map(lambda _: barrier.wait(), [0, 1])
