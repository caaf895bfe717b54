"""Efficiency by hand-made numbers: an H100, whose dense peaks are 989.4 (BF16) and 494.7 (TF32)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.errors import ConfigError
from reportgen.profile.trace import Device, RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.results import RuleResult, Status
from reportgen.rules.efficiency import RULE
from reportgen.rules.settings import resolve_params
from reportgen.views.sections.dashboard import headline
from tests.builders import known
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run

H100 = Device(id=0, name="NVIDIA H100 80GB HBM3", multiprocessors=132)
DIMS = "[8192,8192],[8192,8192]"
FLOPS = 2 * 8192**3
AT_PEAK_US = FLOPS / 989.4e12 * 1e6
BF16, FLOAT = "c10::BFloat16", "float"


def product(
    *,
    lasts_us: float,
    kernel: str = "sm90_xmma_gemm_bf16bf16",
    device: Device = H100,
    more: Mapping[str, Any] | None = None,
    steps: tuple[tuple[int, float, float], ...] = (),
) -> RankTrace:
    """Return a trace of one matrix product whose kernel lasts so long."""
    inputs = {"input_dims": DIMS, "input_type": BF16, **(more or {})}
    trace = rank_trace(
        slices=[("aten::linear", 0.0, 20.0), ("aten::mm", 1.0, 10.0, inputs)],
        calls=[("cudaLaunchKernel", 2.0, 5.0, {"correlation": 1})],
        gpu=[(kernel, 10.0, lasts_us, {"correlation": 1})],
        steps=steps,
    )
    return replace(trace, devices=(device,))


def calls(*each: tuple[str, str, str, float], steps=(), values: str = "") -> RankTrace:
    """Return operators one after another: name, sizes of BF16 inputs, kernel, time in us."""
    inputs = {"input_type": BF16, "input_values": values}
    at_us = np.cumsum([100.0, *(lasts_us for *_, lasts_us in each)])
    trace = rank_trace(
        slices=[
            (name, 20.0 * at, 10.0, {**inputs, "input_dims": dims} if dims else {})
            for at, (name, dims, *_) in enumerate(each)
        ],
        calls=[
            ("cudaLaunchKernel", 20.0 * at + 2, 5.0, {"correlation": at}) for at in range(len(each))
        ],
        gpu=[
            (kernel, at_us[at], lasts_us, {"correlation": at})
            for at, (*_, kernel, lasts_us) in enumerate(each)
        ],
        steps=steps,
    )
    return replace(trace, devices=(H100,))


def test_a_product_has_flops_share_and_bound_once_though_two_operators_call_it() -> None:
    result = run(RULE, product(lasts_us=2 * AT_PEAK_US))

    assert column(result, "operators", "operator") == ["aten::mm"]
    assert column(result, "operators", "gflop_per_call") == [FLOPS / 1e9]
    assert column(result, "operators", "tflops_per_s") == [pytest.approx(494.7, rel=1e-4)]
    assert column(result, "operators", "pct_of_peak") == [pytest.approx(50.0, rel=1e-4)]
    assert column(result, "operators", "bound_us") == [pytest.approx(AT_PEAK_US, rel=1e-4)]
    assert column(result, "roofline", "flop_per_byte") == [pytest.approx(8192 / 3, rel=1e-6)]
    assert column(result, "roofline", "peak_tflops_per_s") == [pytest.approx(989.4)]
    assert column(result, "roofline", "memory_gb_per_s") == [pytest.approx(3350)]
    assert result.status is Status.OK


@pytest.mark.parametrize(("share_pct", "n_findings"), [(41.0, 0), (39.0, 1)])
def test_far_from_the_peak_is_below_two_fifths(share_pct: float, n_findings: int) -> None:
    result = run(RULE, product(lasts_us=AT_PEAK_US * 100 / share_pct))

    assert [item.id for item in result.findings] == ["EFF-1"] * n_findings
    for finding in result.findings:
        assert finding.measured == pytest.approx(share_pct, rel=1e-3)
        assert known(finding.estimate).share_ratio == pytest.approx(1 - share_pct / 70, abs=0.01)


@pytest.mark.parametrize(
    ("kernel", "share_pct"),
    [
        ("ampere_sgemm_128x64_nn", 100 * 494.7 / 67),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn", 100.0),
        ("some_gemm", None),
    ],
)
def test_the_kernel_says_whether_float_is_tf32(kernel: str, share_pct: float | None) -> None:
    lasts_us = FLOPS / 494.7e12 * 1e6
    result = run(RULE, product(lasts_us=lasts_us, kernel=kernel, more={"input_type": FLOAT}))

    expected = None if share_pct is None or share_pct > 105 else pytest.approx(share_pct, rel=1e-3)
    assert column(result, "operators", "pct_of_peak") == [expected]


def test_what_is_faster_than_the_peak_is_unknown_and_told() -> None:
    result = run(RULE, product(lasts_us=AT_PEAK_US / 1.06, steps=((0, 0.0, AT_PEAK_US / 2),)))

    assert column(result, "operators", "gflop_per_call") == [None]
    assert result.metrics["mfu_ratio"] is None
    assert result.metrics["flops_known_ratio"] == 0
    assert column(result, "operators", "reason") == ["faster than the peak"]
    assert "1 operator of these is faster" in caption(result, "operators")
    assert run(RULE, product(lasts_us=AT_PEAK_US / 1.04)).metrics["flops"] == FLOPS


def caption(result: RuleResult, exhibit_id: str) -> str:
    return next(item.caption for item in result.exhibits if item.id == exhibit_id)


@pytest.mark.parametrize("more", [{"input_dims": "[8,4],[5,8]"}, {"input_dims": "[8192,81"}])
def test_odd_inputs_give_no_number(more: Mapping[str, str]) -> None:
    result = run(RULE, product(lasts_us=10.0, more=more))

    assert result.status is Status.SKIPPED
    assert "No sizes of inputs" in known(result.reason).text


def test_a_gpu_without_a_row_has_times_and_no_shares_until_its_peak_is_given() -> None:
    trace = product(lasts_us=2 * AT_PEAK_US, device=replace(H100, name="NVIDIA X1000"))

    result = run(RULE, trace)

    assert column(result, "operators", "tflops_per_s") == [pytest.approx(494.7, rel=1e-4)]
    assert column(result, "operators", "pct_of_peak") == [None]
    assert "X1000 is not in the table" in caption(result, "classes")
    assert "--gpu-peak bf16=989" in caption(result, "classes")
    part = run(RULE, product(lasts_us=2 * AT_PEAK_US, device=replace(H100, multiprocessors=60)))
    assert "has not the multiprocessors of its row in the table" in caption(part, "classes")
    given = run(RULE, trace, params=RULE.params(gpu_peak="bf16=494.7, memory=3350"))
    assert column(given, "operators", "pct_of_peak") == [pytest.approx(100.0, rel=1e-4)]


@pytest.mark.parametrize("text", ["bf16", "bf16=0", "x=3", "bf16=1.2.3", ""])
def test_a_peak_that_is_no_peak_is_refused_before_anything_is_read(text: str) -> None:
    with pytest.raises(ConfigError, match="--gpu-peak"):
        resolve_params((RULE,), {"Efficiency.gpu_peak": text})


@pytest.mark.parametrize(
    "given",
    [
        {"params": "7e9"},
        {"tokens_per_step": "65536"},
        {"attention": "32,4096,2048"},
        {"params": "7e9", "tokens_per_step": "65536", "attention": "32,4096"},
        {"params": "7e9", "tokens_per_step": "65536", "attention": "32,x,2048"},
    ],
)
def test_half_a_model_is_refused(given: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"--tokens-per-step|--attention"):
        resolve_params((RULE,), {f"Efficiency.{name}": text for name, text in given.items()})


@pytest.mark.parametrize(("world_size", "part"), [(None, 1.0), (4, 0.25)])
@pytest.mark.parametrize(
    ("attention", "flops_per_token"),
    [(None, 6 * 7e6), ("32,4096,2048", 6 * 7e6 + 12 * 32 * 4096 * 2048)],
)
def test_without_sizes_parameters_and_tokens_give_mfu(world_size, part, attention, flops_per_token):
    lasts_us = 1000.0
    trace = product(lasts_us=9.0, more={"input_dims": ""}, steps=((0, 0.0, lasts_us),))
    params = RULE.params(params=7e6, tokens_per_step=65536, attention=attention)

    result = run(RULE, replace(trace, world_size=world_size), params=params)

    at_peak_us = flops_per_token * 65536 * part / 989.4e12 * 1e6
    assert result.metrics["mfu_ratio"] == pytest.approx(at_peak_us / lasts_us, rel=1e-6)
    assert column(result, "utilization", "hfu_pct") == [None]


def test_without_steps_the_model_says_nothing() -> None:
    trace = product(lasts_us=9.0, more={"input_dims": ""})

    result = run(RULE, trace, params=RULE.params(params=7e6, tokens_per_step=65536))

    assert result.status is Status.SKIPPED
    assert "No steps are recorded" in known(result.reason).text


def test_two_kinds_of_gpu_are_kept_apart() -> None:
    other = replace(H100, name="NVIDIA A100-SXM4-80GB", multiprocessors=108)
    traces = product(lasts_us=2 * AT_PEAK_US), product(lasts_us=4 * AT_PEAK_US, device=other)

    result = run(RULE, *traces)

    assert sorted(column(result, "operators", "format")) == [
        "BF16 on NVIDIA A100-SXM4-80GB",
        "BF16 on NVIDIA H100 80GB HBM3",
    ]


def test_mfu_is_the_time_at_the_peak_as_a_share_of_the_steps() -> None:
    trace = product(lasts_us=AT_PEAK_US * 2, steps=((0, 0.0, AT_PEAK_US * 4),))

    result = run(RULE, trace)

    assert column(result, "utilization", "mfu_pct") == [pytest.approx(25.0, rel=1e-3)]
    assert "100.0 % matrix products at 50.0 % of the peak" in caption(result, "peak_bands")
    assert "25.0 % of their time (MFU)" in caption(result, "peak_bands")
    assert result.metrics["mfu_ratio"] == pytest.approx(0.25, rel=1e-3)
    slower = replace(product(lasts_us=AT_PEAK_US * 2, steps=((0, 0.0, AT_PEAK_US * 12),)), rank=1)
    assert run(RULE, trace, slower).metrics["mfu_ratio"] == pytest.approx(2 / 16, rel=1e-3)


@pytest.mark.parametrize(
    ("around", "mfu_pct"),
    [
        ("CheckpointFunctionBackward", 0.0),
        ("autograd::engine::evaluate_function: MmBackward0", 0.0),
        ("forward", 25.0),
    ],
)
def test_what_a_checkpoint_computes_again_counts_for_hfu_alone(around: str, mfu_pct) -> None:
    inputs = {"input_dims": DIMS, "input_type": BF16}
    trace = rank_trace(
        slices=[(around, 0.5, 15.0), ("aten::linear", 1.0, 12.0), ("aten::mm", 2.0, 10.0, inputs)],
        calls=[("cudaLaunchKernel", 3.0, 5.0, {"correlation": 1})],
        gpu=[("sm90_xmma_gemm_bf16bf16", 10.0, AT_PEAK_US * 2, {"correlation": 1})],
        steps=[(0, 0.0, AT_PEAK_US * 4)],
    )

    result = run(RULE, replace(trace, devices=(H100,)))

    assert result.metrics["flops"] == FLOPS
    assert column(result, "utilization", "mfu_pct") == [pytest.approx(mfu_pct, rel=1e-3)]
    assert column(result, "utilization", "hfu_pct") == [pytest.approx(25.0, rel=1e-3)]


@pytest.mark.parametrize("others", [[], ["Torch-Compiled Region: 0/0"]])
def test_torch_compile_is_advised_to_no_compiled_model(others: list[str]) -> None:
    n, lasts_us = 1 << 26, 4 * AT_PEAK_US
    trace = calls(
        ("aten::add", f"[{n}],[{n}]", "vectorized_elementwise_kernel", lasts_us),
        ("aten::mm", DIMS, "gemm", lasts_us),
        *((name, "", "small", 1.0) for name in others),
    )

    advice = [item.advice for item in run(RULE, trace).findings]
    assert len(advice) == 2
    assert ["torch.compile" in text for text in advice] == [not others] * 2


def test_element_work_is_bound_by_its_bytes() -> None:
    n = 1 << 26
    lasts_us = 3 * n * 2 / 3350e9 * 1e6 * 2

    result = run(
        RULE,
        calls(
            ("aten::add", f"[{n}],[{n}]", "vectorized_elementwise_kernel", lasts_us),
            ("aten::mm", DIMS, "gemm", 10.0),
        ),
    )

    assert column(result, "operators", "pct_of_bandwidth")[0] == pytest.approx(50.0, rel=1e-3)
    assert [item.id for item in result.findings] == ["EFF-2"]
    assert "at 50.0 % of the memory's bandwidth" in result.findings[0].text


@pytest.mark.parametrize("unknown_us", [3 * AT_PEAK_US, 5 * AT_PEAK_US])
def test_copies_are_no_kernel_time_and_a_bar_of_mostly_unknown_is_not_drawn(unknown_us) -> None:
    copy = ("Memcpy DtoD (Device -> Device)", 5.0, 4.0, {"correlation": 1, "kind": GpuKind.MEMCPY})
    known = product(lasts_us=AT_PEAK_US)
    trace = rank_trace(
        slices=[("aten::mm", 1.0, 10.0, {"input_dims": DIMS, "input_type": BF16})],
        calls=[("cudaLaunchKernel", 2.0, 5.0, {"correlation": 1})],
        gpu=[
            copy,
            ("sm90_xmma_gemm_bf16bf16", 10.0, AT_PEAK_US, {"correlation": 1}),
            ("nameless", 10.0 + AT_PEAK_US, unknown_us),
        ],
    )
    result = run(RULE, replace(trace, devices=known.devices))

    known_pct = 100 * AT_PEAK_US / (AT_PEAK_US + unknown_us)
    assert result.metrics["flops_known_ratio"] == pytest.approx(known_pct / 100, rel=1e-3)
    names = column(result, "classes", "class")
    classes = dict(zip(names, column(result, "classes", "pct_of_time"), strict=True))
    assert classes["copies"] is None
    assert classes["matrix products"] == pytest.approx(known_pct, rel=1e-3)
    bands = [item for item in result.exhibits if item.id == "peak_bands"]
    assert len(bands) == (known_pct > 20)
    for item in bands:
        assert headline(item).endswith(f"{known_pct:.1f} % at 80 to 100 % of the peak")
    assert "matrix products at 100.0 % of the peak" in caption(
        result, "peak_bands" if bands else "classes"
    )


@pytest.mark.parametrize(("times", "status"), [(3, Status.OK), (5, Status.SKIPPED)])
def test_a_trace_whose_convolutions_have_no_options_is_not_judged(times: int, status) -> None:
    trace = calls(
        ("aten::mm", DIMS, "gemm_bf16", AT_PEAK_US),
        ("aten::convolution", DIMS, "conv", times * AT_PEAK_US),
    )
    result = run(RULE, trace)

    assert result.status is status
    if result.reason:
        assert "known for 16.7 %" in result.reason.text
    assert column(result, "operators", "operator") == ["aten::convolution", "aten::mm"]


def test_a_share_of_a_class_says_how_much_of_its_time_it_is_of() -> None:
    lasts_us = 2 * AT_PEAK_US
    result = run(
        RULE,
        calls(("aten::mm", DIMS, "gemm_bf16", lasts_us), ("aten::mm", "", "gemm_bf16", lasts_us)),
    )

    said = "100.0 % matrix products at 50.0 % of the peak (known for 50.0 % of it)."
    assert said in caption(result, "peak_bands")


CAUSAL = '["", "", "", "", "", "512", "512", "0.", "True"]'


@pytest.mark.parametrize(
    ("operator", "dims", "advice"),
    [
        (
            "aten::mm",
            "[512,512],[512,512]",
            "Raise the batch, and join products that share an input.",
        ),
        ("aten::_flash_attention_forward", ",".join(["[4,512,16,64]"] * 3), "Raise the batch."),
    ],
)
def test_products_alone_are_advised_to_be_joined(operator, dims, advice) -> None:
    result = run(RULE, calls((operator, dims, "some_kernel", 90.0), values=CAUSAL))

    assert [(item.id, item.advice) for item in result.findings] == [("EFF-1", advice)]
    assert " and others" not in result.findings[0].title


def test_attention_that_is_only_bounded_is_no_known_work() -> None:
    lasts_us, packed = 2 * AT_PEAK_US, ",".join(["[4096,16,64]"] * 3)
    trace = calls(
        ("aten::mm", DIMS, "sm90_xmma_gemm_bf16bf16", lasts_us),
        ("aten::_flash_attention_forward", packed, "flash_fwd_kernel", lasts_us),
        steps=[(0, 0.0, AT_PEAK_US * 8)],
        values=CAUSAL,
    )

    result = run(RULE, trace)

    assert result.metrics["flops_known_ratio"] == pytest.approx(0.5, abs=0.01)
    assert result.metrics["mfu_ratio"] is None


@pytest.mark.parametrize(
    ("n_columns", "kernel", "reason"),
    [
        (2432, "gemm_bf16_tilesize128x128x64", "tiles fill the GPU to 50.4 % (wave quantization)"),
        (2304, "gemm_bf16_tilesize128x128x64", ""),
        (2432, "gemm_bf16_tilesize128x128x64_splitK", ""),
        (2432, "gemm_bf16", ""),
    ],
)
def test_a_last_round_that_is_hardly_full_is_a_reason(n_columns, kernel: str, reason: str) -> None:
    """896 x 2,432 are 133 tiles of 128 x 128 for 132 multiprocessors: two rounds."""
    more = {"input_dims": f"[896,8192],[8192,{n_columns}]"}

    result = run(RULE, product(lasts_us=900.0, kernel=kernel, more=more))

    assert column(result, "operators", "reason") == [reason]


@pytest.mark.parametrize(("keys", "ids"), [(512, ["EFF-3"]), (256, [])])
def test_attention_that_writes_its_scores_is_told_with_its_operators(keys: int, ids) -> None:
    """Of another length of keys the softmax is none of attention."""
    result = run(
        RULE,
        calls(
            ("aten::bmm", f"[64,512,64],[64,64,{keys}]", "gemm", 1000.0),
            ("aten::div", "[4,16,512,512],[]", "elementwise_kernel", 300.0),
            ("aten::_softmax", "[4,16,512,512],[],[]", "softmax_kernel", 500.0),
            ("aten::bmm", f"[64,512,{keys}],[64,{keys},64]", "gemm", 1000.0),
        ),
    )

    found = [item for item in result.findings if item.id == "EFF-3"]
    assert [item.id for item in found] == ids
    for finding in found:
        assert finding.measured == pytest.approx(100.0)
        assert known(finding.estimate).share_ratio == pytest.approx(800 / 2800, rel=1e-3)
        assert "aten::bmm, aten::_softmax and aten::bmm" in finding.text
        assert "its scores, [4,16,512,512]," in finding.text
