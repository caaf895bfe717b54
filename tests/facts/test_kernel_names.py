"""Names of kernels: which are communication, in which precision they compute, on which units."""

from __future__ import annotations

import csv

import pytest

from reportgen.facts.device_busy import is_communication
from reportgen.facts.kernel_names import COMM, Precision, read_computing, short_names
from tests.shared_data import SHARED_DATA, needs_shared_data

CASES = SHARED_DATA / "kineto" / "kernel-precision-cases.tsv"
LEAST_RIGHT_RATIO = 0.995


@pytest.mark.parametrize(
    ("name", "precision", "tensor_core"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", "Comm", False),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(RankData*)", "Comm", False),
        ("Cijk_Alik_Bljk_BBS_BH_MT64x64x64_MI16x16x1_SN", "BF16", True),
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_MT64x64x64_MI16x16x1_SN", "BF16", True),
        ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN", "FP32", True),
        ("triton_poi_fused_bf16_add_3", "BF16", False),
        ("_fwd_kernel_fp16_causal", "FP16", False),
        ("_ZN5aiter37_fmha_fwd_hd128_bf16_causalE", "BF16", True),
        ("bf16gemm_outbf16_tn_96x64_splitk_clean", "BF16", False),
        ("_w8a8_block_fp8_matmul", "FP8", False),
        ("f4gemm_bf16_per1x32Fp4_tn_96x64", "FP4", False),
        ("triton_tem_fused_fp32_mm_2", "FP32", False),
        ("_per_token_int8_quant", "INT8", False),
        ("xbf16x_kernel", "Unknown", False),
        ("Cijk_Alik_Bljk_HHS_BH_MT64x64x64_SN_K1", "FP16", False),
        ("Cijk_Alik_Bljk_F8BS_BH_MT64x64x64_MI16x16x1_SN", "FP8", True),
        ("Cijk_Ailk_Bljk_DB_MT64x64x16_MI16x16x4x1_SN", "FP64", True),
        ("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", "FP16", True),
        ("nvjet_tss_64x8_64x16_4x1_v_bz_TNT", "BF16", True),
        ("nvjet_sm100_qqtst_128x256_128x6_2x2_2cta_h_bz_TNT", "FP8", True),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_ffma_kernel", "FP32", False),
        ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc", "TF32", True),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64", "BF16", True),
        ("cutlass3x_sm90_tensorop_s64x128x32gemm_e4m3_e4m3_f32_bf16_bf16", "FP8", True),
        ("cutlass3x_sm90_tensorop_s64x128x8gemm_f32_f32_f32_f32_f32_128x128", "TF32", True),
        ("cutlass3x_sm90_simt_s1x1x1gemm_f32_f32_f32_f32_f32_128x128", "FP32", False),
        ("cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1", "TF32", True),
        ("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1", "BF16", True),
        ("turing_s1688cudnn_128x128_ldg8_relu", "FP16", True),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_tn", "FP16", True),
        ("volta_h884gemm_64x128_ldg8_nn", "FP16", True),
        ("volta_int8_i8816cudnn_int8_128x128_ldg16", "INT8", True),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_tn_align1", "FP64", True),
        ("cutlass_tensorop_s1688tf32gemm_128x128_16x4_nn_align4", "TF32", True),
        ("ampere_sgemm_128x128_tn", "FP32", False),
        ("ampere_dgemm_64x64_nn", "FP64", False),
        ("cutlass_80_simt_sgemm_128x64_8x5_nn_align1", "FP32", False),
        ("cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu", "FP32", False),
        ("igemm_wrw_gtcx3_nhwc_fp16_bx0_ex1_bt128x64x32", "FP16", True),
        ("_ZN2ck16kernel_gemm_xdlIDF16_DF16_fDF16_EvT_", "FP16", True),
        ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256", "FP8", True),
        ("fmhaSm100aKernel_QE4m3KvE2m1OBfloat16H64", "FP8", True),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "BF16", True),
        ("void fill<float>(int, Array<char*, 3>)", "FP32", False),
        ("void adam<float>(TensorList<4>, double, double)", "FP32", False),
        ("void pytorch_flash::flash_fwd_kernel<cutlass::bfloat16_t>(Params)", "BF16", True),
        ("void FillFunctor<long>(long*, unsigned int)", "INT64", False),
        ("void CatArrayBatchedCopy<int, unsigned int, 2>(int*, unsigned int)", "INT32", False),
        ("void CatArrayBatchedCopy<OpaqueType<2u>, unsigned int>(long)", "Unknown", False),
        ("void CatArrayBatchedCopy<OpaqueType<8u>, unsigned int>(long)", "Unknown", False),
        ("kernel_batched_gemm_xdlops_mfma_v2", "Unknown", True),
        ("void gemm_MFMA<float>(float*)", "FP32", True),
        ("Cijk_Alik_Bljk_SB_MT64x64x16_MFMA_SN", "FP32", True),
        ("triton_poi_fused_add_3", "Unknown", False),
        ("", "Unknown", False),
        ("void broken<float(((", "FP32", False),
    ],
)
def test_a_name_is_read_as_its_library_writes_it(name, precision, tensor_core) -> None:
    reading = COMM if is_communication(name) else read_computing(name)
    assert (reading.precision, reading.tensor_core) == (Precision(precision), tensor_core)


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
        "rcclGenericKernel",
        "void deep_ep::intranode::dispatch<8>(int4*)",
        "void dpsk::ep::internode::combine<false>(int4*)",
        "void internode_ll::notify(int)",
        "multimem_all_reduce_kernel<float>",
        "void allreduce_fusion_kernel_oneshot_lamport<8>",
        "nvshmemi_transfer",
    ],
)
def test_communication_is_more_than_nccl(name: str) -> None:
    assert is_communication(name)


