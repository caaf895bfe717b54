"""The usual value follows a drift and does not follow what is slow."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.rules.maths.baseline import scatter_of, usual_of


def test_the_usual_value_follows_a_drift() -> None:
    values = np.linspace(100.0, 200.0, 1000)
    assert usual_of(values)[100:900] == pytest.approx(values[100:900], abs=4.0)


def test_a_third_of_high_values_leaves_it_where_it_is() -> None:
    values = np.full(999, 10.0)
    values[::3] = 50.0
    assert (usual_of(values) == 10.0).all()


def test_a_short_series_has_one_usual_value() -> None:
    assert usual_of(np.array([1.0, 1.0, 1.0, 9.0])).tolist() == [1.0] * 4


def test_scatter_of_normal_values_is_about_their_deviation() -> None:
    noise = np.random.default_rng(7).normal(0.0, 2.0, 20_000)
    assert scatter_of(noise) == pytest.approx(2.0, rel=0.1)
