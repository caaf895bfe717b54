"""What SageMaker's OverallSystemUsage writes, and the two tables of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import numpy as np

from reportgen.results import Details, Exhibit, JsonValue
from reportgen.rules.aws.details import mapping_of, numbers_of
from reportgen.rules.kit import MOST_SHOWN, col, derived, low_middle_high, row, table

DECIMALS = 2
"""AWS rounds its statistics to two decimals."""
STATISTICS = {"max": 100.0, "p99": 99.0, "p95": 95.0, "p50": 50.0, "min": 0.0}
"""AWS's statistics of a resource, and which percentiles they are."""


class Quantity(StrEnum):
    """AWS's six resources, in AWS's order and words (docs/rules.md)."""

    NETWORK = "Network"
    GPU = "GPU"
    CPU = "CPU"
    HOST_MEMORY = "CPU memory"
    GPU_MEMORY = "GPU memory"
    IO_WAIT = "I/O"


@row
class UsageRow:
    """Statistics of one resource of one node, as AWS's details have them."""

    node: str = col()
    metric: str = col()
    unit: str = derived(lambda row: "bytes/s" if row.metric == Quantity.NETWORK else "%")
    max: float = col()
    p99: float = col()
    p95: float = col()
    p50: float = col()
    p5: float | None = col()
    min: float = col()


def details_of(nodes: Mapping[str, Mapping[Quantity, Mapping[str, float]]]) -> Details:
    """Return AWS's details of the statistics of each node by resource."""
    return {
        quantity.value: {
            node: {name: _rounded(usages[quantity][name]) for name in STATISTICS}
            for node, usages in nodes.items()
            if quantity in usages
        }
        for quantity in Quantity
    }


def _rounded(value: float) -> JsonValue:
    """Round as AWS does: a value that is not positive is the integer 0."""
    return float(np.round(value, DECIMALS)) if value > 0 else 0


def usage_rows(
    details: Details, lows: Mapping[tuple[str, str], float] | None = None
) -> list[UsageRow]:
    """Return the statistics in AWS's order; incomplete entries are left out.

    ``lows`` holds the 5th percentiles by node and resource, which AWS's details do not have.
    """
    rows = []
    for quantity in Quantity:
        for node, entry in mapping_of(details.get(quantity.value)).items():
            values = {k: value for k, value in numbers_of(entry).items() if k in STATISTICS}
            if len(values) == len(STATISTICS):
                p5 = lows.get((node, quantity)) if lows else None
                rows.append(UsageRow(node=node, metric=quantity.value, p5=p5, **values))
    return rows


def usage_tables(rows: Sequence[UsageRow], *, remark: str = "") -> Iterator[Exhibit]:
    """Yield the statistics by node and by resource; ``remark`` follows the caption."""
    if rows:
        caption = f"Statistics of all samples of the job.{remark}"
        yield table("usage", rows, UsageRow, title="Use of each resource", caption=caption)
        yield _percentiles(rows)


def _percentiles(rows: Sequence[UsageRow]) -> Exhibit:
    """Return the same for the card; of many nodes those with the lowest, middle and highest p50."""
    shown, n_nodes = [], len({item.node for item in rows})
    for quantity in Quantity:
        of_metric = [item for item in rows if item.metric == quantity]
        shown += low_middle_high(of_metric, lambda item: item.p50)
    caption = (
        f"""Of {n_nodes:,} nodes those with the highest, the middle and the lowest median of
        each resource."""
        if n_nodes > MOST_SHOWN
        else ""
    )
    return table("percentiles", shown, UsageRow, title="Percentiles", caption=caption)
