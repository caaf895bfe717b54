"""The page of two jobs on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reportgen import store
from reportgen.comparison.waterfall import WORDS
from reportgen.pipeline.compare import CompareOptions, make_comparison
from reportgen.results.packed_columns import unpack
from tests.browser.watching import opened
from tests.builders import Quiet
from tests.comparison.builders import budget_table, report_of, steps_table

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

PARTS = ("compute", "exposed_communication", "cpu_input", "straggler", "network")
BROKEN = """() => [...document.querySelectorAll('#waterfall .rg-bars tbody th')].flatMap(cell => {
    const text = cell.firstChild, range = document.createRange();
    return [...text.data.matchAll(/\\S+/g)].filter(word => {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return range.getClientRects().length > 1;
    }).map(word => word[0]);
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    for name, scale in (("before", 1.0), ("after", 1.1)):
        steps = steps_table(np.full(40, 100.0 * scale))
        starts = unpack(steps)["start_ns"]
        budget = budget_table(steps, dict.fromkeys(PARTS, np.full(40, 20.0 * scale)), starts)
        store.save(report_of(steps, budget), folder / name / "profiler-report")
    options = CompareOptions(
        before=str(folder / "before"), after=str(folder / "after"), output=folder
    )
    return make_comparison(options, Quiet())[0]


def test_no_word_of_the_waterfall_is_broken_on_a_phone(browser: Any, page: Path) -> None:
    with opened(browser, page, viewport={"width": 390, "height": 844}) as watched:
        shown = watched.page.locator("#waterfall .rg-bars tbody th").all_inner_texts()
        assert {WORDS[part] for part in PARTS} <= set(shown)
        assert watched.page.evaluate(BROKEN) == []
