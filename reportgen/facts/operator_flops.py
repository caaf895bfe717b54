"""How many floating point operations an operator of a trace does, by the sizes of its inputs.

A multiplication and an addition are two operations. Only what an operator does for sure is counted:
sizes that do not fit together, or an option that the trace does not say, give ``None``.

Source: schemas of PyTorch's operators (``native_functions.yaml``), docs/efficiency.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from math import prod
from typing import Any

Shape = Sequence[int]


class WorkClass(StrEnum):
    """What a kernel does; operations of the first three can be counted."""

    MATMUL = "matrix products"
    CONVOLUTION = "convolutions"
    ATTENTION = "attention"
    ELEMENTWISE = "elementwise and reductions"
    COPY = "copies"
    OTHER = "other"


COUNTED = (WorkClass.MATMUL, WorkClass.CONVOLUTION, WorkClass.ATTENTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of one operator, as its trace wrote them, in the order of its schema.

    Attributes:
        dims: sizes of each input; ``()`` for one that is no tensor, lists of sizes for a list.
        values: the value of each input that is no tensor, as text; ``()`` where the trace has none.
    """

    dims: tuple[Any, ...]
    values: tuple[str, ...] = ()

    def shape(self, place: int, *n_dims: int) -> Shape | None:
        """Return the sizes of a tensor that has one of ``n_dims`` dimensions, else ``None``."""
        found = self.dims[place] if place < len(self.dims) else None
        if not isinstance(found, list) or len(found) not in n_dims:
            return None
        return found if all(type(size) is int and size >= 0 for size in found) else None

    def value(self, place: int) -> Any:
        """Return a number, truth value or list of them; ``None`` where the trace does not say."""
        text = self.values[place] if place < len(self.values) else ""
        try:
            return json.loads(text.replace("True", "true").replace("False", "false"))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorWork:
    """What one call of an operator computes.

    Attributes:
        kind: its class.
        flops: floating point operations.
        least_elements: elements of inputs and outputs, each counted once.
        is_at_most: whether ``flops`` is an upper bound: lengths inside a batch are not recorded.
        product: (M, N, K) of a matrix product; of a batch, those of one; empty for other classes.
    """

    kind: WorkClass
    flops: int
    least_elements: int
    is_at_most: bool = False
    product: tuple[int, ...] = ()


def work_of(name: str, inputs: Inputs) -> OperatorWork | None:
    """Return the work of an operator; ``None`` where it has no formula or its inputs do not fit.

    Example:
        >>> work_of("aten::mm", Inputs(dims=([2, 3], [3, 5]))).flops
        60
    """
    formula = _FORMULAS.get(name)
    return formula(inputs) if formula else None


def has_formula(name: str) -> bool:
    """Return whether operations of this operator can be counted where its sizes are recorded."""
    return name in _FORMULAS


def _product(m: int, n: int, k: int, *, n_batches: int = 1) -> OperatorWork:
    return OperatorWork(
        kind=WorkClass.MATMUL,
        flops=2 * n_batches * m * n * k,
        least_elements=n_batches * (m * k + k * n + m * n),
        product=(m, n, k),
    )


def _mm(place: int, place_of_k: int, inputs: Inputs) -> OperatorWork | None:
    """Return the work of (M, K) x (K, N), the first of which is at ``place``.

    ``place_of_k`` is 1 where the second is (N, K), given as a layer holds its weights, else 0.
    """
    left, right = inputs.shape(place, 2), inputs.shape(place + 1, 2)
    if left is None or right is None or left[1] != right[place_of_k]:
        return None
    return _product(left[0], right[1 - place_of_k], left[1])


def _bmm(place: int, inputs: Inputs) -> OperatorWork | None:
    """Return the work of batches of (M, K) x (K, N), the first of which is at ``place``."""
    left, right = inputs.shape(place, 3), inputs.shape(place + 1, 3)
    if left is None or right is None or left[0] != right[0] or left[2] != right[1]:
        return None
    return _product(left[1], right[2], left[2], n_batches=left[0])


