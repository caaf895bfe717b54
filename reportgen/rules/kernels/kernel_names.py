"""Everything a kernel's name tells: its precision and how it is called for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reportgen.rules.kernels.communication import is_communication
from reportgen.rules.kernels.library_names import LIBRARIES
from reportgen.rules.kernels.precision import COMM, Reading
from reportgen.rules.kernels.type_names import read_types, split_parameters

_NAMESPACE = re.compile(r"\(anonymous namespace\)::|<unnamed>::|\b[a-z_][A-Za-z0-9_]*::")
_TEMPLATE = re.compile(r"<[^<>]*>")
_WHAT_IT_DOES = re.compile(
    r"\b(?!gpu_kernel_impl)(\w+Functor\w*|\w+Ops?\b|\w+_kernel_(?:impl|cuda)\w*|cutlass\w+gemm\w*)"
)
_GENERIC = re.compile(r"elementwise|reduce_kernel|multi_tensor_apply|cutlass::Kernel|Kernel2?$")


def read_precision(name: str) -> Reading:
    """Return in which format a kernel computes and whether on matrix units, by its name.

    Source: kernel-trace definitions 2.3, P0 to P11.

    Example:
        >>> read_precision("volta_sgemm_64x64_nt")
        Reading(precision=<Precision.FP32: 'FP32'>, tensor_core=False)
    """
    if is_communication(name):
        return COMM
    for family in LIBRARIES:
        reading = family(name)
        if reading is not None:
            return reading
    return read_types(name)


def short_name(name: str) -> str:
    """Return a kernel's name without parameters, template arguments and namespaces.

    A generic kernel is told by what it does as well.

    Example:
        >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor"
        ...            "<float>, Array<char*, 3> >(int, Array<char*, 3>)")
        'vectorized_elementwise_kernel AddFunctor'
    """
    template, _ = split_parameters(name)
    bare = template.removeprefix("void ").strip()
    before = None
    while before != bare:
        before, bare = bare, _TEMPLATE.sub("", bare)
    bare = _NAMESPACE.sub("", bare).strip()
    if not bare:
        return name
    does = _WHAT_IT_DOES.search(template) if _GENERIC.search(bare) else None
    return f"{bare} {does[1]}" if does and does[1] not in bare else bare


def short_names(names: Sequence[str]) -> list[str]:
    """Return a short name for each; those that would be alike get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        label = short_name(name)
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found
