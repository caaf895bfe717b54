"""What a rank's operators did: operations, bytes and time by size; and what is known of its GPUs.

Peaks are of the table, or as the user gave them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reportgen.errors import ConfigError
from reportgen.facts.device_busy import gpu_time_ns, rows_named
from reportgen.facts.host_costs import is_compiled
from reportgen.facts.kernel_names import fused_operators
from reportgen.facts.operator_flops import WorkClass
from reportgen.facts.operator_work import Gpu, OperatorKey, OperatorSums, operator_work
from reportgen.facts.traced_steps import step_rows
from reportgen.gpu_peaks import GpuPeak, peak_of
from reportgen.merging import greatest
from reportgen.profile.trace import RankTrace
from reportgen.rules import kit

_NUMBER = r"\s*(\d+(?:\.\d+)?(?:e\d\d?)?)\s*"
_VALUE = re.compile(rf"\s*(fp16|bf16|tf32|fp32|fp64|fp8|int8|memory)\s*={_NUMBER}")
_MODEL = re.compile(rf"{_NUMBER},{_NUMBER},{_NUMBER}")
_BOTH = "the model's card; docs/efficiency.md, MFU and HFU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """What is known of GPU and model beyond trace and table, and which kernels are communication.

    Raises:
        ConfigError: a text that is no peak or no attention, or half of what the model needs.
    """

    gpu_peak: str | None = kit.given(
        "dense peaks of the GPU: bf16=989,tf32=494 in TFLOP/s, memory=3350 in GB/s",
        source="the maker's datasheet, dense values",
        is_text=True,
    )
    params: float | None = kit.given(
        "parameters of the model that is trained, with tokens_per_step", source=_BOTH, minimum=1
    )
    tokens_per_step: float | None = kit.given(
        "tokens of a step on all GPUs of the job together", source=_BOTH, minimum=1
    )
    attention: str | None = kit.given(
        "attention layers, their width and the length of a sequence: 32,4096,2048",
        source=_BOTH,
        is_text=True,
    )
    communication_names: str | None = kit.communication_names()

    def __post_init__(self) -> None:
        """Refuse texts and halves before anything is read."""
        given_peaks(self.gpu_peak)
        _attention_of(self.attention)
        has_model = None not in (self.params, self.tokens_per_step)
        if not has_model and (self.params, self.tokens_per_step, self.attention) != (None,) * 3:
            raise ConfigError(
                "--params and --tokens-per-step are needed together, with or without --attention.",
                hint="For example --params 7e9 --tokens-per-step 65536 --attention 32,4096,2048.",
            )

    @property
    def flops_per_step(self) -> float | None:
        """Return the operations of a training step on all GPUs; ``None`` without a model.

        Source: PaLM (https://arxiv.org/abs/2204.02311), appendix B: 6·N + 12·L·H·Q·T a token.
        """
        if self.params is None or self.tokens_per_step is None:
            return None
        n_layers, width, length = _attention_of(self.attention)
        return self.tokens_per_step * (6 * self.params + 12 * n_layers * width * length)


def given_peaks(text: str | None) -> dict[str, float]:
    """Return the values of ``bf16=989,memory=3350`` by name, as they are written.

    Raises:
        ConfigError: the text is not of this form.
    """
    found = {}
    for part in text.split(",") if text is not None else ():
        match = _VALUE.fullmatch(part)
        if not match or not float(match[2]):
            raise ConfigError(
                f"{part.strip()!r} in --gpu-peak is no peak.",
                hint="Write FORMAT=TFLOP/s or memory=GB/s: bf16=989,memory=3350.",
            )
        found[match[1]] = float(match[2])
    return found


def _attention_of(text: str | None) -> tuple[float, float, float]:
    if text is None:
        return 0.0, 0.0, 0.0
    match = _MODEL.fullmatch(text)
    if not match or not all(map(float, match.groups())):
        raise ConfigError(
            f"{text!r} in --attention is not LAYERS,WIDTH,LENGTH.",
            hint="For example 32,4096,2048: layers, width of a layer, length of a sequence.",
        )
    return float(match[1]), float(match[2]), float(match[3])


_GRAPH_LAUNCHES = ("cudaGraphLaunch", "hipGraphLaunch")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWork:
    """The work of a rank, or of all.

    Attributes:
        work: sums by operator, sizes, format and GPU.
        n_steps: recorded steps by kind of GPU; of a rank with several, the part that each has of
            its GPUs.
        world_size: ranks of the job, ``None`` where no trace says it.
        step_ns: time of the recorded steps on each kind of GPU, times its number of GPUs.
        window_ns: first to last GPU operation, over all devices.
        fused_ns: time of the kernels that torch.compile made of several operators.
        has_graphs: whether graphs were launched.
        is_compiled: whether code of torch.compile ran.
    """

    work: Mapping[OperatorKey, OperatorSums] = kit.merged(kit.sum_by_key)
    n_steps: Mapping[Gpu, float] = kit.merged(kit.sum_by_key)
    world_size: int | None = kit.merged(greatest)
    step_ns: Mapping[Gpu, int] = kit.merged(kit.sum_by_key)
    window_ns: int = kit.merged(sum)
    fused_ns: int = kit.merged(sum)
    has_graphs: bool = kit.merged(any)
    is_compiled: bool = kit.merged(any)

    @property
    def kernel_ns(self) -> int:
        """Return the time of all kernels but communication."""
        return sum(
            sums.time_ns for key, sums in self.work.items() if key.work_class != WorkClass.COPY
        )


def measure(trace: RankTrace, params: Params) -> RankWork:
    """Measure the work of a rank's kernels."""
    ops, used = trace.gpu_ops, np.unique(trace.gpu_ops.device).tolist()
    steps = step_rows(trace)
    period_ns = int(steps.period_ns.sum()) if steps else 0
    devices = {item.id: (item.name, item.multiprocessors) for item in trace.devices}
    n_steps = steps.period_ns.size if steps else 0
    kinds: list[Gpu] = [devices.get(device, ("", None)) for device in used]
    return RankWork(
        work=operator_work(trace, params.communication_names),
        n_steps={kind: n_steps * kinds.count(kind) / len(kinds) for kind in dict.fromkeys(kinds)},
        world_size=trace.world_size,
        step_ns={kind: period_ns * kinds.count(kind) for kind in dict.fromkeys(kinds)},
        window_ns=gpu_time_ns(trace),
        fused_ns=int(ops.duration_ns[rows_named(trace, ops.name, fused_operators)].sum()),
        has_graphs=any(name.startswith(_GRAPH_LAUNCHES) for name in trace.names),
        is_compiled=is_compiled(trace),
    )


def peaks_of(gpu: Gpu, given: str | None) -> GpuPeak | None:
    """Return the peaks of a GPU; what the user gave wins over the table."""
    name, n_multiprocessors = gpu
    found = peak_of(name, n_multiprocessors=n_multiprocessors)
    if given is None:
        return found
    values = given_peaks(given)
    memory = values.pop("memory", None)
    base = found or GpuPeak(name=name or "GPU")
    return replace(
        base,
        flops_per_s={**base.flops_per_s, **{kind: value * 1e12 for kind, value in values.items()}},
        memory_bytes_per_s=base.memory_bytes_per_s if memory is None else memory * 1e9,
        source="--gpu-peak",
        has_one_source=False,
    )


def peak_flops(peak: GpuPeak | None, precision: str) -> float | None:
    """Return the dense peak of a number format in operations per second."""
    return None if peak is None else peak.flops_per_s.get(precision.lower())


def sources(peaks: Mapping[str, GpuPeak | None]) -> str:
    """Return a sentence on the peaks that shares are given of, and on GPUs that have none."""
    parts = []
    for name, peak in sorted(peaks.items()):
        if peak is None:
            is_part = peak_of(name.partition(" MIG ")[0]) is not None
            why = "has not the multiprocessors of its row" if is_part else "is not"
            parts.append(
                f"{name or 'The GPU'} {why} in the table of peaks, so shares of its peak are not "
                "given; --gpu-peak bf16=989,memory=3350 gives them (dense, TFLOP/s and GB/s)."
            )
            continue
        values = ", ".join(
            f"{kind.upper()} {value / 1e12:,.4g}" for kind, value in peak.flops_per_s.items()
        )
        memory = (
            f", memory {peak.memory_bytes_per_s / 1e9:,.0f} GB/s" if peak.memory_bytes_per_s else ""
        )
        single = " (one source only)" if peak.has_one_source else ""
        parts.append(
            f"Dense peaks of {peak.name}: {values} TFLOP/s{memory}; {peak.source}{single}."
        )
        if peak.remark:
            parts.append(f"{peak.remark[0].upper()}{peak.remark[1:]}.")
    return " ".join(parts)