@pytest.mark.parametrize("name", ["hipMemcpyPeer", "volta_sgemm", "reduce_kernel<float>", ""])
def test_other_kernels_are_no_communication(name: str) -> None:
    assert not is_communication(name)


def test_short_names_are_different() -> None:
    names = ["void a::f<int>(int)", "void a::f<float>(int)", "g"]

    assert short_names(names) == ["f<int>", "f<float>", "g"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            (
                "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
                "flash::Mainloop<2> > > >(flash::FlashAttnFwdSm90<int>::Params)"
            ),
            "FlashAttnFwdSm90",
        ),
        ("void cutlass::device_kernel<my::Thing<int> >(my::Thing<int>::Params)", "Thing"),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_nn>(int)",
            "cutlass_80_tensorop_s1688gemm_128x64_nn",
        ),
        (
            (
                "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                "at::native::func_wrapper_t<float, at::native::sum_functor<float> > > >(int)"
            ),
            "reduce_kernel sum_functor",
        ),
        (
            (
                "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<"
                "at::native::BinaryFunctor<float, at::native::binary_internal::MulFunctor<float> > "
                "> >(int)"
            ),
            "elementwise_kernel MulFunctor",
        ),
        ("void Kernel2(int)", "Kernel2"),
        ("void <unnamed>::softmax_warp_forward<float, (int)7>(float *)", "softmax_warp_forward"),
    ],
)
def test_names_say_what_people_know(name: str, short: str) -> None:
    assert short_names([name, name]) == [short, short]


def test_what_no_word_tells_apart_has_its_full_name() -> None:
    assert short_names(["f<int*>(x)", "f<int>(x)"]) == ["f<int*>(x)", "f<int>(x)"]


@needs_shared_data
def test_real_names_are_labelled_as_experts_did() -> None:
    csv.field_size_limit(1_000_000)
    with CASES.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    right, right_us, every_us = 0, 0.0, 0.0
    for row in rows:
        reading = COMM if is_communication(row["name"]) else read_computing(row["name"])
        expected = (row["precision"], row["tensor_core"] == "yes")
        time_us = float(row["total_us"] or 0)
        is_right = (reading.precision, reading.tensor_core) == expected
        right += is_right
        right_us += time_us * is_right
        every_us += time_us
    assert len(rows) > 500
    assert right / len(rows) >= LEAST_RIGHT_RATIO
    assert right_us / every_us >= LEAST_RIGHT_RATIO
