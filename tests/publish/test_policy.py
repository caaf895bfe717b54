"""The content security policy: nothing but what is listed, whatever the listed texts look like."""

from __future__ import annotations

import base64
import hashlib

import pytest

from reportgen.publish.policy import digest, policy, scripts_of


def directives(text: str) -> dict[str, list[str]]:
    rows = [part.split() for part in text.split("; ")]
    return {name: sources for name, *sources in rows}


def test_scripts_are_allowed_by_their_hash_alone():
    found = directives(policy(["one()", "two()"], more_scripts=["'sha256-x'"]))
    assert found["script-src"] == [digest("one()"), digest("two()"), "'sha256-x'"]
    assert found["default-src"] == ["'none'"]
    assert "connect-src" not in found, "falls back to none"


def test_a_digest_is_the_one_that_browsers_work_out():
    text = "let café = 1;\n"
    hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert digest(text) == f"'sha256-{hashed}'"


@pytest.mark.parametrize(
    ("html", "scripts"),
    [
        ("<p>no script</p>", ()),
        ("<script>a()</script>", ("a()",)),
        ("<SCRIPT type='text/javascript'>a()</SCRIPT >", ("a()",)),
        ("<script>\na()\r\nb()\n</script>", ("\na()\nb()\n",)),
        ("<script>if (1 < 2 && '&amp;') a()</script>", ("if (1 < 2 && '&amp;') a()",)),
        ("<script src='x.js'>a()</script>", ()),
        ("<script type='application/json'>{}</script>", ()),
        ("<script type=module>a()</script><script>b()</script>", ("a()", "b()")),
        ("<!-- <script>a()</script> -->", ()),
        ("<script>never ends", ()),
        ("<script></script>", ("",)),
    ],
)
def test_the_scripts_of_a_readers_cell_are_found_as_a_browser_finds_them(html, scripts):
    assert scripts_of([html]) == list(scripts)
