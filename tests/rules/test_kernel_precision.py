"""Number formats of kernels by hand-made numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.profile.trace import Device
from reportgen.rules import kernel_time
from reportgen.rules.kernel_precision import RULE
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run


def test_what_a_name_does_not_say_is_never_the_format_of_its_neighbours() -> None:
    """The operator's input says it, in a part of its own, if elements have the same width."""
    trace = rank_trace(
        gpu=[
            ("void k<c10::BFloat16>()", 0.0, 90.0, {"external_id": 1}),
            ("triton_poi_0", 100.0, 2.0, {"external_id": 1}),
            ("batched_transpose_16x32_half", 103.0, 1.0, {"external_id": 1}),
            ("triton_poi_0", 105.0, 3.0, {"external_id": 2}),
            ("void CatArrayBatchedCopy<OpaqueType<8u>, 3>()", 110.0, 2.0, {"external_id": 1}),
            ("nameless", 113.0, 1.0),
            ("void fill<long>(int)", 120.0, 1.0, {"external_id": 1}),
        ],
        slices=[
            ("op", 0.0, 1.0, {"external_id": 1, "input_type": "c10::BFloat16"}),
            ("op", 2.0, 1.0, {"external_id": 2}),
        ],
    )
    result = run(RULE, trace)

    parts = column(result, "precision_shares", "part")
    assert parts == ["BF16", "Unknown", "BF16 by input", "INT64"]
    assert column(result, "precision_shares", "time_us") == [90.0, 6.0, 3.0, 1.0]
    assert result.metrics["bf16_by_input_ratio"] == 0.03
    kernels = run(kernel_time.RULE, trace)
    names, labels = (column(kernels, "kernels", name) for name in ("name", "precision"))
    assert dict(zip(names, labels, strict=True))["triton_poi_0"] == "Unknown"


def test_communication_has_no_precision() -> None:
    trace = rank_trace(gpu=[("ncclDevKernel_AllReduce_Sum_bf16", 0.0, 9.0), ("sgemm_", 9.0, 1.0)])
    assert column(run(RULE, trace), "precision_shares", "part") == ["FP32"]
    assert column(run(kernel_time.RULE, trace), "kernels", "category") == [
        "communication",
        "compute",
    ]


@pytest.mark.parametrize(
    ("capability", "versions", "severity"),
    [
        ("8.0", {}, "warning"),
        ("7.0", {}, "info"),
        (None, {}, "info"),
        ("9.4", {"hip_runtime": "6"}, "info"),
        ("6.1", {}, None),
    ],
)
def test_fp32_matrix_kernels_are_a_fault_where_one_switch_helps(capability, versions, severity):
    trace = rank_trace(gpu=[("ampere_sgemm_128x64_nn", 0.0, 20.0), ("k<float>", 20.0, 80.0)])
    device = Device(id=0, name="GPU", compute_capability=capability)
    trace = replace(trace, devices=(device,), versions=versions)
    found = [item for item in run(RULE, trace).findings if item.id == "PREC-1"]

    assert [item.severity.value for item in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("versions", "units"), [({"hip_runtime": "6"}, "matrix cores"), ({}, "tensor cores")]
)
def test_units_that_multiply_matrices_have_the_name_that_their_maker_gives_them(versions, units):
    gpu = [("Cijk_Ailk_Bljk_SB_MT64x64x16_SN_K1", 0.0, 20.0), ("k<float>", 20.0, 5.0)]
    result = run(RULE, replace(rank_trace(gpu=gpu), versions=versions))

    said = [*(text for item in result.findings for text in (item.title, item.text, item.advice))]
    said += [text for item in result.exhibits for text in (item.title, item.caption)]
    assert units in " ".join(said)
    other = ({"matrix cores", "tensor cores"} - {units}).pop()
    assert not [text for text in said if other in text]


def test_matrix_kernels_are_told_by_their_own_name() -> None:
    products = [
        "void implicit_convolve_sgemm<float, float, 1024, 5>(int, int, float const*)",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "void cudnn::detail::dgrad_engine<float, 512, 6>(int, float const*)",
        "Cijk_Ailk_Bljk_SB_MT64x64x16_SN_K1",
    ]
    others = [
        "void cudnn::bn_bw_1C11_kernel_new<float, float>(float, cudnnTensorStruct, float const*)",
        "void split_embedding_codegen_forward<float>(fbgemm_gpu::Offsets<float>)",
        "void nchwToNhwcKernel<float, float, (cudnnKernelDataType_t)0>(int, float const*)",
        "void convertTensor_kernel<float, float>(float)",
    ]
    gpu = [(name, 10.0 * at, 10.0) for at, name in enumerate(products + others)]

    assert run(RULE, rank_trace(gpu=gpu)).metrics["fp32_matrix_ratio"] == 0.5


@pytest.mark.parametrize(("fp32_us", "is_told"), [(19.0, False), (20.0, True)])
def test_fp32_matrix_kernels_are_told_from_their_threshold_on(fp32_us, is_told) -> None:
    gpu = [("volta_sgemm_64x64_nt", 0.0, fp32_us), ("k<float>", fp32_us, 100 - fp32_us)]
    ids = {item.id for item in run(RULE, rank_trace(gpu=gpu)).findings}

    assert ("PREC-1" in ids) is is_told
