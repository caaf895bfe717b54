"""Expressions of users cost time that grows with the text, and no more."""

from __future__ import annotations

import pytest

from reportgen.profile.patterns import found_in


def test_an_expression_that_explodes_elsewhere_is_answered() -> None:
    assert found_in(["a" * 50_000 + "!", "AAB", ""], "(a+)+b") == (False, True, False)


@pytest.mark.parametrize("pattern", ["(", "(?<=a)b", "(a{1000}){1000}"])
def test_what_the_engine_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        found_in(["a"], pattern)
