"""Events at equal distances are found, random ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reportgen.facts.rhythm import Rhythm, find_rhythm
from tests.builders import known

Floats = NDArray[np.float64]


def places(*parts: object) -> Floats:
    """Return events in order; of neighbours the first."""
    every = np.unique(np.concatenate([np.asarray(part, dtype=np.float64) for part in parts]))
    return every[np.concatenate(([True], np.diff(every) > 1))]


def found(events: Floats, length: float) -> Rhythm:
    """Return the rhythm, which must be there."""
    return known(find_rhythm(events, np.arange(length)))


def test_every_fiftieth_of_five_hundred_is_a_rhythm() -> None:
    rhythm = found(places(range(49, 500, 50)), 500)
    assert (rhythm.period, rhythm.first) == (50.0, 49.0)
    assert (rhythm.members.size, rhythm.n_expected) == (10, 10)


def test_events_that_are_missing_are_expected_all_the_same() -> None:
    rhythm = found(places([49, 99, 149, 249, 299, 349, 449, 499]), 500)
    assert rhythm.period == 50.0
    assert rhythm.number.tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
    assert rhythm.n_expected == 10


def test_four_equal_distances_in_a_short_series_are_the_fewest() -> None:
    assert found(places([9, 19, 29, 39]), 40).period == 10.0
    assert find_rhythm(places([9, 19, 29]), np.arange(40)) is None


@pytest.mark.parametrize("seed", range(10))
def test_jitter_by_one_and_as_many_outliers_do_not_hide_it(seed: int) -> None:
    noise = np.random.default_rng(seed)
    regular = np.arange(50, 500, 50) + noise.integers(-1, 2, 9)
    rhythm = known(
        find_rhythm(places(regular, noise.choice(500, 5, replace=False)), np.arange(500))
    )
    assert rhythm.period == pytest.approx(50, abs=1)


def test_a_period_that_is_no_whole_number_is_fitted() -> None:
    rhythm = found(places(np.floor(np.arange(1, 20) * 33.37)), 640)
    assert rhythm.period == pytest.approx(33.37, abs=0.05)
    assert rhythm.members.size == 19


def test_half_of_the_period_is_not_preferred_for_outliers_between() -> None:
    assert found(places(range(49, 500, 50), [74, 224, 310]), 500).period == 50.0


def test_random_events_are_no_rhythm() -> None:
    alarms = []
    for seed in range(100):
        noise = np.random.default_rng(seed)
        length = int(noise.integers(50, 900))
        events = noise.choice(length, max(4, int(length * noise.uniform(0.005, 0.1))))
        if find_rhythm(places(events), np.arange(length)) is not None:
            alarms.append(seed)
    assert len(alarms) <= 1


def test_what_a_rhythm_expects_where_nothing_was_recorded_is_not_missing() -> None:
    every = np.r_[0:300, 2000:2300, 3600:3900]
    regular = [of for of in range(70, 3900, 170) if of in every]
    rhythm = known(find_rhythm(places(regular), every))

    assert (rhythm.period, rhythm.n_expected, len(regular)) == (170.0, 6, 6)
    assert find_rhythm(places(regular), np.arange(3900)) is None


@pytest.mark.parametrize("events", [[], [3], [1, 2, 3, 4, 5, 6, 7, 8, 9]])
def test_too_few_events_or_too_many_are_no_rhythm(events: list[int]) -> None:
    assert find_rhythm(np.asarray(events, dtype=np.float64), np.arange(10)) is None
