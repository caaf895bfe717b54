"""The parameters of efficiency: peaks, and the model where its operations are not recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reportgen.errors import ConfigError
from reportgen.rules import kit
from reportgen.rules.base import param

_VALUE = re.compile(
    r"\s*(?P<name>fp16|bf16|tf32|fp32|fp64|fp8|int8|memory)\s*=\s*(?P<value>[\d.]+)\s*"
)
_BOTH = "the model's card; docs/efficiency.md, MFU and HFU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """What is known of GPU and model beyond trace and table, and which kernels are communication.

    Raises:
        ConfigError: a text that is no peak or no attention, or half of what the model needs.
    """

    gpu_peak: str | None = param(
        None,
        unit="",
        meaning="dense peaks of the GPU: bf16=989,tf32=494 in TFLOP/s, memory=3350 in GB/s",
        source="the maker's datasheet, dense values",
        is_text=True,
        may_be_none=True,
        is_printed=False,
    )
    params: float | None = param(
        None,
        unit="",
        meaning="parameters of the model that is trained, with tokens_per_step",
        source=_BOTH,
        minimum=1,
        may_be_none=True,
        is_printed=False,
    )
    tokens_per_step: float | None = param(
        None,
        unit="",
        meaning="tokens of a step on all GPUs of the job together",
        source=_BOTH,
        minimum=1,
        may_be_none=True,
        is_printed=False,
    )
    attention: str | None = param(
        None,
        unit="",
        meaning="attention layers, their width and the length of a sequence: 32,4096,2048",
        source=_BOTH,
        is_text=True,
        may_be_none=True,
        is_printed=False,
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
        value = _positive(match["value"]) if match else None
        if not match or not value:
            raise ConfigError(
                f"{part.strip()!r} in --gpu-peak is no peak.",
                hint="Write FORMAT=TFLOP/s or memory=GB/s: bf16=989,memory=3350.",
            )
        found[match["name"]] = value
    return found


def _attention_of(text: str | None) -> tuple[float, float, float]:
    if text is None:
        return 0.0, 0.0, 0.0
    values = [_positive(part) for part in text.split(",")]
    match values:
        case [float(n_layers), float(width), float(length)]:
            return n_layers, width, length
        case _:
            raise ConfigError(
                f"{text!r} in --attention is not LAYERS,WIDTH,LENGTH.",
                hint="For example 32,4096,2048: layers, width of a layer, length of a sequence.",
            )


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None
