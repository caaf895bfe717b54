"""The work that a trace's operators did on the GPU: operations, least bytes, and time.

An operator's time is the union of the kernels that it launched, call by call. Work is counted once,
at the innermost operator with a formula: ``aten::linear`` calls ``aten::addmm``, which is counted.

Source: docs/efficiency.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from math import prod

import numpy as np

from reportgen.arrays import Mask, Rows
from reportgen.facts.device_busy import communication_rows, rows_named
from reportgen.facts.intervals import union_by_code_ns
from reportgen.facts.kernel_names import Precision, of_type, read_computing, short_name
from reportgen.facts.operator_flops import Inputs, OperatorWork, WorkClass, has_formula, work_of
from reportgen.facts.operators import launching_operators, slices_around, slices_open_at
from reportgen.facts.traced_steps import step_rows
from reportgen.merging import joint_codes, sum_by_key, sums_by_code
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind, SliceKind

_ELEMENTWISE = re.compile(
    r"elementwise|reduce_kernel|triton_(?:poi|red|per)_|softmax|(?:layer|batch|rms)_?norm",
    re.IGNORECASE,
)
_NODE, _CHECKPOINT = "autograd::engine::evaluate_function", "CheckpointFunctionBackward"
_OF_FORWARD = frozenset({"aten::linear", "aten::conv2d", "aten::scaled_dot_product_attention"})
"""Operators of a forward pass; autograd's own formulas call what these are made of."""

_ELEMENT_BYTES = {
    Precision.FP64: 8, Precision.FP32: 4, Precision.TF32: 4, Precision.FP16: 2, Precision.BF16: 2,
    Precision.FP8: 1,
}  # fmt: skip


