"""Which names of training programs mean a speed."""

from __future__ import annotations

import pytest

from reportgen.formats.monitoring import is_speed


@pytest.mark.parametrize(
    "name",
    [
        "tokens/s", "it/s", "train/samples/sec", "tok_s", "tokens/s/gpu", "TokensPerSec",
        "global_step/s", "train_samples_per_second", "tokens_per_sec_per_gpu", "perf/MFU", "tps",
    ],
)  # fmt: skip
def test_a_count_by_the_second_is_a_speed(name: str) -> None:
    assert is_speed(name)


@pytest.mark.parametrize(
    "name",
    [
        "s/it", "step", "train/step", "n_samples", "batch_size_per_gpu", "tokens_per_batch",
        "steps/sample", "samples/score", "time/iteration", "model_flops",
    ],
)  # fmt: skip
def test_other_counts_and_times_are_none(name: str) -> None:
    assert not is_speed(name)
