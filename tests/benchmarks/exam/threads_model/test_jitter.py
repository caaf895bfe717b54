"""How lengths vary."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.exam.threads_model.jitter import KINDS, jitter


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_vary_about_one_and_the_same_way_again(kind):
    values = jitter(3, 1, kind, 0.05, (2, 4000))
    assert values.shape == (2, 4000)
    assert values.mean() == pytest.approx(1, abs=0.03)
    assert values.std() > 0.02
    np.testing.assert_array_equal(values, jitter(3, 1, kind, 0.05, (2, 4000)))
    assert not np.array_equal(values, jitter(3, 2, kind, 0.05, (2, 4000)))