_WITH_FORMULA, _COPY, _ELEMENT, _OTHER = range(4)
_CLASSES = {_COPY: WorkClass.COPY, _ELEMENT: WorkClass.ELEMENTWISE}
_BY_NAME = (
    (re.compile(r"attention|attn|fmha|flash_(?:fwd|bwd)", re.IGNORECASE), WorkClass.ATTENTION),
    (re.compile(r"conv(?!ert)|[dw]grad|fprop", re.IGNORECASE), WorkClass.CONVOLUTION),
    (re.compile(r"gemm|gemv|matmul|nvjet|^Cijk_", re.IGNORECASE), WorkClass.MATMUL),
)
"""Names of operators and kernels whose work has a formula; the first that fits."""
_TILE = re.compile(r"(?:tilesize|_MT|_)(\d{2,3})x(\d{2,3})(?!\d)")
_SPLIT = re.compile(r"split|slice|stream_?k|GSU(?!1\D)|igemm", re.IGNORECASE)
"""Kernels that divide a tile of the result among multiprocessors, or whose tile is no product's."""
Gpu = tuple[str, int | None]
"""Name of a GPU and its multiprocessors, ``None`` where the trace does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorKey:
    """What calls are counted by: GPU, operator, sizes of the inputs, number format.

    Attributes:
        gpu: the kind of GPU.
        work_class: its class.
        operator: its name; of kernels that no recorded operator launched that of the kernel.
        has_operator: whether a recorded operator launched it.
        input_dims: sizes of its inputs as text; empty where they are not recorded.
        precision: the format that it computes in; ``UNKNOWN`` where nothing says it.
        work: of one call; ``None`` where no formula knows it, or where inputs are missing.
        least_bytes: of one call, inputs and outputs once; ``None`` where not known.
        tile: rows and columns of the result that a multiprocessor computes at once, in any order,
            by the name of the first kernel; ``None`` where it does not say it.
    """

    gpu: Gpu
    work_class: WorkClass
    operator: str
    has_operator: bool
    input_dims: str
    precision: Precision
    work: OperatorWork | None
    least_bytes: int | None
    tile: tuple[int, int] | None = field(compare=False)

    @property
    def flops(self) -> int | None:
        """Return the operations of one call; ``None`` where unknown, or only bounded from above."""
        return None if self.work is None or self.work.is_at_most else self.work.flops

    @property
    def product(self) -> tuple[int, ...]:
        """Return (M, N, K) of a matrix product, or of one of a batch; empty for other work."""
        return self.work.product if self.work and prod(self.work.product) else ()


@dataclass(frozen=True, slots=True)
class OperatorSums:
    """All calls of one key: number, time of their kernels, and how many are computed again.

    Attributes:
        n_calls: calls.
        time_ns: unions of the kernels of each call, added up.
        n_in_steps: calls inside the recorded steps, without those computed again.
        n_again: calls inside the recorded steps that an activation checkpoint computes again.
    """

    n_calls: int
    time_ns: int
    n_in_steps: int
    n_again: int

    def __add__(self, other: OperatorSums) -> OperatorSums:
        """Return the sums of both."""
        return OperatorSums(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@fact
def operator_work(trace: RankTrace, more_names: str | None) -> Mapping[OperatorKey, OperatorSums]:
    """Return the work of a rank's GPU operations by operator, sizes and format.

    Communication is left out; ``more_names``, a regular expression, finds more of it. A call
    belongs to a step if it begins in it.
    """
    rows = np.flatnonzero(~communication_rows(trace, more_names))
    operator, kind = _operators(trace, rows)
    alone = np.where(operator == NONE, rows, NONE)  # a kernel without operator is a call
    call = joint_codes(operator, alone, kind, trace.gpu_ops.device[rows])
    start_ns, end_ns = trace.gpu_ops.start_ns[rows], trace.gpu_ops.end_ns[rows]
    by_length = np.lexsort((start_ns - end_ns, call))
    longest = by_length[np.diff(call[by_length], prepend=-1) != 0]
    time_ns = union_by_code_ns(call, start_ns, end_ns, longest.size)
    operator, kind, main = operator[longest], kind[longest], rows[longest]
    is_in_step = _in_steps(trace, operator)
    is_again = _computed_again(trace, operator)
    code, first = _key_codes(trace, operator, kind, main)
    keys = [
        _key_of(trace, int(operator[at]), int(kind[at]), int(main[at])) for at in first.tolist()
    ]
    sums = (
        np.bincount(code, minlength=len(keys)),
        sums_by_code(code, time_ns, len(keys)),
        np.bincount(code[is_in_step & ~is_again], minlength=len(keys)),
        np.bincount(code[is_in_step & is_again], minlength=len(keys)),
    )
    columns = (column.tolist() for column in sums)
    return sum_by_key({key: OperatorSums(*one)} for key, *one in zip(keys, *columns, strict=True))


def _operators(trace: RankTrace, rows: Rows) -> tuple[Rows, Rows]:
    """Return the operator that each GPU operation is counted for, and the kind of its work."""
    ops, slices = trace.gpu_ops, trace.slices
    is_formula = (slices.kind == SliceKind.OPERATOR) & rows_named(trace, slices.name, has_formula)
    launch = ops.launch[rows]
    counted = np.full(rows.shape, NONE, dtype=np.int64)
    is_kernel = ops.kind[rows] == GpuKind.KERNEL
    is_launched = is_kernel & (launch != NONE)
    counted[is_launched] = slices_around(trace, launch[is_launched], is_formula)
    is_element = rows_named(trace, ops.name, _ELEMENTWISE.search)[rows]
    kind = np.where(is_kernel, np.where(is_element, _ELEMENT, _OTHER), _COPY)
    is_counted = counted != NONE
    operator = np.where(is_counted, counted, launching_operators(trace)[rows])
    return operator, np.where(is_counted, _WITH_FORMULA, kind)


def _key_codes(trace: RankTrace, operator: Rows, kind: Rows, main: Rows) -> tuple[Rows, Rows]:
    """Return a code for each call, equal where its key is, and the first call of each code."""
    ops, slices = trace.gpu_ops, trace.slices
    columns = (slices.name, slices.input_dims, slices.input_type, slices.input_values)
    of_operator = [np.append(column, NONE)[operator] for column in columns]  # ``NONE`` is the last
    code = joint_codes(*of_operator, kind, ops.device[main], ops.name[main])
    _, first = np.unique(code, return_index=True)
    return code, first


def _key_of(trace: RankTrace, operator: int, kind: int, main: int) -> OperatorKey:
    slices, ops = trace.slices, trace.gpu_ops
    gpus: list[Gpu] = [
        (item.name, item.multiprocessors) for item in trace.devices if item.id == ops.device[main]
    ]
    name, dims, type_name, values = (
        "" if operator == NONE or column[operator] == NONE else words[column[operator]]
        for words, column in (
            (trace.names, slices.name),
            (trace.input_dims, slices.input_dims),
            (trace.input_types, slices.input_type),
            (trace.input_values, slices.input_values),
        )
    )
    inputs = _inputs(dims, values)
    work = work_of(name, inputs) if inputs and kind == _WITH_FORMULA else None
    kernel = trace.names[ops.name[main]]
    precision = _precision(type_name, kernel)
    elements = work.least_elements if work else _least_elements(inputs, kind)
    bytes_each = _ELEMENT_BYTES.get(precision)
    tile = None if _SPLIT.search(kernel) else _TILE.search(kernel)
    return OperatorKey(
        gpu=gpus[0] if gpus else ("", None),
        work_class=_class_of(name or kernel, kind, work),
        operator=name or short_name(kernel),
        has_operator=bool(name),
        input_dims=dims,
        precision=precision,
        work=work,
        least_bytes=elements * bytes_each if elements and bytes_each else None,
        tile=(int(tile[1]), int(tile[2])) if tile else None,
    )


def _class_of(name: str, kind: int, work: OperatorWork | None) -> WorkClass:
    """Return the class of a call, also where inputs or the operator are missing: by its name."""
    if work:
        return work.kind
    if kind not in {_WITH_FORMULA, _OTHER}:
        return _CLASSES[kind]
    named = next((found for words, found in _BY_NAME if words.search(name)), None)
    return named or (WorkClass.OTHER if kind == _OTHER else WorkClass.MATMUL)


def _inputs(dims: str, values: str) -> Inputs | None:
    """Return the inputs of an operator from their texts; ``None`` where these are cut or odd."""
    try:
        sizes, options = json.loads(f"[{dims}]"), json.loads(values or "[]")
    except ValueError:
        return None
    if not dims or not isinstance(options, list):
        return None
    return Inputs(dims=tuple(sizes), values=tuple(map(str, options)))


def _least_elements(inputs: Inputs | None, kind: int) -> int | None:
    """Return the elements that are read for sure, and those of a result of the largest size."""
    if inputs is None or kind != _ELEMENT:
        return None
    shapes = [inputs.shape(place, *range(1, 9)) for place in range(len(inputs.dims))]
    sizes = [int(np.prod(shape, dtype=object)) for shape in shapes if shape]
    return sum(sizes) + max(sizes, default=0) or None


def _precision(type_name: str, kernel: str) -> Precision:
    """Return the format by the type of the inputs; of ``float`` the kernel's name decides."""
    written = of_type(type_name)
    if written is not Precision.FP32:
        return written
    found = read_computing(kernel).precision
    return found if found in {Precision.FP32, Precision.TF32} else Precision.UNKNOWN


