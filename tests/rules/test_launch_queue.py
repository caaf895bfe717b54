"""Queues of launches by hand-made numbers."""

from __future__ import annotations

import pytest

from reportgen.rules.launch_latency import RULE
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run


def test_a_queue_grows_with_launches_and_shrinks_with_starts() -> None:
    gpu = [("k", 10.0 + n, 1.0, {"correlation": n}) for n in range(4)]
    calls = [("c", float(n), 1.0, {"correlation": n}) for n in range(4)]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls))

    assert column(result, "queue_depth", "max_depth") == [4]
    assert column(result, "queue_depth", "launches") == [4]
    assert column(result, "queue_depth", "mean_depth") == [pytest.approx(36 / 12)]


def test_a_full_queue_is_told() -> None:
    gpu = [("k", 5000.0 + n, 1.0, {"correlation": n}) for n in range(1100)]
    calls = [("c", float(n), 1.0, {"correlation": n}) for n in range(1099)]
    calls.append(("c", 1099.0, 400.0, {"correlation": 1099}))
    result = run(RULE, rank_trace(gpu=gpu, calls=calls))

    assert [item.id for item in result.findings] == ["QUEUE-1"]
    assert column(result, "queue_depth", "blocked_us") == [400.0]
    assert "blocked in launch calls for 400 µs of this time" in result.findings[0].text
    assert column(result, "queue_depth", "full_us") == [5100.0 - 1000.0]
