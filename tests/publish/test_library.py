"""The browser library in a page: what is taken out of it, and when nothing is."""

from __future__ import annotations

import pytest

from reportgen.publish import library
from reportgen.publish.library import DRAWN_KINDS, own_library, whole_library, with_kinds

BARS = 'var b=W((e,t)=>{t.exports={moduleType:"trace",name:"bar"}});'
PIES = 'var p=W((e,t)=>{t.exports={moduleType:"trace",name:"pie"}});'
HANDED = (
    'var B=W((e,t)=>{"use strict";t.exports=b()});var P=W((e,t)=>{"use strict";t.exports=p()});'
)
LONG = "long, " * 200 + r"and it\'s over"
WORKER = f"var w=W((e,t)=>{{\"use strict\";t.exports='{LONG}'}});"
WORKER_OF_MAPS_BYTES = 500_000
LISTED = "R.register([B(),P()]);return R;"


def test_only_the_asked_kinds_are_registered():
    made = with_kinds(BARS + PIES + HANDED + LISTED, ("bar",))
    assert made == BARS + PIES + HANDED + "R.register([B()]);return R;"


def test_the_script_of_the_maps_worker_is_left_out():
    made = with_kinds(BARS + HANDED + WORKER + LISTED, ("bar",))
    assert "var w=W((e,t)=>{\"use strict\";t.exports=''});" in made


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BARS + HANDED, "no list of kinds"),
        (BARS + HANDED + LISTED + LISTED, "two lists"),
        (PIES + HANDED + LISTED, "a kind that is nowhere declared"),
        (BARS + LISTED, "a kind that is not listed"),
    ],
)
def test_a_script_that_looks_otherwise_stays_whole(text, why):
    assert with_kinds(text + WORKER, ("bar",)) == text + WORKER, why


def test_the_installed_library_is_known_and_each_change_is_made():
    whole = library._plotly_text()
    text = library._unwrapped(whole)
    assert text in whole
    assert len(text) < len(whole)
    assert "pie" in DRAWN_KINDS
    made = with_kinds(text, DRAWN_KINDS)
    (registered,) = library._REGISTERED.findall(made)
    assert registered.count("()") == len(DRAWN_KINDS)
    assert len(text) - len(made) > WORKER_OF_MAPS_BYTES
    assert own_library().style_ids
    assert len(own_library().packed) < len(whole_library().packed)
    assert own_library().digest != whole_library().digest
