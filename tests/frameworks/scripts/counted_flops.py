"""Print, for random shapes, the operators that a profiler records and what torch counts."""

import json
import random
import sys
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

N_CASES = int(sys.argv[1])
FLASH = torch.ops.aten._scaled_dot_product_flash_attention
DRAWN = random.Random(7)


def size(most: int = 12) -> int:
    """Return a random size."""
    return DRAWN.randint(1, most)


def products():
    """Return a product of matrices, with or without batches and a bias."""
    m, n, k, batches = (size(40) for _ in range(4))
    one, other = torch.randn(batches, m, k), torch.randn(batches, k, n)
    calls = (
        lambda: one[0] @ other[0],
        lambda: torch.addmm(torch.randn(n), one[0], other[0]),
        lambda: torch.bmm(one, other),
        lambda: torch.baddbmm(torch.randn(batches, m, n), one, other),
        lambda: torch.nn.functional.linear(one[0], other[0].T.contiguous(), torch.randn(n)),
    )
    return DRAWN.choice(calls), {}


def convolution():
    """Return a convolution with random options, forward alone or with its gradients."""
    n_dims, groups, is_transposed = size(3), DRAWN.choice((1, 1, 2, 4)), size(3) == 1
    kind = getattr(torch.nn, f"Conv{'Transpose' * is_transposed}{n_dims}d")
    stride = size(2)
    options = {"stride": stride, "padding": size(2) - 1, "dilation": size(2), "groups": groups}
    layer = kind(groups * size(4), groups * size(4), kernel_size=size(3), **options)
    x = torch.randn(size(3), layer.in_channels, *(8 + size() for _ in range(n_dims)))
    has_gradients = size(2) == 1

    def call():
        out = layer(x.requires_grad_(has_gradients))
        if has_gradients:
            out.sum().backward()

    return call, {"groups": groups, "has_gradients": has_gradients}


def attention():
    """Return attention of a GPU: on a device without memory, where no profiler sees its inputs."""
    batch, heads, length, keys, width = size(4), size(4), size(64), size(64), 8 * size(8)
    is_causal = size(2) == 1
    keys = length if is_causal else keys
    shapes = [[batch, heads, tokens, width] for tokens in (length, keys, keys)]
    inputs = [torch.empty(shape, device="meta", dtype=torch.bfloat16) for shape in shapes]
    values = ["", "", "", "0.", str(is_causal)]
    operator = {"name": "aten::_scaled_dot_product_flash_attention", "start": 0, "end": 1}
    operator |= {"dims": [*shapes, [], []], "values": values}
    return lambda: FLASH(*inputs, 0.0, is_causal), {"causal": is_causal, "operators": [operator]}


def recorded(call) -> list[dict]:
    """Return the operators of a call as its trace has them."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return [
        {
            "name": event["name"],
            "start": event["ts"],
            "end": event["ts"] + event["dur"],
            "dims": event["args"]["Input Dims"],
            "values": event["args"].get("Concrete Inputs", []),
        }
        for event in events
        if "Input Dims" in event.get("args", {})
    ]


for at in range(N_CASES):
    run, said = (products, convolution, attention)[at % 3]()
    with FlopCounterMode(display=False) as counter:
        run()
    case = {"flops": counter.get_total_flops(), "operators": said.get("operators") or recorded(run)}
    print(json.dumps({**said, **case}))
