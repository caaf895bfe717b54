"""Precision in the names of matrix libraries: each family writes types in its own way."""

from __future__ import annotations

import re
from collections.abc import Callable

from reportgen.rules.kernels.precision import TYPE_NAMES, Precision, Reading, widest

Family = Callable[[str], Reading | None]

_TENSILE = re.compile(r"Cijk_[A-Z][a-z]+_[A-Z][a-z]+_(.+?)_MT\d")
_TENSILE_TYPES = (
    (re.compile(r"F8|B8"), Precision.FP8),
    (re.compile(r"I8"), Precision.INT8),
    (re.compile(r"BB|B_|BS|B$"), Precision.BF16),
    (re.compile(r"H"), Precision.FP16),
    (re.compile(r"S"), Precision.FP32),
    (re.compile(r"D"), Precision.FP64),
)
_MATRIX_INSTRUCTION = re.compile(r"_MI\d+x\d+")

_NVJET = re.compile(r"nvjet_(?:sm\d+_)?([a-z]{3,5})_")
_NVJET_LETTERS = {
    "h": Precision.FP16,
    "t": Precision.BF16,
    "s": Precision.TF32,
    "q": Precision.FP8,
    "r": Precision.FP8,
    "d": Precision.FP64,
    "o": Precision.FP4,
    "i": Precision.INT8,
}

_TYPE = r"bf16|tf32|f16|f32|f64|e4m3|e5m2|e2m1|i8|s8|u8"
_XMMA = re.compile(rf"xmma_\w*?_({_TYPE})(?:{_TYPE})_(?:{_TYPE}|i32)+_")
_CUTLASS3 = re.compile(rf"cutlass3x_sm\d+_(tensorop|simt)_\w*?gemm_({_TYPE})_")

_SHAPES = r"884|1688|16816|161616|16832|8816|32x8x16|16864"
_MMA = re.compile(
    rf"(?:(bf16|tf32|fp16|f16)_)?([shdi])({_SHAPES})(bf16|tf32|fp16|f16)?(gemm|cudnn|fprop|dgrad|wgrad)"
)
_AFTER = re.compile(
    r"(?:_relu|_sliced\w+?|_optimized|_analytic)?_(bf16|tf32|fp16|f16|s8|u8|i8)(?:_|$)"
)
_TF32_SHAPE = "1688"
_BEFORE_TF32 = re.compile(r"turing|sm75|cutlass_75")

_PLAIN = re.compile(
    r"(?:^|_)(?:volta|ampere|maxwell|turing|hopper|sm\d+|simt|cudnn)\w*?_g?c?([shdczi])(?:gemm|cudnn)"
    r"|(?:^|[\s:_])([shdcz])gemm(?:_|\b)|\bg?([cz])gemm_"
)
_PLAIN_LETTERS = {
    "s": Precision.FP32,
    "h": Precision.FP16,
    "d": Precision.FP64,
    "c": Precision.FP32,
    "z": Precision.FP64,
    "i": Precision.INT8,
}

_IGEMM = re.compile(r"igemm_(?:fwd|bwd|wrw)_gtc\w*?_n\w+?_(bf16|fp16|fp32|int8)_")
_CK = re.compile(r"^_ZN(?:2ck|7ck_tile)")
_CK_USHORT = re.compile(r"(?<=[EI_])t+f?t+(?=[A-Z])")
_CK_MATRIX = re.compile(r"gemm|fmha|xdl|wmma|conv", re.IGNORECASE)

_TRTLLM_BMM = re.compile(r"^bmm_\w+?_((?:MxE|E|Fp|Bfloat|Mx)[A-Za-z0-9]+?)_Fp32_")
_TRTLLM_TYPES = re.compile(r"MxE[245]m[123]|E[245]m[123]|Bfloat16|Fp16|Fp32|MxFp4|NvFp4|Fp8")
_FMHA = re.compile(r"fmhaSm1\d\d\w*?_Q(?:kv)?(E4m3|E5m2|E2m1|Bfloat16|Fp16|Fp32)")
_MATMUL_OGS = re.compile(r"_matmul_ogs_\w+?_[a-z0-9]+x([a-z]+\d+\w*?)x([a-z]+\d+\w*?)_")


def tensile(name: str) -> Reading | None:
    """Read rocBLAS and hipBLASLt: ``Cijk_<A>_<B>_<types>_…_MT…``."""
    match = _TENSILE.search(name)
    if match is None:
        return None
    for pattern, precision in _TENSILE_TYPES:
        if pattern.match(match[1]):
            return Reading(precision, tensor_core=bool(_MATRIX_INSTRUCTION.search(name)))
    return None


