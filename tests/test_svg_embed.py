"""Pictures as images: the same picture when they are turned back."""

from __future__ import annotations

import re

import pytest

from reportgen.svg_embed import embed, inline

PICTURES = [
    '<svg aria-label="100 %"><path d="M1 2h3"/></svg>',
    "<svg><text>&lt;script&gt; &amp; &#34;it's&#34; #1 — 温度 🔥</text></svg>",
    "<svg><text>%22%3E</text></svg>",
]


@pytest.mark.parametrize("svg", PICTURES)
def test_an_image_turned_back_is_the_picture(svg):
    html = f'<p>a</p><img class="rg-picture" src="{embed(svg)}" width="2" alt="x &gt; y"><p>b</p>'
    assert inline(html) == f"<p>a</p>{svg}<p>b</p>"


@pytest.mark.parametrize("svg", PICTURES)
def test_an_address_is_fit_for_an_attribute(svg):
    assert not re.search(r"""["'<>&#\n]""", embed(svg))


def test_images_of_others_stay_as_they_are():
    html = f'<img src="{embed("<svg/>")}"><img class="rg-picture" src="a.png">'
    assert inline(html) == html
