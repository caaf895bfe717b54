"""The rows of a heat map of many rows: as recorded, or the largest first; several maps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.results import Choice, Exhibit, ExhibitKind, Place, Status, exhibit
from tests.browser.watching import draw, opened, unfold_all, wait_until
from tests.views import pages, reports

pytestmark = pytest.mark.browser

N_ROWS = 60


def ranks(name: str) -> Exhibit:
    """A heat map in which each rank waits longer than the one before, but the first waits most."""
    values = [float(row or N_ROWS) for row in range(N_ROWS) for _ in "ab"]
    names = [f"rank {row}" for row in range(N_ROWS) for _ in "ab"]
    times = [reports.times(2)[at] for _ in range(N_ROWS) for at in range(2)]
    made = exhibit(
        name,
        ExhibitKind.HEATMAP,
        title=name,
        columns=[("row", "", names), ("time_s", "s", times), (f"{name}_us", "us", values)],
    )
    return replace(made, place=Place(choice=Choice(group="g", question="Which", label=name)))


def test_a_reader_chooses_a_heat_map_and_the_order_of_its_rows(browser, tmp_path):
    result = reports.result("Any", Status.OK, exhibits=(ranks("steps"), ranks("waits")))
    path = pages.write_page(tmp_path, reports.report_of((result,)))
    with opened(browser, path) as watched:
        page = watched.page
        unfold_all(page)
        page.get_by_text("waits", exact=True).first.click()
        figure = "#Any--waits"
        draw(page, figure[1:])
        drawn = f"document.querySelector('{figure} .rg-plot').data[0].y"
        assert page.evaluate(f"{drawn}.length") == N_ROWS
        assert page.evaluate(f"{drawn}.slice(0, 2)") == ["rank 0", "rank 1"]
        page.locator(f"{figure} .rg-order input").check()
        wait_until(page, f"{drawn}[1] === 'rank {N_ROWS - 1}'")
        assert page.evaluate(f"{drawn}.at(-1)") == "rank 1"
        assert watched.complaints == []
