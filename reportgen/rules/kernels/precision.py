"""In which number format a kernel computes, read off its name.

The first family that knows a name answers. The label is the type the multiplication runs in: for
mixed multiplicands the wider one; for kernels that do not multiply matrices the narrowest
floating type that is named. Nothing is guessed: what no family knows is ``Unknown``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Precision(StrEnum):
    """Number formats; ``COMM`` stands for kernels that move data between GPUs."""

    FP64 = "FP64"
    FP32 = "FP32"
    TF32 = "TF32"
    FP16 = "FP16"
    BF16 = "BF16"
    FP8 = "FP8"
    FP4 = "FP4"
    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    COMM = "Comm"
    UNKNOWN = "Unknown"


FOLDED: dict[str, tuple[Precision, ...]] = {
    "FP32": (Precision.FP32, Precision.TF32),
    "FP16": (Precision.FP16, Precision.BF16),
    "INT32": (Precision.INT64, Precision.INT32, Precision.INT16),
    "INT8": (Precision.INT8,),
    "other": (Precision.FP64, Precision.FP8, Precision.FP4),
    "Unknown": (Precision.UNKNOWN,),
}
"""The four formats that SageMaker Profiler tells apart, the nearest for each, and the rest.

Source: its guide names FP32, FP16, INT32 and INT8; what joins which is ours.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a name says: the format, and whether matrix units (tensor cores, MFMA) are used."""

    precision: Precision
    tensor_core: bool


UNKNOWN = Reading(Precision.UNKNOWN, tensor_core=False)
COMM = Reading(Precision.COMM, tensor_core=False)

TYPE_NAMES = {
    "fp64": Precision.FP64,
    "f64": Precision.FP64,
    "fp32": Precision.FP32,
    "f32": Precision.FP32,
    "tf32": Precision.TF32,
    "fp16": Precision.FP16,
    "f16": Precision.FP16,
    "half": Precision.FP16,
    "bf16": Precision.BF16,
    "bfloat16": Precision.BF16,
    "fp8": Precision.FP8,
    "e4m3": Precision.FP8,
    "mxe4m3": Precision.FP8,
    "e5m2": Precision.FP8,
    "mxe5m2": Precision.FP8,
    "fp4": Precision.FP4,
    "mxfp4": Precision.FP4,
    "nvfp4": Precision.FP4,
    "e2m1": Precision.FP4,
    "mxe2m1": Precision.FP4,
    "int8": Precision.INT8,
    "i8": Precision.INT8,
    "s8": Precision.INT8,
    "u8": Precision.INT8,
}
"""How libraries of matrix kernels write types, lower case."""
_BITS = {
    Precision.FP4: 4,
    Precision.FP8: 8,
    Precision.INT8: 8,
    Precision.FP16: 16,
    Precision.BF16: 16,
    Precision.TF32: 19,
    Precision.FP32: 32,
    Precision.FP64: 64,
}


def widest(types: tuple[Precision, ...]) -> Precision:
    """Return the type with the most bits, the first of equals."""
    return max(types, key=lambda item: _BITS[item])
