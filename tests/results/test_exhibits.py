"""What cannot be told apart, or does not fit together, is no exhibit."""

from __future__ import annotations

import math

import pytest

from reportgen.results import ColumnType, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec, column

TIMES: ColumnSpec = ("time_s", "s", [0.0, 1.0])


@pytest.mark.parametrize("kind", [ExhibitKind.SERIES, ExhibitKind.BAND])
def test_two_lines_of_one_name_are_refused(kind: ExhibitKind) -> None:
    with pytest.raises(ValueError, match="two lines of one name"):
        exhibit("use", kind, title="Use", columns=[TIMES, ("a", "%", [1, 2]), ("a", "%", [3, 4])])


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="different length"):
        exhibit("use", ExhibitKind.TABLE, title="Use", columns=[TIMES, ("a", "", [1])])


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        ([True, None], ColumnType.BOOL, (True, None)),
        ([1, 2], ColumnType.INT, (1, 2)),
        ([1.5, math.nan, math.inf], ColumnType.FLOAT, (1.5, None, None)),
        ([1, "x", None, 0.5], ColumnType.TEXT, ("1", "x", None, "0.5")),
        ([], ColumnType.FLOAT, ()),
    ],
)
def test_a_column_has_the_narrowest_type_and_nothing_but_finite_numbers(values, kind, kept) -> None:
    made = column("a", "", values)
    assert (made.type, made.values) == (kind, kept)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ColumnType.INT, [1, "x"]),
        (ColumnType.INT, [1.5]),
        (ColumnType.INT, [True]),
        (ColumnType.FLOAT, ["x"]),
        (ColumnType.BOOL, [1]),
    ],
)
def test_values_of_another_type_than_the_declared_one_are_refused(kind, values) -> None:
    with pytest.raises(TypeError, match=f"column a: .* where {kind.value} is declared"):
        column("a", "", values, type=kind)
    assert column("a", "", [*values, None], type=ColumnType.TEXT).values[-1] is None
