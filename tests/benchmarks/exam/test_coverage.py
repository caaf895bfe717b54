"""How much of an interval is covered."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.exam.coverage import Coverage
from benchmarks.exam.noise import Noise, factors


def test_overlapping_spans_add_up():
    cover = Coverage(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(cover.mean(np.array([1.0, 2.0, 3.0, 4.0]), 1.0), [1, 2, 1, 0])


def test_a_weight_is_a_rate():
    cover = Coverage(np.array([0.0]), np.array([0.5]), 100.0)
    np.testing.assert_allclose(cover.mean(np.array([1.0]), 1.0), [50.0])


def test_nothing_covers_nothing():
    cover = Coverage(np.zeros(0), np.zeros(0))
    np.testing.assert_array_equal(cover.mean(np.array([1.0, 2.0]), 1.0), [0, 0])


@pytest.mark.parametrize("kind", list(Noise))
def test_noise_has_the_mean_one_and_about_the_spread_asked_for(kind):
    values = factors(np.random.default_rng(1), kind, 0.1, (4, 20_000))
    assert values.mean() == pytest.approx(1.0, abs=0.01)
    assert 0.05 < values.std() < 0.15
    assert values.min() > 0
