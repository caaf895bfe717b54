"""A server of a language model: one pass over the prompt, then one token after the other."""

from __future__ import annotations

from benchmarks.exam.traces import planting
from benchmarks.exam.traces.clock import Clock, Meeting
from benchmarks.exam.traces.faults import Kind, fault_at
from benchmarks.exam.traces.plan import Job

GEMM = "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT"
ATTENTION = "void flashinfer::BatchPrefillWithPagedKVCacheKernel<__nv_bfloat16, __nv_bfloat16>"
NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"
SAMPLE = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float>"
N_TOKENS = 12
"""Tokens for each request; a request takes the place of a step."""


def program(clock: Clock, job: Job) -> Meeting:
    """Serve some requests one after the other; nothing marks them as steps."""
    for request in range(job.plan.n_steps):
        clock.step = request
        planting.copy_batch(clock, job)
        planting.first_use(clock, job, "triton_attn_first_use_kernel")
        _prefill(clock, job)
        for _ in range(N_TOKENS):
            _decode(clock, job)
        planting.between_steps(clock, job)
    clock.synchronize()
    return
    yield 0.0


def _prefill(clock: Clock, job: Job) -> None:
    plan = job.plan
    for layer in range(plan.n_layers):
        for name, kernel, ratio in (
            ("_C::fused_add_rms_norm", NORM, 0.2),
            ("aten::mm", GEMM, 1.0),
            ("vllm::unified_attention", ATTENTION, 0.8),
            ("aten::mm", GEMM, 1.2),
        ):
            planting.python_overhead(clock, job)
            clock.operator(name, plan.host_us, (kernel, ratio * plan.unit_us))
        planting.many_items(clock, job, plan.n_layers, layer)
        if layer == plan.n_layers // 2:
            planting.long_gap(clock, job)


def _decode(clock: Clock, job: Job) -> None:
    plan = job.plan
    small = fault_at(job.faults, Kind.SMALL_KERNELS, clock.rank, clock.step)
    kernels = [(GEMM, 0.3 * plan.unit_us), (ATTENTION, 0.2 * plan.unit_us)] * plan.n_layers
    if small is None:
        clock.launch_graph(kernels)
    else:  # one operator after the other, of which most are tiny; mended they are one graph
        n_tiny = max(round(small.size), 3)
        tiny = [(planting.TINY[turn % 4], planting.TINY_US) for turn in range(n_tiny)]
        with clock.planting("small"):
            if small.is_mended:
                clock.launch_graph([(GEMM, 0.3 * plan.unit_us), *tiny] * plan.n_layers)
            else:
                for _ in range(plan.n_layers):
                    clock.operator("aten::mm", plan.host_us, (GEMM, 0.3 * plan.unit_us))
                    for at, each in enumerate(tiny):
                        clock.operator(planting.TINY_OPERATORS[at % 4], plan.host_us, each)
    clock.operator("aten::softmax", plan.host_us, (SAMPLE, 0.3 * plan.unit_us))
    clock.item()
