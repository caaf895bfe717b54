"""What is wrong with a sentence: the house's way to write counts, numbers and units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reportgen.results import RuleResult

_NAME = r"(?<![\w.,:/-])"
"""A number behind one of these belongs to a name, a version or a time."""
_NO_PLURAL = r"(?:is|was|has|does|this|less|its|as|us|ms|ns|s|GPUs that|takes|lies|stays|goes)"
_THINGS = (
    "annotation|batch|bottleneck|call|core|datapoint|episode|event|file|GPU|judgement|kernel|line|"
    "loader|minute|negotiation|node|operation|pair|process|profile|rank|sample|second|span|step|"
    "stretch|tick|time|wait|worker"
)
FLAWS: Mapping[str, re.Pattern[str]] = {
    "one of a plural": re.compile(
        rf"{_NAME}(?<![Rr]ank )(?<!stream )(?<!than )(?<!of )1 (?!{_NO_PLURAL}\b)[a-z]*[A-Za-z]s\b"
    ),
    "many of a singular": re.compile(
        rf"{_NAME}(?<!rank )(?<!step )(?:0|[2-9]|\d{{2,}}|\d[\d,]+\d) (?:{_THINGS})"
        r"(?=$|[.,;:)]| (?:and|are|had|have|in|is|of|on|that|was|were|with)\b)"
    ),
    "no number": re.compile(r"(?<![\w.])(?:nan|NaN|inf|None(?! of)|null|-0(?:\.0+)?)(?!\w|\.\w)"),
    "scientific notation": re.compile(r"\de[+-]?\d"),
    "an open brace": re.compile(r"[{}]"),
    "a space too many": re.compile(r"  |^ | $| [,.;:](?!\w)|\( | \)"),
    "two full stops": re.compile(r"(?<!\.)\.\.(?!\.)|\.;|,\."),
    "a percentage without its space": re.compile(r"\d%"),
    "too many digits": re.compile(r"\d\.\d{3,}"),
    "thousands not apart": re.compile(r"(?<![\w.,:/#-])(?<!step )\d{5,}(?![\w.-])"),
    "a reason that was not seen": re.compile(
        r"(?<![\d.,])0(?:\.0+)? % of (?:the|its|their) \w+ (?:is|are|was|were) (?:above|below|busy)"
    ),
    "more than all of it": re.compile(
        r"(?<!-)(?:[1-9]\d{3,}|[2-9]\d\d|1[1-9]\d|10[1-9])\.\d % of (?:the|its|all|both)"
    ),
}
ENDS = (".", "…")
_BEGINS = re.compile(r"[A-Z0-9“]")
_WORD = re.compile(r"[a-z]{2,}(?=[ ,])")
"""A title may begin with the name of an operator or a node, but not with a word, such as rank."""


def sentences_of(result: RuleResult) -> Iterator[tuple[str, str]]:
    """Yield where it stands and what it says, for every sentence that a reader may meet."""
    if result.reason is not None:
        yield "reason", result.reason.text
    for finding in result.findings:
        yield f"{finding.id} title", f"{finding.title}."
        yield f"{finding.id} text", finding.text
        yield f"{finding.id} advice", finding.advice
    for item in result.exhibits:
        yield f"{item.id} title", f"{item.title}."
        if item.caption:
            yield f"{item.id} caption", item.caption


def begins_low(place: str, text: str) -> bool:
    """Return whether a text of a finding begins with a word or a name in lower case.

    Names of columns in captions are put between quotation marks by the page.
    """
    is_prose = place.endswith((" text", " advice")) or place == "reason"
    if is_prose:
        return not _BEGINS.match(text)
    return place.endswith(" title") and bool(_WORD.match(text))


def flaws_of(text: str) -> list[str]:
    """Return what is wrong with a sentence; nothing with a good one."""
    found = [
        f"{flaw}: {match[0]!r}" for flaw, rule in FLAWS.items() if (match := rule.search(text))
    ]
    if not text.endswith(ENDS):
        found.append("no full stop")
    return found


def flaws_in(result: RuleResult) -> list[str]:
    """Return every flaw in a result, with its place and its sentence."""
    return [
        f"{result.id}, {place}: {flaw} in {text!r}"
        for place, text in sentences_of(result)
        for flaw in (*flaws_of(text), *["begins in lower case"] * begins_low(place, text))
    ]
