"""Precision from the types in a C++ name: template arguments first, then the parameters."""

from __future__ import annotations

import re

from reportgen.rules.kernels.precision import UNKNOWN, Precision, Reading

_FLOATING = (
    (re.compile(r"float8|fp8(?!kvcache)|e4m3|e5m2", re.IGNORECASE), Precision.FP8),
    (re.compile(r"bfloat16|\bbf16|^_Z.*DF16b", re.IGNORECASE), Precision.BF16),
    (
        re.compile(r"c10::Half|\b_*half2?(_t)?\b|::half_t|\bfp16|^_Z.*DF16_", re.IGNORECASE),
        Precision.FP16,
    ),
    (re.compile(r"tfloat32|\btf32", re.IGNORECASE), Precision.TF32),
    (re.compile(r"\bfloat[1-4]?\b"), Precision.FP32),
    (re.compile(r"\bdouble[1-4]?\b"), Precision.FP64),
)
"""Narrow types first: a kernel that mixes them is named after the narrowest."""
_WHOLE = (
    (re.compile(r"(?<!unsigned )\b(long|int64_t)\b"), Precision.INT64),
    (
        re.compile(r"\b(bool|u?int8_t|(signed |unsigned )?char)\b(?!\s*(const)?\s*\*)"),
        Precision.INT8,
    ),
    (re.compile(r"\bshort\b"), Precision.INT16),
    (re.compile(r"(?<!unsigned )\bint(32_t)?\b"), Precision.INT32),
)
_OPAQUE = re.compile(r"OpaqueType<|batched_transpose_\w*half|^transpose_(NCHW|CNHW)", re.IGNORECASE)
"""Copies that move bytes of any 16- or 32-bit type."""
_MATRIX_HINT = re.compile(
    r"fmha|flash_(fwd|bwd)|flash::.*(fwd|bwd)|grouped_gemm|GroupedGemm|FlashAttn|mha_(fwd|bwd)"
)
"""Attention and grouped GEMMs multiply on matrix units although no shape is in their name."""
_MATRIX_TYPES = {
    Precision.FP16,
    Precision.BF16,
    Precision.FP8,
    Precision.FP4,
    Precision.TF32,
    Precision.UNKNOWN,
}


def read_types(name: str) -> Reading:
    """Return what the types in a name say; ``Unknown`` when none is there."""
    precision = _precision(name)
    is_matrix = precision in _MATRIX_TYPES and _MATRIX_HINT.search(name) is not None
    return Reading(precision, tensor_core=is_matrix) if is_matrix else _plain(precision)


def _plain(precision: Precision) -> Reading:
    return UNKNOWN if precision is Precision.UNKNOWN else Reading(precision, tensor_core=False)


def _precision(name: str) -> Precision:
    if _OPAQUE.search(name):
        return Precision.UNKNOWN
    template, parameters = split_parameters(name)
    for families in (_FLOATING, _WHOLE):
        for text in (template, parameters):
            for pattern, precision in families:
                if pattern.search(text):
                    return precision
    return Precision.UNKNOWN


def floating_type(text: str) -> Precision:
    """Return the precision that one type says (``c10::BFloat16``), ``UNKNOWN`` if not floating."""
    found = (precision for pattern, precision in _FLOATING if pattern.search(text))
    return next(found, Precision.UNKNOWN)


def split_parameters(name: str) -> tuple[str, str]:
    """Return a name without its last balanced parameter list, and that list.

    Example:
        >>> split_parameters("void fill<float>(int, Array<char*, 2>)")
        ('void fill<float>', '(int, Array<char*, 2>)')
    """
    text = name.rstrip()
    if not text.endswith(")"):
        return name, ""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth == 0:
            return text[:place], text[place:]
    return name, ""
