"""WCAG 2.2 AA by axe-core, in both themes and on a phone; what axe cannot see is in other files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.watching import draw, opened, quiet_page, unfold_all

pytestmark = pytest.mark.browser

LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
}
COLOURS = ("color-contrast", "link-in-text-block")
RULES: dict[str, dict[str, Any]] = {
    "light": {"rules": {"target-size": {"enabled": True}}},
    "dark": {"runOnly": {"type": "rule", "values": list(COLOURS)}},
    "phone": {"rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}},
}
"""All rules once; what a theme or a width can change, again: with all folds open on the phone.
Contrast takes axe the longest."""


def _complaints(page: Any, look: str = "light") -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"resultTypes": ["violations"], **RULES[look]}
    found = axe.run(page, options=options).response["violations"]
    return [
        f"{item['id']}: {node['html'][:160]} {node['failureSummary']}"
        for item in found
        for node in item["nodes"][:3]
    ]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["busy_page", "hostile_page"])
def test_axe_finds_no_violation(browser, name, look, request):
    with quiet_page(browser, request.getfixturevalue(name), **LOOKS[look]) as page:
        if look == "phone":
            unfold_all(page)
        elif name == "busy_page":
            draw(page, "LowGPUUtilization--utilization")
        assert _complaints(page, look) == []


def test_every_control_shows_its_focus_and_has_a_name(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        for _ in range(26):
            page.keyboard.press("Tab")
            seen = page.evaluate(
                "() => { const e = document.activeElement;"
                " const name = e.ariaLabel || e.textContent || e.title || e.id;"
                " return [getComputedStyle(e).outlineStyle, name.trim()]; }"
            )
            assert seen[0] != "none", seen
            assert seen[1], seen


def test_nothing_moves_for_readers_who_asked_for_that(browser, busy_page):
    with opened(browser, busy_page, reduced_motion="reduce", at="#job-summary") as watched:
        animation = "getComputedStyle(document.getElementById('job-summary')).animationName"
        assert watched.page.evaluate(animation) == "none"
