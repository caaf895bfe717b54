"""What the name of a kernel says: number format, matrix units, and a short name for people.

Nothing is guessed (docs/definitions.md, Kernel precision).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest


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


@dataclass(frozen=True, slots=True)
class KernelFormat:
    """Number format of a name, and whether matrix units (tensor cores, MFMA) are used."""

    precision: Precision
    tensor_core: bool


UNKNOWN = KernelFormat(Precision.UNKNOWN, tensor_core=False)
COMM = KernelFormat(Precision.COMM, tensor_core=False)

_FUSED = re.compile(r"triton_(?:poi|per|red|tem|for|mm)_fused_(\w+?)_\d+")


def fused_operators(name: str) -> str:
    """Return the operators that a kernel of TorchInductor fuses, by its name; else nothing.

    Source: torch/_inductor/codegen/triton.py, ``define_kernel``.

    Example:
        >>> fused_operators("triton_poi_fused_add_relu_0")
        'add_relu'
    """
    found = _FUSED.fullmatch(name)
    return found[1] if found else ""


def read_computing(name: str) -> KernelFormat:
    """Return in which format a kernel that does not communicate computes, by its name.

    Example:
        >>> read_computing("volta_sgemm_64x64_nt")
        KernelFormat(precision=<Precision.FP32: 'FP32'>, tensor_core=False)
    """
    is_mfma = "mfma" in name.lower()
    for pattern, read in _LIBRARIES:
        if (match := pattern.search(name)) and (reading := read(match)):
            return KernelFormat(reading.precision, tensor_core=reading.tensor_core or is_mfma)
    precision = _by_types(name)
    is_matrix = precision in _MATRIX_TYPES and _MATRIX_HINT.search(name) is not None
    return KernelFormat(precision, tensor_core=is_matrix or is_mfma)


_BY_TYPE = {
    "c10::Half": Precision.FP16,
    "c10::BFloat16": Precision.BF16,
    "double": Precision.FP64,
    "float": Precision.FP32,
}
_WIDTH = re.compile(r"OpaqueType<(\d+)|(_half)$")


def of_type(name: str) -> Precision:
    """Return the number format of a type of an operator's inputs."""
    return Precision.FP8 if "Float8" in name else _BY_TYPE.get(name, Precision.UNKNOWN)


def by_input(name: str, input_type: str) -> Precision:
    """Return the format of a kernel whose name says none, by the type of its operator's input.

    Example:
        >>> by_input("batched_transpose_16x32_half", "c10::BFloat16").value
        'BF16'
        >>> by_input("CatArrayBatchedCopy<OpaqueType<8u>, 3>", "c10::BFloat16").value
        'Unknown'
    """
    precision, width = of_type(input_type), _WIDTH.search(name)
    if width is None or precision is Precision.UNKNOWN:
        return precision
    n_bytes = int(width[1] or 2)
    return precision if 8 * n_bytes == _BITS[precision] else Precision.UNKNOWN


# Names that libraries of matrix kernels write, each in its own way


def _types(text: str) -> dict[str, Precision]:
    """Return the format of each way of writing a type, from ``"h FP16, t BF16"``."""
    pairs = (pair.split() for pair in text.split(", "))
    return {written: Precision(meant) for written, meant in pairs}


_WRITTEN = _types(
    "fp64 FP64, f64 FP64, fp32 FP32, f32 FP32, tf32 TF32, fp16 FP16, f16 FP16, half FP16, "
    "bf16 BF16, bfloat16 BF16, fp8 FP8, e4m3 FP8, mxe4m3 FP8, e5m2 FP8, mxe5m2 FP8, fp4 FP4, "
    "mxfp4 FP4, nvfp4 FP4, e2m1 FP4, mxe2m1 FP4, int8 INT8, i8 INT8, s8 INT8, u8 INT8"
)
"""How most libraries write types, lower case."""
_BITS = {"FP4": 4, "FP8": 8, "INT8": 8, "FP16": 16, "BF16": 16, "TF32": 19, "FP32": 32, "FP64": 64}
_TENSILE_TYPES = re.compile(
    r"(?P<FP8>F8|B8)|(?P<INT8>I8)|(?P<BF16>BB|B_|BS|B$)|(?P<FP16>H)|(?P<FP32>S)|(?P<FP64>D)"
)
_TENSILE_MATRIX_UNITS = re.compile(r"_MI\d+x\d+")
_NVJET_LETTERS = _types("h FP16, t BF16, s TF32, q FP8, r FP8, d FP64, o FP4, i INT8")
_GEMM_LETTERS = _types("s FP32, h FP16, d FP64, c FP32, z FP64, i INT8")
_AFTER_SHAPE = re.compile(
    r"(?:_relu|_sliced\w+?|_optimized|_analytic)?_(bf16|tf32|fp16|f16|s8|u8|i8)(?:_|$)"
)
_TF32_SHAPE = "1688"
_BEFORE_TF32 = re.compile(r"turing|sm75|cutlass_75")
_CK_USHORT = re.compile(r"(?<=[EI_])t+f?t+(?=[A-Z])")
_CK_MATRIX = re.compile(r"gemm|fmha|xdl|wmma|conv", re.IGNORECASE)
_TRTLLM_TYPES = re.compile(r"MxE[245]m[123]|E[245]m[123]|Bfloat16|Fp16|Fp32|MxFp4|NvFp4|Fp8")


