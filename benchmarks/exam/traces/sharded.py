"""Compiled training with sharded weights: gathered before each block, gradients scattered after."""

from __future__ import annotations

from benchmarks.exam.traces import planting
from benchmarks.exam.traces.clock import (
    AUTOGRAD,
    COLLECTIVES,
    COMPUTE,
    MAIN,
    SCATTER,
    Clock,
    Meeting,
)
from benchmarks.exam.traces.eager import link_factor, slowness
from benchmarks.exam.traces.faults import Kind, fault_at
from benchmarks.exam.traces.plan import Job

NVJET = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, cutlass::bfloat16_t>>"
FLASH_BACK = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<cutlass::bfloat16_t>"
NORM = "triton_red_fused__to_copy_mean_mul_pow_rsqrt_0"
ACTIVATION = "triton_poi_fused_mul_silu_1"
ADAM = "void multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, c10::BFloat16>"
ELEMENTS_PER_US = 80_000.0


def program(clock: Clock, job: Job) -> Meeting:
    """Train some steps on one rank."""
    plan, begun_us = job.plan, clock.now_us
    for step in range(plan.n_steps):
        clock.step = step
        with clock.range(f"ProfilerStep#{step + 21}", "user_annotation"):
            with clock.range("## load_batch ##", "user_annotation"):
                planting.wait_for_batch(clock, job, begun_us)
                planting.copy_batch(clock, job)
            planting.first_use(clock, job, "triton_tem_fused_first")
            for _ in range(plan.n_micro):
                yield from _forward(clock, job)
                yield from _backward(clock, job)
            _update(clock, job)
            planting.between_steps(clock, job)
        clock.now_us += 15.0
    clock.last_us = max(clock.last_us, clock.now_us - 15.0)


def _forward(clock: Clock, job: Job) -> Meeting:
    plan = job.plan
    if _is_prefetching(clock, job):
        yield from _gather(clock, job)
    for block in range(plan.n_layers):
        yield from _before_block(clock, job, is_last=block == plan.n_layers - 1)
        with clock.range("## Call CompiledFxGraph f4gq ##", "user_annotation"):
            _kernels(clock, job, ((NORM, 0.2), (NVJET, 1.0), (FLASH, 0.8), (ACTIVATION, 0.3)))
        planting.many_small(clock, job, Kind.SMALL_KERNELS)
        planting.many_items(clock, job, plan.n_layers, block)
        if block == plan.n_layers // 3:
            planting.long_gap(clock, job)


def _backward(clock: Clock, job: Job) -> Meeting:
    plan = job.plan
    clock.thread = AUTOGRAD
    if _is_prefetching(clock, job):
        yield from _gather(clock, job)
    for block in range(plan.n_layers):
        with clock.range("autograd::engine::evaluate_function: CompiledFunctionBackward"):
            yield from _before_block(clock, job, is_last=block == plan.n_layers - 1)
            _kernels(
                clock,
                job,
                ((ACTIVATION, 0.4), (NVJET, 1.0), (FLASH_BACK, 1.6), (NVJET, 1.0), (NORM, 0.4)),
            )
        if plan.n_ranks > 1:
            clock.wait_for(SCATTER, COMPUTE)
            yield from _exchange(clock, job, "_reduce_scatter_base", SCATTER)
    if plan.n_ranks > 1:
        clock.wait_for(COMPUTE, SCATTER)
    clock.thread = MAIN


def _before_block(clock: Clock, job: Job, *, is_last: bool) -> Meeting:
    """Make the weights of a block ready, and gather those of the next one meanwhile."""
    if job.plan.n_ranks == 1:
        return
    if not _is_prefetching(clock, job):
        clock.wait_for(COLLECTIVES, COMPUTE)
        yield from _gather(clock, job)
        clock.wait_for(COMPUTE, COLLECTIVES)
        return
    clock.wait_for(COMPUTE, COLLECTIVES)
    if not is_last:
        yield from _gather(clock, job)


def _is_prefetching(clock: Clock, job: Job) -> bool:
    if job.plan.n_ranks == 1:
        return False
    fault = fault_at(job.faults, Kind.EXPOSED_COMMUNICATION, clock.rank, clock.step)
    return fault is None or fault.is_mended


def _gather(clock: Clock, job: Job) -> Meeting:
    yield from _exchange(clock, job, "_allgather_base", COLLECTIVES)


def _exchange(clock: Clock, job: Job, name: str, stream: int) -> Meeting:
    plan = job.plan
    fault = next((item for item in job.faults if item.kind is Kind.EXPOSED_COMMUNICATION), None)
    ratio = fault.size if fault else plan.transfer_ratio
    mean_us = ratio * plan.compute_us / (3 * plan.n_layers * plan.n_micro)
    with clock.range("FSDP::all_gather" if "gather" in name else "FSDP::post_backward"):
        yield from clock.collective(
            name,
            mean_us * link_factor(clock, job),
            elements=round(mean_us * ELEMENTS_PER_US),
            world=plan.n_ranks,
            stream=stream,
        )


def _kernels(clock: Clock, job: Job, kernels: tuple[tuple[str, float], ...]) -> None:
    unit = job.plan.unit_us
    for kernel, ratio in kernels:
        planting.python_overhead(clock, job)
        slow = slowness(clock, job, "gemm" if kernel in (NVJET, FLASH, FLASH_BACK) else "other")
        if kernel.startswith("triton"):
            clock.spend("", job.plan.host_us * 0.4)
            clock.launch(kernel, ratio * unit * slow, call="cuLaunchKernel", call_us=3.0)
        else:
            clock.operator("aten::mm", job.plan.host_us, (kernel, ratio * unit * slow))


def _update(clock: Clock, job: Job) -> None:
    if job.plan.clips:
        clock.launch(NORM, 0.3 * job.plan.unit_us)
        clock.item()
    with clock.range("Optimizer.step#Adam.step", "user_annotation"):
        planting.many_small(clock, job, Kind.UNFUSED_TAIL)
        clock.operator("aten::_fused_adam_", 40.0, (ADAM, 0.9 * job.plan.unit_us))
    if job.plan.ends_with_item:
        clock.item()
