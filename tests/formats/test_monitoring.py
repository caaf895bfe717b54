"""Which names of training programs mean a speed."""

from __future__ import annotations

import pytest

from reportgen.formats.monitoring import is_speed

SPEEDS = """tokens/s it/s train/samples/sec tok_s tokens/s/gpu TokensPerSec global_step/s perf/MFU
    train_samples_per_second tokens_per_sec_per_gpu tps"""
OTHERS = """s/it step train/step n_samples batch_size_per_gpu tokens_per_batch steps/sample
    samples/score time/iteration model_flops"""


@pytest.mark.parametrize(("names", "expected"), [(SPEEDS, True), (OTHERS, False)])
def test_a_count_by_the_second_is_a_speed(names: str, expected: bool) -> None:
    assert {name: is_speed(name) for name in names.split()} == dict.fromkeys(
        names.split(), expected
    )
