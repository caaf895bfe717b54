"""Eager training in data parallel: one operator after the other, gradients summed in buckets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.exam.traces import planting
from benchmarks.exam.traces.clock import AUTOGRAD, COLLECTIVES, COMPUTE, MAIN, Clock, Meeting
from benchmarks.exam.traces.faults import Kind, fault_at, size_at
from benchmarks.exam.traces.plan import Job

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
GEMM_NT = "ampere_bf16_s16816gemm_bf16_256x64_ldg8_f2f_stages_64x3_nt"
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
GELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("
    "at::TensorIteratorBase&, at::native::GeluType)::{lambda(c10::BFloat16)#1}>(int)"
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
    "FusedOptimizerTensorListMetadata<4>, at::native::FusedAdamMathFunctor<c10::BFloat16, 4> >"
)
N_BUCKETS = 6
ELEMENTS_PER_US = 45_000.0


def program(clock: Clock, job: Job) -> Meeting:
    """Train some steps on one rank."""
    plan, begun_us = job.plan, clock.now_us
    for step in range(plan.n_steps):
        clock.step = step
        with (
            clock.range(f"ProfilerStep#{step + 5}", "user_annotation"),
            _stack(clock, job, "train_step"),
        ):
            planting.wait_for_batch(clock, job, begun_us)
            for micro in range(plan.n_micro):
                planting.copy_batch(clock, job)
                planting.first_use(clock, job, "cudnn_infer_ampere_first_scudnn_128x64")
                _forward(clock, job)
                yield from _backward(clock, job, is_last=micro == plan.n_micro - 1)
            _update(clock, job)
            planting.between_steps(clock, job)
        clock.now_us += 22.0
    clock.last_us = max(clock.last_us, clock.now_us - 22.0)


def slowness(clock: Clock, job: Job, name: str = "gemm") -> float:
    """Return how much longer a kernel takes on a slow rank, or one with more work."""
    factor = 1.0 + size_at(job.faults, Kind.SLOW_RANK, clock.rank, clock.step)
    if name == "gemm":
        factor += size_at(job.faults, Kind.UNEVEN_WORK, clock.rank, clock.step)
    return factor


def link_factor(clock: Clock, job: Job) -> float:
    """Return how much longer transfers take."""
    faults, at = job.faults, (clock.rank, clock.step)
    return 1.0 + size_at(faults, Kind.SLOW_LINK, *at) + size_at(faults, Kind.SLOW_LINK_ALWAYS, *at)


@contextmanager
def _stack(clock: Clock, job: Job, name: str) -> Iterator[None]:
    with ExitStack() as frames:
        if job.plan.has_stack:
            frames.enter_context(clock.range(f"train.py(41): {name}", "python_function"))
        yield


def _forward(clock: Clock, job: Job) -> None:
    plan, unit, slow = job.plan, job.plan.unit_us, slowness(clock, job)
    all_slow, host = slowness(clock, job, "other"), plan.host_us
    with clock.range("DistributedDataParallel.forward", "user_annotation"):
        for layer in range(plan.n_layers):
            for name, kernel, gpu_us in (
                ("aten::layer_norm", NORM, 0.15 * unit * all_slow),
                ("aten::linear", GEMM, unit * slow),
                ("aten::gelu", GELU, 0.12 * unit * all_slow),
                ("aten::linear", GEMM, unit * slow),
                ("aten::add_", GELU, 0.1 * unit * all_slow),
            ):
                planting.python_overhead(clock, job)
                clock.operator(name, host, (kernel, gpu_us))
            planting.many_small(clock, job, Kind.SMALL_KERNELS)
            planting.many_items(clock, job, plan.n_layers, layer)
            if layer == plan.n_layers // 2:
                planting.long_gap(clock, job)
        clock.operator("aten::cross_entropy_loss", host, (NORM, 0.2 * unit * all_slow))


def _backward(clock: Clock, job: Job, *, is_last: bool) -> Meeting:
    plan, unit = job.plan, job.plan.unit_us
    slow, other = slowness(clock, job), slowness(clock, job, "other")
    each = max(plan.n_layers // N_BUCKETS, 1)
    exposed = fault_at(job.faults, Kind.EXPOSED_COMMUNICATION, clock.rank, clock.step)
    transfer_us = link_factor(clock, job) * _transfer_us(job)
    clock.thread = AUTOGRAD
    late = []
    for layer in reversed(range(plan.n_layers)):
        for name, kernels in (
            ("AddBackward0", ((GELU, 0.1 * unit * other),)),
            ("AddmmBackward0", ((GEMM_NT, unit * slow), (GEMM, unit * slow))),
            ("GeluBackward0", ((GELU, 0.15 * unit * other),)),
            ("AddmmBackward0", ((GEMM_NT, unit * slow), (GEMM, unit * slow))),
            ("NativeLayerNormBackward0", ((NORM, 0.3 * unit * other),)),
        ):
            planting.python_overhead(clock, job)
            with clock.range(f"autograd::engine::evaluate_function: {name}"):
                clock.operator(name, plan.host_us, *kernels)
        if is_last and plan.n_ranks > 1 and layer % each == 0:
            if exposed is None or exposed.is_mended:
                yield from _all_reduce(clock, job, transfer_us)
            else:
                late.append(transfer_us)
    clock.thread = MAIN
    for each_us in late:
        yield from _all_reduce(clock, job, each_us)
    if is_last and plan.n_ranks > 1:
        clock.wait_for(COMPUTE, COLLECTIVES)


def _transfer_us(job: Job) -> float:
    plan = job.plan
    n_calls = len(range(0, plan.n_layers, max(plan.n_layers // N_BUCKETS, 1)))
    exposed = next((f for f in job.faults if f.kind is Kind.EXPOSED_COMMUNICATION), None)
    ratio = exposed.size if exposed else plan.transfer_ratio
    return ratio * plan.compute_us / n_calls


def _all_reduce(clock: Clock, job: Job, transfer_us: float) -> Meeting:
    elements = round(_transfer_us(job) * ELEMENTS_PER_US)
    clock.wait_for(COLLECTIVES, COMPUTE)
    yield from clock.collective("allreduce", transfer_us, elements=elements, world=job.plan.n_ranks)


def _update(clock: Clock, job: Job) -> None:
    plan = job.plan
    if plan.clips:
        with clock.range("aten::linalg_vector_norm"):
            clock.launch(NORM, 0.2 * plan.unit_us)
        clock.item()
    with clock.range("Optimizer.step#AdamW.step", "user_annotation"):
        planting.many_small(clock, job, Kind.UNFUSED_TAIL)
        for _ in range(3):
            clock.operator("aten::_fused_adamw_", plan.host_us, (ADAM, 0.5 * plan.unit_us))
    if plan.ends_with_item:
        clock.item()
