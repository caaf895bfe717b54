"""The operators of one profiled step: nested calls on the CPU and what they start on the GPU."""

from __future__ import annotations

from collections.abc import Iterator

OperatorEvent = tuple[int, int, str, str, str]
"""Start µs, end µs, phase, name, args as JSON text."""

# Each call is listed from the outermost to the innermost name.
_FORWARD = (
    (("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution"), 0.27),
    (("aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm"), 0.08),
    (("aten::relu_",), 0.04),
    (("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution"), 0.33),
    (("aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm"), 0.09),
    (("aten::max_pool2d",), 0.05),
    (("aten::linear", "aten::addmm"), 0.07),
    (("aten::cross_entropy_loss", "aten::log_softmax"), 0.02),
)
_BACKWARD = (
    (("AddmmBackward0", "aten::mm"), 0.08),
    (("CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward"), 0.16),
    (("ConvolutionBackward0", "aten::convolution_backward"), 0.67),
    (("aten::add_",), 0.05),
)
_FORWARD_SHARE = 0.36
_LAUNCH_SHARE = 0.35  # of a call's time on the GPU, the CPU is busy starting it


def operator_events(
    *,
    wait_us: int,
    start_us: int,
    compute_us: int,
    step: int,
    device: int | None,
    is_single_process: bool,
) -> Iterator[OperatorEvent]:
    """Yield the operators of a step that computes from ``start_us`` for ``compute_us``.

    Args:
        wait_us: When the batch was asked for; the loader's call is an operator too.
        device: The GPU's number; ``None`` computes on the CPU.
    """
    kind = "_SingleProcessDataLoaderIter" if is_single_process else "_MultiProcessingDataLoaderIter"
    cpu_args = f'{{"tid": 1, "step_num": {step}, "device": "cpu"}}'
    yield (
        wait_us,
        start_us - 60,
        "cpu_functions",
        f"enumerate(DataLoader)#{kind}.__next__",
        cpu_args,
    )
    edge_us = start_us + 200
    for calls, share in ((_FORWARD, _FORWARD_SHARE), (_BACKWARD, 1 - _FORWARD_SHARE)):
        for names, part in calls:
            length_us = round(compute_us * share * part)
            yield from _call(names, edge_us, length_us, step=step, device=device, args=cpu_args)
            edge_us += length_us


def _call(
    names: tuple[str, ...],
    start_us: int,
    length_us: int,
    *,
    step: int,
    device: int | None,
    args: str,
) -> Iterator[OperatorEvent]:
    """Yield one nested call; on the GPU its innermost kernel runs a little later and longer."""
    cpu_us = max(60, length_us if device is None else round(length_us * _LAUNCH_SHARE))
    for depth, name in enumerate(names):
        yield start_us + 4 * depth, start_us + cpu_us - 4 * depth, "cpu_functions", name, args
    if device is None:
        return
    for name in names:
        gpu_args = (
            f'{{"tid": 0, "step_num": {step}, "event_name": "{name}", "device": {device}, '
            f'"start_cpu_thread": 1, "cpu_thread_start_time": {start_us}}}'
        )
        phase = f"gpu_functions-dev:{device}"
        yield start_us + 25, start_us + 25 + length_us, phase, name, gpu_args
