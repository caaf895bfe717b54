"""How many tokens the samples of a batch have, by what a tensor says of itself."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from reportgen.record.injected.reportgen_injected.torch_loader import tokens_per_sample


@dataclass(frozen=True)
class Tensor:
    """What is asked of a tensor."""

    shape: tuple[int, ...]
    dtype: str = "torch.int64"


TEXT, LABELS = Tensor((8, 512)), Tensor((8,))


@pytest.mark.parametrize(
    ("batch", "n_tokens"),
    [
        (TEXT, 512),
        ([TEXT, LABELS], 512),
        ({"attention_mask": Tensor((8, 9)), "input_ids": TEXT}, 512),
        ({"x": [TEXT]}, 512),
        ([Tensor((8, 3, 224, 224), "torch.float32"), Tensor((8, 10))], 0),
        (Tensor((8, 512), "torch.float32"), 0),
        (Tensor((16, 512)), 0),
        (LABELS, 0),
        ([], 0),
        ({}, 0),
        ("text", 0),
    ],
)
def test_tokens_are_whole_numbers_with_a_row_for_each_sample(batch: object, n_tokens: int) -> None:
    assert tokens_per_sample(batch, 8) == n_tokens
