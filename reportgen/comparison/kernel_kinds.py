"""Kinds of kernels by their names, to divide the time in which a GPU computes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reportgen.comparison.runs import Run, rows_of

KIND_WORDS = {
    "matrix": "matrix products, convolutions",
    "attention": "attention",
    "normalization": "normalization",
    "lookup": "lookups, sorting",
    "optimizer": "optimizer steps",
    "reduction": "reductions, pooling",
    "elementwise": "elementwise, copies",
    "other": "other kernels",
}
_PATTERNS = {
    "attention": r"attention|flash|fmha|sdpa",
    "normalization": r"(?:batch|layer|group|rms|instance)_?norm|bn_(?:fw|bw)|gammabeta",
    "lookup": r"embedding|_embs?_|ind(?:ex|ices)|gather|scatter|sort|topk|lookup",
    "optimizer": r"multi_tensor|adam|adagrad|lamb(?!da)|[^a-z]sgd",
    "matrix": r"gemm|gemv|conv(?!ert)|cutlass|[dw]grad|fprop|winograd|nvjet|xmma|matmul|s?cudnn_\d",
    "reduction": r"reduce|softmax|pool|argm(?:ax|in)|loss",
    "elementwise": r"elementwise|pointwise|vectorized|unrolled|copy|fill|cat_?array|dropout",
}
"""The first pattern that occurs in a name decides: fused attention holds matrix products."""
_NAMESPACE = re.compile(r"\b\w++::")


def kind_of(kernel: str) -> str:
    """Return the kind of a kernel.

    Example:
        >>> kind_of("ampere_sgemm_128x64_nn"), kind_of("void my_kernel(float*)")
        ('matrix', 'other')
    """
    name = _NAMESPACE.sub("", kernel.lower())
    return next((kind for kind, words in _PATTERNS.items() if re.search(words, name)), "other")


_CLASSES = {"matrix": ("matrix products", "convolutions"), "attention": ("attention",)}
"""Classes of work whose operations are counted (docs/efficiency.md) by kind of kernel."""
_LEAST_KNOWN = 0.9
"""As for MFU: what is known of less of the time says little about the rest."""


def flops_per_s(run: Run, kind: str) -> float | None:
    """Return the speed of a kind of kernels; ``None`` where FLOPs of most of it are not known."""
    n_flops = known_s = spent_s = 0.0
    columns = ("class", "time_us", "tflop", "tflops_per_s")
    for name, time_us, tflop, speed in rows_of(run, "Efficiency", "classes", *columns):
        if name in _CLASSES.get(kind, ()) and isinstance(time_us, int | float):
            spent_s += time_us / 1e6
            if isinstance(tflop, int | float) and isinstance(speed, int | float) and speed:
                n_flops += tflop * 1e12
                known_s += tflop / speed
    return n_flops / known_s if known_s and known_s >= _LEAST_KNOWN * spent_s else None


def compute_shares(run: Run) -> Mapping[str, float]:
    """Return which share of the time of computing kernels each kind takes; nothing without any."""
    sums: dict[str, float] = {}
    for name, category, sum_us in rows_of(
        run, "KernelTime", "kernels", "name", "category", "sum_us"
    ):
        if category == "compute" and isinstance(sum_us, int | float):
            kind = kind_of(str(name))
            sums[kind] = sums.get(kind, 0.0) + sum_us
    whole_us = sum(sums.values())
    return {kind: sum_us / whole_us for kind, sum_us in sums.items()} if whole_us else {}