def _tensile(match: re.Match[str]) -> KernelFormat | None:
    """Read rocBLAS and hipBLASLt: ``Cijk_<A>_<B>_<types>_…_MT…``."""
    types = _TENSILE_TYPES.match(match[1])
    if types is None:
        return None
    is_matrix = _TENSILE_MATRIX_UNITS.search(match.string) is not None
    return KernelFormat(Precision[str(types.lastgroup)], tensor_core=is_matrix)


def _nvjet(match: re.Match[str]) -> KernelFormat | None:
    """Read cuBLAS's ``nvjet_<code>_``: one letter per type, of A first, of B where it differs."""
    letters = match[1][:2] if len(match[1]) > 4 else match[1][:1]
    is_known = all(letter in _NVJET_LETTERS for letter in letters)
    return _matrix(*(_NVJET_LETTERS[letter].lower() for letter in letters)) if is_known else None


def _xmma(match: re.Match[str]) -> KernelFormat:
    """Read ``xmma_…_<A><B>_<C><D>_<E>``; single precision runs without tensor cores."""
    precision = Precision.TF32 if "tf32" in match.string else _WRITTEN[match[1]]
    return KernelFormat(precision, tensor_core=precision is not Precision.FP32)


def _cutlass3(match: re.Match[str]) -> KernelFormat:
    """Read ``cutlass3x_smNN_tensorop_…gemm_<A>_<B>_``; single precision on tensor cores is TF32."""
    is_matrix, precision = match[1] == "tensorop", _WRITTEN[match[2]]
    is_tf32 = is_matrix and precision is Precision.FP32
    return KernelFormat(Precision.TF32 if is_tf32 else precision, tensor_core=is_matrix)


def _instruction(match: re.Match[str]) -> KernelFormat:
    """Read names with an accumulator's letter and the shape of the instruction: ``s1688gemm``."""
    after = _AFTER_SHAPE.match(match.string, match.end())
    written = match[4] or (after[1] if after else None) or match[1]
    if written:
        precision = _WRITTEN[written]
    elif match[2] == "s":
        is_tf32 = match[3] == _TF32_SHAPE and not _BEFORE_TF32.search(match.string)
        precision = Precision.TF32 if is_tf32 else Precision.FP16
    else:
        precision = _GEMM_LETTERS[match[2]]
    return KernelFormat(precision, tensor_core=True)


def _composable(match: re.Match[str]) -> KernelFormat | None:
    """Read mangled Composable Kernel names: ``DF16b`` is BF16, ``DF16_`` FP16, ``ttt`` BF16."""
    name = match.string
    is_matrix = _CK_MATRIX.search(name) is not None
    if "DF16b" in name or _CK_USHORT.search(name):
        return KernelFormat(Precision.BF16, tensor_core=is_matrix)
    return KernelFormat(Precision.FP16, tensor_core=is_matrix) if "DF16_" in name else None


def _matrix(*written: str) -> KernelFormat | None:
    """Return the widest of some types, the first of equals, on matrix units."""
    types = [_WRITTEN[item] for item in written if item in _WRITTEN]
    widest = max(types, key=lambda item: _BITS[item], default=None)
    return KernelFormat(widest, tensor_core=True) if widest else None