def _grouped_mm(inputs: Inputs) -> OperatorWork | None:
    """Return the work of groups of products: each row, or column, belongs to one group."""
    left, right = inputs.shape(0, 2, 3), inputs.shape(1, 2, 3)
    if left is None or right is None or left[-1] != right[-2]:
        return None
    if len(left) == len(right) == 3:
        return _bmm(0, inputs)
    return _product(left[-2], right[-1], left[-1])


def _convolution(
    inputs: Inputs, *, options: Sequence[int], groups_at: int, transposed_at: int | None = None
) -> OperatorWork | None:
    """Return the work of a convolution; where ``transposed_at`` is none, it never is transposed.

    ``options`` are the places of stride, padding and dilation.
    """
    x, weight = inputs.shape(0, 3, 4, 5), inputs.shape(1, 3, 4, 5)
    is_transposed = False if transposed_at is None else inputs.value(transposed_at)
    groups = inputs.value(groups_at)
    if x is None or weight is None or type(is_transposed) is not bool or type(groups) is not int:
        return None
    if len(x) != len(weight) or x[1] != (weight[0] if is_transposed else weight[1] * groups):
        return None
    spread = [_spread(inputs.value(place), len(x) - 2) for place in options]
    met = x[2:] if is_transposed else _output_sizes(x[2:], weight[2:], *spread)
    if met is None:
        return None
    n_outputs = 0 if is_transposed else x[0] * weight[0] * prod(met)
    return _of_convolution(x[0] * prod(met), weight, prod(x) + prod(weight) + n_outputs)


def _output_sizes(
    sizes: Shape, kernel: Shape, stride: Shape | None, padding: Shape | None, dilation: Shape | None
) -> Shape | None:
    if stride is None or padding is None or dilation is None or 0 in stride:
        return None
    found = [
        (size + 2 * pad - apart * (width - 1) - 1) // step + 1
        for size, width, step, pad, apart in zip(
            sizes, kernel, stride, padding, dilation, strict=True
        )
    ]
    return found if all(size > 0 for size in found) else None


def _spread(option: Any, n_dims: int) -> Shape | None:
    """Return an option of a convolution for each dimension; one number holds for all."""
    if not isinstance(option, list) or not all(type(item) is int for item in option):
        return None
    return option * n_dims if len(option) == 1 else option if len(option) == n_dims else None


def _of_convolution(
    n_places: int, weight: Shape, least_elements: int, *, n_times: int = 1
) -> OperatorWork:
    """Return the work of filters that meet so many places: of the output, or of what spreads."""
    flops = n_times * 2 * n_places * prod(weight)
    return OperatorWork(kind=WorkClass.CONVOLUTION, flops=flops, least_elements=least_elements)


def _library_convolution(inputs: Inputs) -> OperatorWork | None:
    """Return the work of cuDNN's or MIOpen's convolution; MIOpen's has a bias before options."""
    first = 2 if inputs.value(2) is not None else 3
    return _convolution(inputs, options=(first + 1, first, first + 2), groups_at=first + 3)


def _convolution_backward(inputs: Inputs) -> OperatorWork | None:
    """Return the work of the gradients of input and weight, those that are computed."""
    out, x, weight = (inputs.shape(place, 3, 4, 5) for place in range(3))
    is_transposed, computed = inputs.value(7), inputs.value(10)
    if out is None or x is None or weight is None or not len(out) == len(x) == len(weight):
        return None
    if type(is_transposed) is not bool or not isinstance(computed, list) or len(computed) != 3:
        return None
    met = x if is_transposed else out
    if out[0] != x[0] or met[1] != weight[0]:
        return None
    n_gradients, n_elements = computed[:2].count(True), prod(out) + prod(x) + prod(weight)
    return _of_convolution(met[0] * prod(met[2:]), weight, n_elements, n_times=n_gradients)