def nvjet(name: str) -> Reading | None:
    """Read cuBLAS's ``nvjet_<code>_``: one letter per type, of A first, of B where it differs."""
    match = _NVJET.search(name)
    if match is None:
        return None
    letters = match[1][:2] if len(match[1]) > 4 else match[1][:1]
    types = tuple(_NVJET_LETTERS[letter] for letter in letters if letter in _NVJET_LETTERS)
    return Reading(widest(types), tensor_core=True) if len(types) == len(letters) else None


def xmma(name: str) -> Reading | None:
    """Read ``xmma_…_<A><B>_<C><D>_<E>``; single precision runs without tensor cores."""
    match = _XMMA.search(name)
    if match is None:
        return None
    precision = Precision.TF32 if "tf32" in name else TYPE_NAMES[match[1]]
    return Reading(precision, tensor_core=precision is not Precision.FP32)


def cutlass3(name: str) -> Reading | None:
    """Read ``cutlass3x_smNN_tensorop_…gemm_<A>_<B>_``; single precision on tensor cores is TF32."""
    match = _CUTLASS3.search(name)
    if match is None:
        return None
    is_tensor_core = match[1] == "tensorop"
    precision = TYPE_NAMES[match[2]]
    if is_tensor_core and precision is Precision.FP32:
        precision = Precision.TF32
    return Reading(precision, tensor_core=is_tensor_core)


def matrix_shape(name: str) -> Reading | None:
    """Read names with an accumulator's letter and the shape of the instruction: ``s1688gemm``."""
    match = _MMA.search(name)
    if match is None:
        return None
    after = _AFTER.match(name, match.end())
    written = match[4] or (after[1] if after else None) or match[1]
    if written:
        return Reading(TYPE_NAMES[written], tensor_core=True)
    letter, shape = match[2], match[3]
    if letter == "s":
        is_tf32 = shape == _TF32_SHAPE and not _BEFORE_TF32.search(name)
        return Reading(Precision.TF32 if is_tf32 else Precision.FP16, tensor_core=True)
    implied = {"h": Precision.FP16, "i": Precision.INT8, "d": Precision.FP64}
    return Reading(implied[letter], tensor_core=True)


def plain_gemm(name: str) -> Reading | None:
    """Read matrix kernels on ordinary cores: ``volta_sgemm``, ``scudnn``, ``simt_sgemm``."""
    match = _PLAIN.search(name)
    if match is None:
        return None
    letter = match[1] or match[2] or match[3]
    return Reading(_PLAIN_LETTERS[letter], tensor_core=False)


def miopen(name: str) -> Reading | None:
    """Read MIOpen's implicit GEMMs: ``igemm_fwd_gtcx3_nhwc_bf16_…``."""
    match = _IGEMM.search(name)
    if match is None:
        return None
    return Reading(TYPE_NAMES[match[1]], tensor_core=True)


def composable(name: str) -> Reading | None:
    """Read mangled Composable Kernel names: ``DF16b`` is BF16, ``DF16_`` FP16, ``ttt`` BF16."""
    if _CK.match(name) is None:
        return None
    is_matrix = _CK_MATRIX.search(name) is not None
    if "DF16b" in name or _CK_USHORT.search(name):
        return Reading(Precision.BF16, tensor_core=is_matrix)
    return Reading(Precision.FP16, tensor_core=is_matrix) if "DF16_" in name else None


def generated(name: str) -> Reading | None:
    """Read TensorRT-LLM's generated kernels and Triton's ``_matmul_ogs``."""
    if bmm := _TRTLLM_BMM.search(name):
        types = tuple(_type_of(found) for found in _TRTLLM_TYPES.findall(bmm[1]))
        return Reading(widest(types), tensor_core=True) if types else None
    if fmha := _FMHA.search(name):
        return Reading(_type_of(fmha[1]), tensor_core=True)
    if ogs := _MATMUL_OGS.search(name):
        types = tuple(TYPE_NAMES[found] for found in ogs.groups() if found in TYPE_NAMES)
        return Reading(widest(types), tensor_core=True) if types else None
    return None


def _type_of(written: str) -> Precision:
    return TYPE_NAMES[written.lower()]


LIBRARIES: tuple[Family, ...] = (
    tensile,
    nvjet,
    xmma,
    cutlass3,
    matrix_shape,
    plain_gemm,
    miopen,
    composable,
    generated,
)
"""In the order of the definitions P1 to P8; the first that knows a name answers."""