_A_TYPE = r"bf16|tf32|f16|f32|f64|e4m3|e5m2|e2m1|i8|s8|u8"
_A_CORE = r"(?:volta|ampere|maxwell|turing|hopper|sm\d|simt|cudnn)"
# A gap never passes a second beginning: a search would else scan the rest of a name from each.
_LIBRARIES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], KernelFormat | None]], ...] = (
    (re.compile(r"Cijk_[A-Z][a-z]+_[A-Z][a-z]+_((?:(?!Cijk_).)+?)_MT\d"), _tensile),
    (re.compile(r"nvjet_(?:sm\d+_)?([a-z]{3,5})_"), _nvjet),
    (re.compile(rf"xmma_(?:(?!xmma_)\w)*?_({_A_TYPE})(?:{_A_TYPE})_(?:{_A_TYPE}|i32)++_"), _xmma),
    (
        re.compile(rf"cutlass3x_sm\d+_(tensorop|simt)_(?:(?!cutlass3x_)\w)*?gemm_({_A_TYPE})_"),
        _cutlass3,
    ),
    (
        re.compile(
            r"(?:(bf16|tf32|fp16|f16)_)?([shdi])(884|1688|16816|161616|16832|8816|32x8x16|16864)"
            r"(bf16|tf32|fp16|f16)?(gemm|cudnn|fprop|dgrad|wgrad)"
        ),
        _instruction,
    ),
    (
        re.compile(
            rf"(?:^|_){_A_CORE}(?:(?!_{_A_CORE})\w)*?_g?c?([shdczi])(?:gemm|cudnn)"
            r"|(?:^|[\s:_])([shdcz])gemm(?:_|\b)|\bg?([cz])gemm_"
        ),
        # On ordinary cores: ``volta_sgemm``, ``scudnn``, ``simt_sgemm``.
        lambda found: KernelFormat(_GEMM_LETTERS[found[found.lastindex or 1]], tensor_core=False),
    ),
    # MIOpen's implicit GEMMs: ``igemm_fwd_gtcx3_nhwc_bf16_…``.
    (
        re.compile(
            r"igemm_(?:fwd|bwd|wrw)_gtc(?>(?:(?!igemm_)\w)*?_n)(?:(?!igemm_)\w)+?_(bf16|fp16|fp32|int8)_"
        ),
        lambda found: _matrix(found[1]),
    ),
    (re.compile(r"^_ZN(?:2ck|7ck_tile)"), _composable),
    # TensorRT-LLM generates ``bmm_<out>_<A><B>_Fp32_`` and ``fmhaSm100aKernel_Q<A>…``.
    (
        re.compile(r"^bmm_\w+?_((?:MxE|E|Fp|Bfloat|Mx)[A-Za-z0-9]+?)_Fp32_"),
        lambda found: _matrix(*(item.lower() for item in _TRTLLM_TYPES.findall(found[1]))),
    ),
    (
        re.compile(r"fmhaSm1\d\d(?:(?!fmhaSm1)\w)*?_Q(?:kv)?(E4m3|E5m2|E2m1|Bfloat16|Fp16|Fp32)"),
        lambda found: _matrix(found[1].lower()),
    ),
    # Triton's ``_matmul_ogs_<layout>_<out>x<A>x<B>_``.
    (
        re.compile(
            r"_matmul_ogs_(?:(?!_matmul_ogs_)\w)+?_(?:mx)?[a-wyz0-9]++"
            r"x((?:mx)?[a-wyz]++\d++[a-wyz0-9_]*+)x((?:mx)?[a-wyz]++\d++[a-wyz0-9]*+)_"
        ),
        lambda found: _matrix(*found.groups()),
    ),
)
"""The first that matches a name and can read it answers."""


# Types in a C++ name


_FLOATING = (
    (re.compile(r"fp4(?![a-z])|e2m1", re.IGNORECASE), Precision.FP4),
    (re.compile(r"float8|fp8(?!kvcache)|e4m3|e5m2", re.IGNORECASE), Precision.FP8),
    (re.compile(r"bfloat16|(?<![a-z0-9])bf16|^_Z.*DF16b", re.IGNORECASE), Precision.BF16),
    (
        re.compile(
            r"c10::Half|\b_*half2?(_t)?\b|::half_t|(?<![a-z0-9])fp16|^_Z.*DF16_", re.IGNORECASE
        ),
        Precision.FP16,
    ),
    (re.compile(r"tfloat32|(?<![a-z0-9])tf32", re.IGNORECASE), Precision.TF32),
    (re.compile(r"\bfloat[1-4]?\b|(?<![A-Za-z0-9])fp32(?![A-Za-z0-9])"), Precision.FP32),
    (re.compile(r"\bdouble[1-4]?\b|(?<![A-Za-z0-9])fp64(?![A-Za-z0-9])"), Precision.FP64),
)
"""Narrow types first: a kernel that mixes them is named after the narrowest."""
_WHOLE = (
    (re.compile(r"(?<!unsigned )\b(long|int64_t)\b"), Precision.INT64),
    (
        re.compile(
            r"\b(bool|u?int8_t|(signed |unsigned )?char)\b(?!\s*(const)?\s*\*)"
            r"|(?<![A-Za-z0-9])int8(?![A-Za-z0-9])"
        ),
        Precision.INT8,
    ),
    (re.compile(r"\bshort\b"), Precision.INT16),
    (re.compile(r"(?<!unsigned )\bint(32_t)?\b"), Precision.INT32),
)
_OPAQUE = re.compile(
    r"OpaqueType<|batched_transpose_(?:(?!batched_transpose_)\w)*?half|^transpose_(NCHW|CNHW)",
    re.IGNORECASE,
)
"""Copies that move bytes of any type of their length."""
_MATRIX_HINT = re.compile(
    r"fmha|flash_(fwd|bwd)|flash::(?:(?!flash::).)*?(fwd|bwd)|grouped_gemm|GroupedGemm|FlashAttn|mha_(fwd|bwd)"
)
"""Attention and grouped GEMMs multiply on matrix units although no shape is in their name."""
_MATRIX_TYPES = {"FP16", "BF16", "FP8", "FP4", "TF32", "Unknown"}


