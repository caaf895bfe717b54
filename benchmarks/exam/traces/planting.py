"""How planted faults look that are the same in every family of jobs."""

from __future__ import annotations

from benchmarks.exam.traces.clock import Clock
from benchmarks.exam.traces.faults import Fault, Kind, fault_at, size_at
from benchmarks.exam.traces.plan import Job

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
LOADER_WITHOUT_WORKERS = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_TINY_ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>,"
    " std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)"
)
_TINY_MUL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<c10::BFloat16,"
    " at::native::binary_internal::MulFunctor<float> > >(int)"
)
_TINY_COPY = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda, "
    "c10::BFloat16>(int)"
)
_TINY_MEAN = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, "
    "at::native::MeanOps<c10::BFloat16, float> > >(at::native::ReduceOp<c10::BFloat16>)"
)
TINY = (_TINY_ADD, _TINY_MUL, _TINY_COPY, _TINY_MEAN)
TINY_OPERATORS = ("aten::add", "aten::mul", "aten::copy_", "aten::mean")
TINY_US, FUSED_RATIO = 2.2, 0.6
FUSED = "triton_poi_fused_add_copy_mean_mul_3"


def wait_for_batch(clock: Clock, job: Job, begun_us: float) -> None:
    """Wait for the data loader, as long as it takes."""
    fault = fault_at(job.faults, Kind.LOADER, clock.rank, clock.step)
    some = fault_at(job.faults, Kind.LOADER_SOME_STEPS, clock.rank, clock.step)
    name = LOADER_WITHOUT_WORKERS if fault and fault.variant else LOADER
    with clock.range(name, "user_annotation"):
        clock.spend("", 55.0)
        if fault and not fault.is_mended:
            with clock.planting("loader"):
                if fault.variant:  # it loads in the loop: each step pays for its batch
                    clock.spend("", fault.size)
                else:  # the loader works while the loop does
                    ready_us = begun_us + (clock.step + 1) * fault.size
                    clock.now_us = max(clock.now_us, ready_us)
        if some and not some.is_mended and clock.step % 4 == some.variant % 4:
            with clock.planting("loader"):
                clock.spend("", some.size)


def copy_batch(clock: Clock, job: Job) -> None:
    """Copy the batch to the device."""
    fault = fault_at(job.faults, Kind.PAGEABLE_COPIES, clock.rank, clock.step)
    if fault is None:
        clock.copy(job.plan.batch_bytes, is_pageable=False)
        return
    n_parts = 1 + fault.variant % 3
    with clock.planting("pageable"):
        for _ in range(n_parts):
            clock.copy(fault.size / n_parts, is_pageable=not fault.is_mended)


def many_small(clock: Clock, job: Job, kind: Kind) -> None:
    """Launch many small kernels where one fused kernel would do."""
    fault = fault_at(job.faults, kind, clock.rank, clock.step)
    n_small = job.plan.n_hidden if fault is None else round(fault.size)
    with clock.planting("small"):
        if fault is not None and fault.is_mended:
            clock.operator(
                "CompiledFunction", job.plan.host_us, (FUSED, n_small * TINY_US * FUSED_RATIO)
            )
            return
        for turn in range(n_small):
            at = turn % len(TINY)
            clock.operator(TINY_OPERATORS[at], job.plan.host_us, (TINY[at], TINY_US))


def many_items(clock: Clock, job: Job, n_places: int, place: int) -> None:
    """Synchronize as often as planted, spread over the places of a step."""
    fault = fault_at(job.faults, Kind.SYNCHRONIZATION, clock.rank, clock.step)
    if fault is None or fault.is_mended:
        return
    n_here = int(fault.size * (place + 1) / n_places) - int(fault.size * place / n_places)
    with clock.planting("sync"):
        for _ in range(n_here):
            if fault.variant % 2:
                clock.synchronize("cudaDeviceSynchronize")
                clock.spend("", 20.0)
            else:
                clock.item()
                clock.spend("aten::is_nonzero", 6.0)


def python_overhead(clock: Clock, job: Job) -> None:
    """Let the host be slow between operators."""
    extra_us = size_at(job.faults, Kind.SLOW_HOST, clock.rank, clock.step)
    if extra_us:
        with clock.planting("host"):
            name = "train.py(88): apply_block" if job.plan.has_stack else ""
            clock.spend(name, extra_us, "python_function")


def between_steps(clock: Clock, job: Job) -> None:
    """Let the host work after a step before it goes on."""
    fault = fault_at(job.faults, Kind.HOST_BETWEEN_STEPS, clock.rank, clock.step)
    if fault and not fault.is_mended:
        with clock.planting("between"):
            name = ("", "## update_metrics ##")[fault.variant % 2]
            clock.spend(name, fault.size, "user_annotation")


def long_gap(clock: Clock, job: Job) -> None:
    """Stop once for long."""
    fault = fault_at(job.faults, Kind.LONG_GAP, clock.rank, clock.step)
    if fault and not fault.is_mended:
        with clock.planting("gap"):
            looks = (
                ("## save_checkpoint ##", "user_annotation"),
                ("torch/serialization.py(619): save", "python_function"),
                ("aten::nonzero_static", "cpu_op"),
                ("", ""),
            )
            name, category = looks[fault.variant % len(looks)]
            clock.spend(name, fault.size, category)


def first_use(clock: Clock, job: Job, kernel: str) -> None:
    """Launch kernels for the first time: their code is loaded, or the best one is looked for."""
    fault = fault_at(job.faults, Kind.FIRST_USE, clock.rank, clock.step)
    if fault is None:
        return
    with clock.planting("first"):
        if fault.is_mended:
            clock.launch(f"{kernel}_0", 8.0)
        elif fault.variant % 2:
            _autotune(clock, kernel, fault)
        else:
            n_kernels = 1 + fault.variant % 5
            for number in range(n_kernels):
                with clock.range("aten::_scaled_dot_product_attention"):
                    clock.launch(f"{kernel}_{number}", 8.0, call_us=fault.size / n_kernels)


def _autotune(clock: Clock, kernel: str, fault: Fault) -> None:
    """Try candidates one after the other; each is compiled or loaded before it runs."""
    with clock.range("aten::cudnn_convolution"):
        for number in range(8):
            clock.spend("cudaMalloc", fault.size / 24, "cuda_runtime")
            clock.spend("cuModuleLoadData", fault.size / 12, "cuda_driver")
            clock.launch(f"{kernel}_{number}", 8.0)
            clock.synchronize("cudaEventSynchronize")