def _attention(
    inputs: Inputs,
    *,
    causal_at: int,
    is_heads_first: bool = False,
    is_backward: bool = False,
    longest_at: int | None = None,
) -> OperatorWork | None:
    """Return the work of attention; of packed sequences as if all keys were as long as the longest.

    A causal mask halves it where there are as many keys as queries, else it is an upper bound.

    Args:
        inputs: query, key and value, behind the gradient of the output where that is one of them.
        causal_at: place of the option: a truth value, or 1 and 2 for masks that are causal.
        is_heads_first: whether sizes are (batch, heads, length, width), else (batch, length, heads,
            width).
        is_backward: whether it computes the gradients: five products, one of which is computed
            again.
        longest_at: place of the longest query where sequences are packed, the longest key follows.
    """
    query, key, value = (inputs.shape(is_backward + place, 3, 4) for place in range(3))
    if query is None or key is None or value is None or len({*map(len, (query, key, value))}) > 1:
        return None
    is_packed = len(query) == 3
    at = 0 if is_packed else 2 if is_heads_first else 1
    if query[-1] != key[-1] or key[at] != value[at] or not (is_packed or query[0] == key[0]):
        return None
    longest = inputs.value(longest_at + 1) if is_packed and longest_at else None
    n_keys = longest if is_packed else key[at]
    is_causal = is_packed or inputs.value(causal_at)
    if type(is_causal) not in {bool, int} or type(n_keys) is not int:
        return None
    each = 3 * query[-1] + 2 * value[-1] if is_backward else query[-1] + value[-1]
    is_half = bool(is_causal) and not is_packed and query[at] == n_keys
    n_elements = sum(map(prod, (query, key, value))) + prod(query[:-1]) * value[-1]
    return OperatorWork(
        kind=WorkClass.ATTENTION,
        flops=2 * prod(query[:-1]) * n_keys * each // (2 if is_half else 1),
        least_elements=n_elements * (2 if is_backward else 1),
        is_at_most=bool(is_causal) and not is_half,
    )


_sdpa = partial(_attention, is_heads_first=True)
_sdpa_back = partial(_sdpa, is_backward=True)
_backward = partial(_attention, is_backward=True)
_aten = partial(_convolution, options=(3, 4, 5), transposed_at=6, groups_at=8)
_FORMULAS: Mapping[str, Callable[[Inputs], OperatorWork | None]] = {
    **dict.fromkeys(("aten::mm", "aten::_int_mm", "aten::_scaled_mm"), partial(_mm, 0, 0)),
    **dict.fromkeys(("aten::addmm", "aten::_addmm_activation"), partial(_mm, 1, 0)),
    **dict.fromkeys(("aiter::gemm_a16w16", "vllm::rocm_unquantized_gemm"), partial(_mm, 0, 1)),
    "aten::bmm": partial(_bmm, 0),
    "aten::baddbmm": partial(_bmm, 1),
    **dict.fromkeys(("aten::_grouped_mm", "aten::_scaled_grouped_mm"), _grouped_mm),
    **dict.fromkeys(("aten::convolution", "aten::_convolution"), _aten),
    **dict.fromkeys(("aten::cudnn_convolution", "aten::miopen_convolution"), _library_convolution),
    "aten::convolution_backward": _convolution_backward,
    "aten::_scaled_dot_product_flash_attention": partial(_sdpa, causal_at=4),
    "aten::_scaled_dot_product_efficient_attention": partial(_sdpa, causal_at=6),
    "aten::_scaled_dot_product_cudnn_attention": partial(_sdpa, causal_at=6),
    "aten::_scaled_dot_product_flash_attention_backward": partial(_sdpa_back, causal_at=11),
    "aten::_scaled_dot_product_efficient_attention_backward": partial(_sdpa_back, causal_at=11),
    "aten::_scaled_dot_product_cudnn_attention_backward": partial(_sdpa_back, causal_at=14),
    "aten::_flash_attention_forward": partial(_attention, causal_at=8, longest_at=5),
    "aten::_efficient_attention_forward": partial(_attention, causal_at=9, longest_at=6),
    "flash_attn::_flash_attn_forward": partial(_attention, causal_at=5),
    "flash_attn::_flash_attn_varlen_forward": partial(_attention, causal_at=9, longest_at=5),
    "aiter::fmha_v3_fwd": partial(_attention, causal_at=5),
    "aten::_flash_attention_backward": partial(_backward, causal_at=11, longest_at=8),
    "aten::_efficient_attention_backward": partial(_backward, causal_at=14, longest_at=8),
    "flash_attn::_flash_attn_backward": partial(_backward, causal_at=11),
}
