"""Whether an exhibit has what its kind is drawn from: its columns, and numbers in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reportgen.results import Column, ColumnType, Exhibit, ExhibitKind

BAND_PARTS = ("_min", "_mean", "_max")
"""Endings of the columns of a curve of a ``band``."""

_SHAPES: Mapping[ExhibitKind, tuple[frozenset[str], int]] = {
    ExhibitKind.SERIES: (frozenset(), 2),
    ExhibitKind.HISTOGRAM: (frozenset({"bin_start", "bin_end"}), 3),
    ExhibitKind.BOXES: (frozenset({"name", "lower", "p25", "p50", "p75", "upper"}), 6),
    ExhibitKind.BARS: (frozenset(), 2),
    ExhibitKind.SHARES: (frozenset({"part", "pct"}), 3),
    ExhibitKind.HEATMAP: (frozenset(), 3),
    ExhibitKind.SPANS: (frozenset({"lane", "name", "start_s", "end_s"}), 4),
    ExhibitKind.ROOFLINE: (
        frozenset(
            {
                "name",
                "group",
                "format",
                "flop_per_byte",
                "tflops_per_s",
                "time_us",
                "peak_tflops_per_s",
                "memory_gb_per_s",
            }
        ),
        8,
    ),
    ExhibitKind.TABLE: (frozenset(), 0),
    ExhibitKind.TIMELINE: (frozenset({"lane", "kind", "node", "events"}), 4),
}
"""Columns that a kind cannot be drawn without, and how many there are at least."""

_NAMING = frozenset({"name", "part", "lane", "group", "format"})
"""Those of them that hold names, not numbers."""


def has_shape(exhibit: Exhibit) -> bool:
    """Return whether an exhibit has the columns of its kind (``results/exhibits.py``).

    Edge cases: a column without any value counts as numbers; one of text or truth values does not.
    """
    return _has_columns(exhibit) and all(_is_number(column) for column in _measured(exhibit))


def _has_columns(exhibit: Exhibit) -> bool:
    if exhibit.kind is ExhibitKind.BAND:
        return bool(bands_of(exhibit))
    named, least = _SHAPES[exhibit.kind]
    return named <= {column.name for column in exhibit.columns} and len(exhibit.columns) >= least


def bands_of(exhibit: Exhibit) -> list[str]:
    """Return the names of a ``band`` exhibit's curves; other columns are left out."""
    columns = {column.name for column in exhibit.columns}
    means = [item.name for item in exhibit.columns if item.name.endswith("_mean")]
    names = [name.removesuffix("_mean") for name in means]
    return [name for name in names if {f"{name}{part}" for part in BAND_PARTS} <= columns]


def _measured(exhibit: Exhibit) -> Sequence[Column]:
    """Return the columns that place something in the picture: text has no place there."""
    columns = exhibit.columns
    match exhibit.kind:
        case ExhibitKind.SERIES | ExhibitKind.BAND | ExhibitKind.HISTOGRAM:
            return columns
        case ExhibitKind.HEATMAP:
            return columns[1:3]
        case ExhibitKind.BARS:
            return [column for column in columns[1:] if _is_number(column)] or columns[1:]
        case _:
            named, _ = _SHAPES[exhibit.kind]
            return [column for column in columns if column.name in named - _NAMING]


def _is_number(column: Column) -> bool:
    return column.type in {ColumnType.INT, ColumnType.FLOAT}
