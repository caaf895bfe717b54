"""Facts about results: how large the tables of a page may be."""

from __future__ import annotations

import pytest

from reportgen.results import RuleId, Status
from reportgen.views.outline import context_of
from reportgen.views.tables import MOST_CELLS, table_of
from tests.views import reports

FILE = "Rule.json"


@pytest.mark.parametrize("n_tables", [1, 8, 40, 200])
def test_the_tables_of_a_page_have_a_bounded_number_of_cells_in_all(n_tables: int) -> None:
    long = [
        reports.table(*((name, "", range(5_000)) for name in "ab"), exhibit_id=f"t{at}")
        for at in range(n_tables)
    ]
    report = reports.report_of((reports.result("Rule", Status.OK, exhibits=tuple(long)),))
    most = context_of(RuleId("Rule"), report).most_cells
    shown = [table_of(item, is_unix=True, file=FILE, most_cells=most) for item in long]
    n_cells = sum(2 * (len(table.rows) + len(table.folded)) for table in shown)
    assert min(n_tables * MOST_CELLS, 10_000) <= n_cells <= 11_000
