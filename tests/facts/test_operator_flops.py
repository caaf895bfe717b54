"""Operations of operators: published rows, red inputs, and PyTorch's options."""

from __future__ import annotations

import ast
import csv
from collections.abc import Sequence

import pytest

from reportgen.facts.operator_flops import Inputs, OperatorWork, work_of
from tests.builders import known
from tests.shared_data import SHARED_DATA

FLOPS = SHARED_DATA / "flops"
COMPUTED = {"mi300-resnet_act_checkpoint_recompute": "[False, True, False]"}


def rows() -> list[tuple[str, dict[str, str]]]:
    return [
        (path.parent.name, row)
        for path in sorted(FLOPS.rglob("*.csv"))
        for row in csv.DictReader(path.open(encoding="utf-8"))
    ]


def inputs_of(row: dict[str, str]) -> Inputs:
    return Inputs(
        dims=tuple(ast.literal_eval(row["Input Dims_first"])),
        values=tuple(ast.literal_eval(row["Concrete Inputs_first"])),
    )


@pytest.mark.skipif(not FLOPS.is_dir(), reason="the published tables are not here")
def test_all_published_rows_are_equal_but_for_the_bias_and_a_gradient_that_is_not_computed():
    for folder, row in rows():
        work = work_of(row["name"], inputs_of(row))
        assert work is not None, row
        expected = round(float(row["GFLOPS_first"]) * 1e9)
        if row["name"] == "aten::addmm":
            expected -= work.product[0] * work.product[1]
        if COMPUTED.get(folder, "nothing") in row["Concrete Inputs_first"]:
            expected //= 2
        assert work.flops == expected, row


CONV = [[2, 8, 16, 16], [4, 8, 3, 3], [], [], [], [], [], [], []]
OPTIONS = ("", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
HEADS = [[2, 4, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8], [], []]


@pytest.mark.parametrize(
    ("name", "dims", "values"),
    [
        ("aten::mm", [[4, 8]], ()),
        ("aten::mm", [[4, 8], [9, 16]], ()),
        ("aten::mm", [[4, 8], [8, 16, 1]], ()),
        ("aten::mm", [[4, -8], [-8, 16]], ()),
        ("aten::mm", [[4, True], [1, 16]], ()),
        ("aten::mm", [], ()),
        ("aten::relu", [[4, 8]], ()),
        ("aten::bmm", [[3, 4, 8], [2, 8, 16]], ()),
        ("aten::convolution", CONV, ()),
        ("aten::convolution", CONV, (*OPTIONS[:3], "[0, 1]", *OPTIONS[4:])),
        ("aten::convolution", CONV, (*OPTIONS[:8], "2")),
        ("aten::convolution", [[8, 16, 16], *CONV[1:]], OPTIONS),
        ("aten::_scaled_dot_product_flash_attention", HEADS, ("", "", "", "0.", "")),
        ("aten::_scaled_dot_product_flash_attention", HEADS[:2], ("", "", "", "0.", "True")),
    ],
)
def test_inputs_that_are_missing_or_do_not_fit_give_nothing(name, dims, values) -> None:
    assert work_of(name, Inputs(dims=tuple(dims), values=values)) is None


def work(name: str, dims: Sequence[object], *values: str) -> OperatorWork:
    return known(work_of(name, Inputs(dims=tuple(dims), values=values)))


def test_products_count_each_row_of_each_group_once() -> None:
    assert work("aten::_grouped_mm", [[6, 4], [3, 4, 5], [3]]).flops == 2 * 6 * 4 * 5
    assert work("aten::_grouped_mm", [[6, 4], [4, 5], [3]]).flops == 2 * 6 * 4 * 5
    assert work("aten::baddbmm", [[3, 2, 5], [3, 2, 4], [3, 4, 5]]).flops == 2 * 3 * 2 * 4 * 5
    assert work("aiter::gemm_a16w16", [[6, 4], [5, 4]]).flops == 2 * 6 * 4 * 5


def test_convolutions_with_groups_dilation_and_transposition() -> None:
    grouped = work("aten::convolution", [[1, 8, 10, 10], [8, 1, 3, 3], []], *OPTIONS[:8], "8")
    assert grouped.flops == 2 * 8 * 10 * 10 * 9
    wide = (*OPTIONS[:3], "[2, 2]", "[2]", "[2, 2]", *OPTIONS[6:])
    assert work("aten::convolution", CONV, *wide).flops == 2 * 2 * 4 * 8 * 8 * 8 * 9
    turned = (*OPTIONS[:6], "True", *OPTIONS[7:])
    dims: list[object] = [[2, 4, 16, 16], [4, 8, 3, 3], []]
    assert work("aten::convolution", dims, *turned).flops == 2 * 2 * 4 * 16 * 16 * 8 * 9


def test_libraries_have_their_options_in_another_order() -> None:
    options = ("[1, 1]", "[2, 2]", "[1, 1]", "1", "False")
    dims: list[object] = [[2, 8, 16, 16], [4, 8, 3, 3]]
    expected = 2 * 2 * 4 * 8 * 8 * 8 * 9
    assert work("aten::cudnn_convolution", dims, "", "", *options).flops == expected
    assert work("aten::miopen_convolution", [*dims, [4]], "", "", "", *options).flops == expected


def test_gradients_that_are_not_computed_are_not_counted() -> None:
    dims: list[object] = [[2, 4, 16, 16], [2, 8, 16, 16], [4, 8, 3, 3]]
    rest = ("", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
    one = 2 * 2 * 4 * 16 * 16 * 8 * 9
    for mask, n in (
        ("[True, True, False]", 2),
        ("[False, True, True]", 1),
        ("[False, False, True]", 0),
    ):
        assert work("aten::convolution_backward", dims, *rest, mask).flops == n * one


def test_causal_attention_is_half_only_of_a_square() -> None:
    values = ("", "", "", "0.", "True")
    name = "aten::_scaled_dot_product_flash_attention"
    square = work(name, HEADS, *values)
    assert (square.flops, square.is_at_most) == (2 * 2 * 4 * 10 * 10 * 16 // 2, False)
    longer = [HEADS[0], [2, 4, 20, 8], [2, 4, 20, 8]]
    tall = work(name, longer, *values)
    assert (tall.flops, tall.is_at_most) == (2 * 2 * 4 * 10 * 20 * 16, True)


def test_the_gradient_of_attention_is_five_products() -> None:
    dims = [HEADS[0], *HEADS[:3]]
    values = [""] * 11 + ["False"]
    found = work("aten::_scaled_dot_product_flash_attention_backward", dims, *values)
    assert found.flops == 5 * 2 * 2 * 4 * 10 * 10 * 8


def test_grouped_queries_have_the_heads_of_the_query() -> None:
    dims: list[object] = [[2, 32, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8]]
    values = ("", "", "", "0.", "False")
    found = work("aten::_scaled_dot_product_flash_attention", dims, *values)
    assert found.flops == 2 * 2 * 32 * 10 * 10 * 16


def test_packed_sequences_are_bounded_by_the_longest() -> None:
    values = ["", "", "", "", "", "12", "16", "0.", "True"]
    dims: list[object] = [[40, 4, 8], [40, 4, 8], [40, 4, 8]]
    found = work("aten::_flash_attention_forward", dims, *values)
    assert (found.flops, found.is_at_most) == (2 * 40 * 4 * 16 * 16, True)
