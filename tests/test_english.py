"""One thing has one word everywhere: that of the glossary."""

import re
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PLACES = ("reportgen", "templates", "docs", "report_notebook")
_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
_GLOSSARY = _ROOT / "docs" / "glossary.md"
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
