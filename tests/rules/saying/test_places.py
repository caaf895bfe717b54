from __future__ import annotations

import numpy as np

from reportgen.results import Where
from reportgen.rules.saying.places import longest_minutes
from tests.builders import START_S, ns

MINUTES = ns(START_S) + np.array([0, 2, 3, 4, 9]) * 60_000_000_000


def test_the_longest_run_of_minutes_is_the_place() -> None:
    found = longest_minutes("algo-1", "gpu0", MINUTES, last_ns=ns(START_S + 3600))

    assert found == Where(node="algo-1", device="gpu0", start_s=START_S + 120, end_s=START_S + 300)


def test_of_equally_long_runs_the_first_counts() -> None:
    found = longest_minutes("algo-1", "gpu0", MINUTES[[0, 4]], last_ns=ns(START_S + 3600))

    assert found.start_s == START_S


def test_the_place_ends_with_the_last_sample() -> None:
    found = longest_minutes("algo-1", "gpu0", MINUTES[4:], last_ns=ns(START_S + 545.5))

    assert found.end_s == START_S + 545.5
