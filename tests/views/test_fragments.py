"""Instants and ids within sentences stay in one line, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from reportgen.views.fragments import unbroken


def test_both_ends_of_a_range_are_marked():
    assert unbroken("busy 2026-07-03 09:30:21.5 – 09:31:00 UTC & idle") == Markup(
        'busy <span class="rg-unbroken">2026-07-03 09:30:21.5</span> – '
        '<span class="rg-unbroken">09:31:00 UTC</span> &amp; idle'
    )


@pytest.mark.parametrize("found", ["GPU-3", "STRAG-1", "IDLE-10"])
def test_an_id_of_a_finding_stays_in_one_line(found):
    assert unbroken(f"Do first what {found} advises: a < b.") == Markup(
        f'Do first what <span class="rg-unbroken">{found}</span> advises: a &lt; b.'
    )


@pytest.mark.parametrize("text", ["", "step 12", "12:00 UTC", "a < b", f"{'A' * 99}-1"])
def test_any_other_text_stays_as_it_is(text):
    assert escape(unbroken(text)) == escape(text)


@given(st.text(alphabet="<&> UTC2026-0731:–.", max_size=60))
def test_marking_never_changes_what_is_read(text):
    html = str(escape(unbroken(text + " 2026-07-03 09:30:21 UTC")))
    assert re.sub("</?span[^>]*>", "", html) == str(escape(text + " 2026-07-03 09:30:21 UTC"))
