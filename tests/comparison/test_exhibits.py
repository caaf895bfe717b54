"""The tables of a comparison as a reader meets them: units, signs and sentences."""

from __future__ import annotations

import re

import numpy as np

from reportgen.comparison import Comparison, compare, exhibits
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import exhibit_block
from tests.comparison.builders import report_of, steps_table
from tests.rules.wording import begins_low, flaws_of

METRICS = {"busy_ratio": 0.5664, "loop_s": 1.0658, "read_bytes": 1_401_455.3}


def slower() -> Comparison:
    """Return a comparison of a job with one that is a tenth slower."""
    times_ms = 100 * np.random.default_rng(1).lognormal(0, 0.02, 400)
    more = {name: 2 * value for name, value in METRICS.items()}
    return compare(
        report_of(steps_table(times_ms), metrics=METRICS),
        report_of(steps_table(1.1 * times_ms), metrics=more),
    )


def test_numbers_of_many_kinds_keep_their_digits_and_units() -> None:
    (numbers,) = exhibits.metrics(slower())
    html = exhibit_block(numbers, ChartContext(rule_id="metrics", is_unix=False)).html
    for text in ("0.5664", "+0.5664", "1.07 s", "+1.07 s", "1.4 MB"):
        assert f">{text}<" in html


def test_every_sentence_of_a_comparison_is_well_written() -> None:
    comparison = slower()
    said = [comparison.headline, *re.split(r"(?<=[.]) (?=[A-Z“])", comparison.lead)]
    for make in exhibits.SECTIONS.values():
        for item in make(comparison):
            said += [f"{item.title}.", item.caption]
    said = list(filter(None, said))
    assert [flaw for text in said for flaw in flaws_of(text)] == []
    assert [text for text in said if begins_low(" text", text)] == []
