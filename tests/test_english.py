"""Docstrings, comments, messages, pages and documents avoid a clipped dialect (CONTRIBUTING.md)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PLACES = ("reportgen", "templates", "docs", "report_notebook")
_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
_GLOSSARY = _ROOT / "docs" / "glossary.md"
_HEADINGS = ("What to look at first",)
"""Headings that are questions in form."""

_VERBS = "is|was|are|were|has|had|have|must|may|can|cannot|does|did|do|remains|happens|follows"
_SUBJECTS = "it|they|its|their|no|a|the|one|each|every|else|people|others?|this|that|these|those"
_DIALECT = {
    r"\b(?:told|tells?|telling)\b": "reported, given, shown, distinguished",
    rf"(?<![?\w] )\b[Ww]hat (?:{_VERBS}|{_SUBJECTS}|we|he|our|all|both|only|comes|belongs|\w+ed)\b"
    r"(?![^.;:!]*\?)": "a noun: the recorded data, the cost, the content",
    r"^\W*What\b(?![^.!]*\?)": "a noun as the first word: Content of …, Kinds of …",
    r"\b[Rr]eturns? (?:what|by what|from which|in what)\b": "Return the … of …",
    r"\bfrom which on\b|\b[Ff]rom [\w.%µ` ]{1,30} on\b(?! the\b| a\b)": "at … or more, since",
    r"\bas (?:above|below)\b": "the name of the place",
    r"\b(?:its|their|his|her|our|your) own\b"
    r"(?=$|[.,;:)?!]| (?:and|or|in|of|at|with|for|beside|where|when|that)\b)": "a separate …",
    r"\bso (?:many|much|few)\b(?! that)": "this many, as many",
    r"\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody)\b": "the user, the worker, no rule",
    r"\b(?:stands?|stood) (?:in|at|there|here|beside|on|below|above|behind|before|after|under|"
    r"between|where|side|apart|once|twice|for itself)\b": "is, lies, comes",
    r"\bnone (?:is|are|does|has|do)\b": "no …, without …",
    r"\bSource: (?:ours|measured)\b": "why the value was chosen",
    r"\b(?:thereof|whereby|herewith|wherein)\b": "a plain relative clause",
    r"\bwent by\b|\b(?:stands?|stood) still\b": "was, made no progress, stopped",
    r"\bhardly rests?\b|\bof most time\b|\bread off\b": "is rarely idle, with the most time, from",
}
_PATTERNS = [(re.compile(pattern), hint) for pattern, hint in _DIALECT.items()]

_LITERAL = re.compile(
    r'(f?)[rbu]{0,2}("""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|#([^\n]*(?:\n *#[^\n]*)*)",
    re.DOTALL,
)
_FIELD = re.compile(r"\{[^{}]*\}")
_CODE = re.compile(r"``?[^`]*``?")
_FENCE = re.compile(r"```.*?```", re.DOTALL)
_MARKUP = re.compile(r"\{[{%].*?[%}]\}|<[^>]*>", re.DOTALL)
_JS_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_JS_TAG = re.compile(r"@(?:param|type|returns)[^\n]*")


def _python_texts(source: str) -> Iterator[str]:
    """Yield comments and strings; strings side by side are one."""
    parts, end = list[str](), 0
    for found in _LITERAL.finditer(source):
        if parts and source[end : found.start()].strip(" \\\n"):
            yield "".join(parts)
            parts = []
        comment = found[3]
        if comment is not None:
            yield re.sub(r"\n *#", "\n", comment)
        else:
            text = found[2].strip("\"'")
            parts.append(_FIELD.sub("", text) if found[1] else text)
        end = found.end()
    yield "".join(parts)


def _texts(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".py":
            yield from _python_texts(source)
        case ".md":
            yield _FENCE.sub("", source)
        case ".j2":
            yield _MARKUP.sub(" ", source)
        case ".js":
            for comment in _JS_COMMENT.findall(source):
                yield re.sub(r"\n\s*\* ?", "\n", _JS_TAG.sub("", comment))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) ?)|\s\|\s", text):
        yield " ".join(paragraph.split())


def faults(text: str) -> list[str]:
    """Return the places of the dialect in a text, each with a hint."""
    return [
        f"{found[0]!r} in {paragraph[max(0, found.start() - 40) : found.end() + 40]!r}: {hint}"
        for paragraph in _paragraphs(text)
        if not paragraph.strip("\"'#* ").startswith(_HEADINGS)
        for pattern, hint in _PATTERNS
        for found in pattern.finditer(paragraph)
    ]


def _files() -> Iterator[Path]:
    yield from (_ROOT / name for name in _PAGES)
    for place in _PLACES:
        yield from sorted(
            path
            for path in (_ROOT / place).rglob("*")
            if path.suffix in {".py", ".md", ".j2", ".js"}
        )


def _avoided_words() -> dict[str, re.Pattern[str]]:
    """Return the words that the glossary gives up, by the word that it keeps."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _GLOSSARY.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    return {
        word: re.compile(
            "|".join(rf"\b{re.sub(' ', '[ -]', name)}(?:s|es)?\b" for name in avoided.split(", ")),
            re.IGNORECASE,
        )
        for word, _, avoided in rows[1:]
        if avoided
    }


def test_a_word_of_the_glossary_has_no_synonym() -> None:
    avoided = _avoided_words()
    texts = [
        (path.relative_to(_ROOT), _CODE.sub("", " ".join(text.split())))
        for path in _files()
        if path != _GLOSSARY
        for text in _texts(path)
    ]

    assert len(avoided) > 10
    found = [
        f"{place}: {match[0]!r}: say {word!r}"
        for place, text in texts
        for word, pattern in avoided.items()
        for match in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_plain_english_everywhere() -> None:
    found = [
        f"{path.relative_to(_ROOT)}: {fault}"
        for path in _files()
        for text in _texts(path)
        for fault in faults(text)
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "The rank is told by its name.",
        "It shows steps, what was lost, and GPUs.",
        "What a node did.",
        "Return what is played.",
        "A fault from 5 % on.",
        "Each has its own.",
        "after so many steps",
        "Nobody waits.",
        "It stands in the table.",
        "Source: measured.",
        "9.4 % of it went by before training.",
        "The 10 of most time; 31 rows are in the file.",
    ],
)
def test_dialect_is_found(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is slow?",
        "It shows what was recorded.",
        "What to look at first",
        "Copy from pinned memory, and on a stream.",
        "so much that the cores are busy",
        "its own stream",
    ],
)
def test_plain_text_is_no_fault(text: str) -> None:
    assert not faults(text)
