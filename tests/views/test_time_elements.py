"""Instants within sentences become `<time>` elements, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from reportgen.assets import templates_dir
from reportgen.views.time_elements import timed


def test_a_range_has_two_instants():
    assert timed("busy 2026-07-03 09:30:21.5 – 09:31:00 UTC & idle") == Markup(
        'busy <time datetime="2026-07-03T09:30:21.5Z">2026-07-03 09:30:21.5</time> – '
        '<time datetime="2026-07-03T09:31:00Z" data-after>09:31:00 UTC</time> &amp; idle'
    )


def test_the_end_of_a_range_may_be_on_another_day():
    html = timed("2026-07-03 23:00:00 – 2026-07-04 01:00:00 UTC")
    assert re.findall('datetime="([^"]*)"', html) == [
        "2026-07-03T23:00:00Z",
        "2026-07-04T01:00:00Z",
    ]


@pytest.mark.parametrize("found", ["GPU-3", "STRAG-1", "IDLE-10"])
def test_an_id_of_a_finding_stays_in_one_line(found):
    html = timed(f"Do first what {found} advises: a < b.")
    assert html == Markup(f'Do first what <span class="rg-id">{found}</span> advises: a &lt; b.')
    sheet = (templates_dir() / "style" / "components.css").read_text(encoding="utf-8")
    assert re.search(r"\.rg-id \{[^}]*display: inline-block", sheet)


@pytest.mark.parametrize("text", ["", "step 12", "2026-07-03", "12:00 UTC", "a < b"])
def test_a_text_without_an_instant_stays_as_it_is(text):
    assert escape(timed(text)) == escape(text)


@given(st.text(alphabet="<&> UTC2026-0731:–.", max_size=60))
def test_marking_never_changes_what_is_read(text):
    html = str(escape(timed(text + " 2026-07-03 09:30:21 UTC")))
    assert re.sub("</?(time|span)[^>]*>", "", html) == str(
        escape(text + " 2026-07-03 09:30:21 UTC")
    )
