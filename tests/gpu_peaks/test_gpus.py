"""Peaks of GPUs: exact names, whole and sliced, and rows that are consistent."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from reportgen.gpu_peaks import peak_of
from tests.builders import known

FMA_PER_CLOCK = {
    "V100-SXM2-16GB": 512, "V100-PCIE-16GB": 512, "V100S-PCIE-32GB": 512, "T4": 512, "A10": 512,
    "A10G": 256, "A30": 1024, "A40": 512, "RTX A6000": 512, "A100-SXM4-80GB": 1024, "L4": 512,
    "L40S": 512, "GeForce RTX 3090": 256, "GeForce RTX 4090": 256, "H100 PCIe": 2048,
    "H100 80GB HBM3": 2048, "H200": 2048,
    "GeForce RTX 5090": 256, "MI300X": 1024, "MI325X": 1024, "MI300A": 1024, "MI210": 512,
}  # fmt: skip

TABLE = files("reportgen.gpu_peaks").joinpath("gpus.csv").read_text(encoding="utf-8")
NAMES = [row["name"].partition("|")[0] for row in csv.DictReader(TABLE.splitlines())]


def bf16(name: str, *, n: int | None = None) -> float | None:
    found = peak_of(name, n_multiprocessors=n)
    return None if found is None else found.flops_per_s.get("bf16")


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("NVIDIA H100 80GB HBM3", 989.4),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H100 NVL", 835),
        ("NVIDIA L4", 121),
        ("NVIDIA L40S", 362),
        ("NVIDIA A10", 125),
        ("NVIDIA A10G", 70),
        ("AMD Instinct MI300X", 1307.4),
        ("AMD Instinct MI300X VF", 1307.4),
        ("NVIDIA A100-SXM4-80GB", 312),
    ],
)
def test_names_are_matched_whole(name: str, tflops: float) -> None:
    assert bf16(name) == pytest.approx(tflops * 1e12)


@pytest.mark.parametrize("name", ["", "NVIDIA H1000", "NVIDIA H100", "NVIDIA L", "L40SX", "A100"])
def test_a_name_that_is_not_in_the_table_has_no_peak(name: str) -> None:
    assert peak_of(name) is None


def test_older_gpus_have_no_peak_of_formats_that_they_lack() -> None:
    assert set(known(peak_of("Tesla V100-SXM2-32GB")).flops_per_s) == {"fp16", "fp32"}


def test_peaks_are_said_to_be_those_of_the_gpu_that_was_recorded() -> None:
    """A row may stand for several names; a DGX Station's V100 has a source of its own."""
    assert known(peak_of("Tesla V100-SXM2-32GB")).name == "V100-SXM2-32GB"
    station = known(peak_of("Tesla V100-DGXS-32GB"))
    assert (station.name, station.has_one_source) == ("V100-DGXS-32GB", True)
    assert "DGX Station" in station.source


def test_a_slice_has_its_part_of_the_multiprocessors_and_no_bandwidth() -> None:
    name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    found = known(peak_of(name, n_multiprocessors=14))
    assert found.flops_per_s["bf16"] == pytest.approx(312e12 * 14 / 108)
    assert found.memory_bytes_per_s is None
    assert peak_of(name) is None
    assert peak_of(name, n_multiprocessors=108) is None, "a seventh has not all of them"
    assert bf16("NVIDIA A100-SXM4-40GB MIG 7g.40gb", n=108) == pytest.approx(312e12)


def test_a_gpu_with_fewer_multiprocessors_than_its_row_is_refused() -> None:
    assert bf16("NVIDIA A100-SXM4-40GB", n=108) == pytest.approx(312e12)
    assert bf16("NVIDIA A100-SXM4-40GB", n=56) is None


@pytest.mark.parametrize("name", NAMES)
def test_each_row_is_consistent(name: str) -> None:
    row = known(peak_of(name))
    assert row.source
    assert row.memory_bytes_per_s
    flops = row.flops_per_s
    assert flops["fp16"] >= flops["fp32"]
    if row.name in FMA_PER_CLOCK and row.n_multiprocessors and row.boost_hz:
        computed = row.n_multiprocessors * FMA_PER_CLOCK[row.name] * 2 * row.boost_hz
        assert flops["fp16"] == pytest.approx(computed, rel=0.02)