def _by_types(name: str) -> Precision:
    """Return the type that the template arguments of a name say, else its parameters."""
    if _OPAQUE.search(name):
        return Precision.UNKNOWN
    for families in (_FLOATING, _WHOLE):
        for text in _split_parameters(name):
            for pattern, precision in families:
                if pattern.search(text):
                    return precision
    return Precision.UNKNOWN


def _split_parameters(name: str) -> tuple[str, str]:
    """Return a name without its last balanced parameter list, and that list.

    Example:
        >>> _split_parameters("void fill<float>(int, Array<char*, 2>)")
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


# Names for people


_NAMESPACE = re.compile(r"\(anonymous namespace\)::|<unnamed>::|\b[a-z_][A-Za-z0-9_]*::")
_WHAT_IT_DOES = re.compile(
    r"\b(?!gpu_kernel_impl|ReduceOp|[A-Z]?[A-Z]?(?:Unary|Binary)Functor|enable_)"
    r"(\w+[Ff]unctor\w*|\w+Ops?\b|\w+_kernel(?:_impl|_cuda)?\b|\w+KernelImpl\b|launch_\w+"
    r"|cutlass_\w+|\w*Flash\w+|\w*[Ff]mha\w*|Gemm\w+|Conv\w+)"
)
_GENERIC = re.compile(
    r"elementwise|reduce_kernel|multi_tensor_apply|cutlass::Kernel|Kernel2?$|device_kernel$"
)
_SAYS_NOTHING = re.compile(r"^(?:device_kernel|Kernel2?)$")
_WORD = re.compile(r"\w+|#\d+")


def short_name(name: str) -> str:
    """Return a kernel's name without parameters, template arguments and namespaces.

    The work of a generic kernel is appended.

    Example:
        >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor"
        ...            "<float>, Array<char*, 3> >(int, Array<char*, 3>)")
        'vectorized_elementwise_kernel AddFunctor'
    """
    template, _ = _split_parameters(name)
    bare = _without_templates(template.removeprefix("void ").replace("<unnamed>::", "").strip())
    bare = _NAMESPACE.sub("", bare).strip()
    if not bare:
        return name
    does = _WHAT_IT_DOES.search(template, template.find("<") + 1) if _GENERIC.search(bare) else None
    if _SAYS_NOTHING.match(bare):
        words = _WORD.findall(_NAMESPACE.sub("", template.removeprefix("void ")))
        return does[1] if does else (words[1:] or words)[0]
    return f"{bare} {does[1]}" if does and does[1] not in bare else bare


def _without_templates(name: str) -> str:
    """Return a name without its angle brackets and what they hold; single brackets stay.

    Example:
        >>> _without_templates("f<g<int>, 2>::h<"), _without_templates("a<b<c>d")
        ('f::h<', 'a<bd')
    """
    kept: list[str] = []
    opened: list[int] = []
    for piece in re.split("([<>])", name):
        if piece == ">" and opened:
            del kept[opened.pop() :]
            continue
        if piece == "<":
            opened.append(len(kept))
        kept.append(piece)
    return "".join(kept)


def short_names(names: Sequence[str]) -> list[str]:
    """Return a short name for each; of kernels that would be alike with the words that differ.

    They are the first that distinguish all names, mostly template arguments.

    Example:
        >>> short_names(["void conv<float, 128, 5>(int)", "void conv<float, 64, 5>(int)", "g"])
        ['conv<128>', 'conv<64>', 'g']
    """
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(short_name(name), []).append(name)
    labels = dict[str, str]()
    for label, group in alike.items():
        words: list[tuple[str, ...]] = [()] * len(group)
        for column in zip_longest(*map(_WORD.findall, group), fillvalue=""):
            if len(set(column)) > 1 and len(set(words)) < len(group):
                words = [
                    chosen + (word,) * bool(word)
                    for chosen, word in zip(words, column, strict=True)
                ]
        for name, chosen in zip(group, words, strict=True):
            are_different = len(set(words)) == len(group)
            labels[name] = (
                (f"{label}<{', '.join(chosen)}>" if chosen else label) if are_different else name
            )
    return [labels[name] for name in names]
