from __future__ import annotations

import numpy as np

from reportgen.facts.groups import joint_codes, rows_by_code, sums_by_code


def test_sums_are_exact_where_floats_would_round() -> None:
    huge = 2**60
    sums = sums_by_code(np.array([2, 0, 2]), np.array([huge, 5, 1]), 3)

    assert sums.tolist() == [5, 0, huge + 1]


def test_rows_of_a_code_keep_their_order() -> None:
    found = [(code, rows.tolist()) for code, rows in rows_by_code(np.array([7, 3, 7, 3]))]

    assert found == [(3, [1, 3]), (7, [0, 2])]


def test_no_rows_make_no_groups() -> None:
    assert list(rows_by_code(np.empty(0, dtype=np.int64))) == []


def test_joint_codes_are_equal_only_where_all_columns_are() -> None:
    codes = joint_codes(np.array([1, 1, 9, 1]), np.array([-1, 500, -1, -1]))

    assert codes.tolist() == [0, 1, 2, 0]