def _in_steps(trace: RankTrace, operator: Rows) -> Mask:
    """Return which calls begin inside a recorded step."""
    steps = step_rows(trace)
    if steps is None or not steps.start_ns.size:
        return np.zeros(operator.shape, dtype=bool)
    start_ns = np.append(trace.slices.start_ns, NONE)[operator]  # ``NONE`` is before any step
    at = np.searchsorted(steps.start_ns, start_ns, side="right") - 1
    return np.asarray((at >= 0) & (start_ns < (steps.start_ns + steps.period_ns)[at]))


def _computed_again(trace: RankTrace, operator: Rows) -> Mask:
    """Return which calls an activation checkpoint computes a second time, in the backward pass.

    A checkpoint that is a node of autograd runs the forward pass inside this node; others run
    operators of the forward pass inside the node that needs their result.
    """
    name = trace.slices.name
    is_node = rows_named(trace, name, lambda text: _NODE in text or _CHECKPOINT in text)
    if not is_node.any():
        return np.zeros(operator.shape, dtype=bool)
    is_checkpoint = rows_named(trace, name, lambda text: _CHECKPOINT in text)
    is_forward = rows_named(trace, name, _OF_FORWARD.__contains__)
    thread, start_ns = trace.slices.thread[operator], trace.slices.start_ns[operator]
    node = slices_open_at(trace, thread, start_ns, is_node)
    caller = slices_open_at(trace, thread, start_ns, is_node | is_forward)
    is_again = is_checkpoint[node] | is_forward[caller]
    return np.asarray((operator != NONE) & (node != NONE) & is_again)
