"""Every regular expression of the package and of the page takes time that grows with its text.

Patterns are found in the source, so that a new one is tested without being named here.
"""

from __future__ import annotations

import ast
import importlib
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]  # no public parser of patterns
from re import _parser as parser  # type: ignore[attr-defined]  # no public parser of patterns
from typing import Any

import pytest

import reportgen

PACKAGE = Path(reportgen.__file__).parent
_CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_METHODS = _CALLS - {"compile"}
_OF_FRAMES = {"contains", "extract", "extractall", "count"}
"""Methods of ``Series.str`` whose first argument is a pattern whatever else is given."""

_LEFT_OUT = {
    "rules/settings.py: text": "a pattern of the user's own settings",
    "explore/selection.py: name": "a pattern that the caller passes",
}
"""Patterns by their names, else by what is compiled."""
_OF_PATHS = (
    "formats/sagemaker/job_files.py: _SYSTEM",
    "formats/sagemaker/job_files.py: _EVENTS",
    "formats/sagemaker/job_files.py: _UNFINISHED",
    "formats/tensorflow/__init__.py: _TRACE",
    "formats/tensorflow/__init__.py: _TIMES",
    "formats/tensorflow/__init__.py: _SUMMARY",
    "index/read.py: _RUN_AT_END",
)
"""Patterns that see names of files alone: no system has longer ones than 4,096 bytes."""
_FULLMATCHED = (
    "formats/gpu_csv/__init__.py", "formats/wandb/exports.py", "formats/horovod.py",
    "formats/nsight/detection.py", "formats/kineto/detection.py",
    "formats/tensorboard_events/__init__.py",
    "formats/recorder.py", "formats/sagemaker/job_files.py", "formats/tensorflow/__init__.py",
    "formats/python_profile/names.py", "intake/listing.py", "intake/one_job.py",
)  # fmt: skip
"""Modules whose patterns other modules call, with ``fullmatch``, or which keep them in tables."""
_MOST_S = 2.0
"""A pattern that is quadratic takes a minute for 100,000 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A pattern, its place, the methods that are called on it, and the longest text it is given."""

    place: str
    most_chars: int
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def __str__(self) -> str:
        return f"{self.place} {self.pattern.pattern!r}"


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _module_of(path: Path) -> Any:
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    if "injected" not in names:
        return importlib.import_module(".".join(names))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PACKAGE / "record" / "injected")
        return importlib.import_module(".".join(names[names.index("injected") + 1 :]))


def _is_re(call: ast.Call) -> bool:
    made = call.func
    return (
        isinstance(made, ast.Attribute)
        and made.attr in _CALLS
        and isinstance(made.value, ast.Name)
        and made.value.id == "re"
    )


def _is_of_frame(call: ast.Call) -> bool:
    made = call.func
    is_regex = any(
        word.arg == "regex" and not (isinstance(word.value, ast.Constant) and not word.value.value)
        for word in call.keywords
    )
    return (
        isinstance(made, ast.Attribute)
        and isinstance(made.value, ast.Attribute)
        and made.value.attr == "str"
        and (made.attr in _OF_FRAMES or is_regex)
    )


def _methods_by_name(modules: Iterable[ast.Module]) -> dict[str, set[str]]:
    """Return the methods that are called or passed on, by the name of what has them."""
    used: dict[str, set[str]] = defaultdict(set)
    for tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                held = node.value
                name = getattr(held, "id", getattr(held, "attr", ""))
                used[name].add(node.attr)
    return used


def _named(tree: ast.Module) -> dict[ast.AST, str]:
    """Return the name to which the value that holds a call is assigned."""
    names: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name):
            for inner in ast.walk(node.value):
                names[inner] = target.id if inner is node.value else ""
    return names


def _value(node: ast.expr, module: Any) -> Any:
    """Return what an expression is; a name within an f-string that a function has is ``x``."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(item, module) for item in node.values)
    return eval(ast.unparse(node), {**vars(module)})  # the package's own source


def _piece(item: ast.expr, module: Any) -> str:
    inner = item.value if isinstance(item, ast.FormattedValue) else item
    try:
        return str(_value(inner, module))
    except NameError:
        return "x"


def _flags(call: ast.Call, module: Any) -> int:
    given = [word.value for word in call.keywords if word.arg == "flags"]
    if not given and call.func.attr == "compile" and len(call.args) > 1:  # type: ignore[attr-defined]  # an attribute, as _is_re saw
        given = [call.args[1]]
    return int(_value(given[0], module)) if given else 0


def patterns() -> list[Found]:
    """Return every pattern in the source of the package."""
    everywhere, found = _methods_by_name(tree for _, tree in _modules()), []
    for path, tree in _modules():
        names, here = _named(tree), _methods_by_name([tree])
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not (_is_re(node) or _is_of_frame(node)):
                continue
            place = path.relative_to(PACKAGE).as_posix()
            name = names.get(node, "")
            known_as = f"{place}: {name or ast.unparse(node.args[0])}"
            if known_as in _LEFT_OUT:
                continue
            module = _module_of(path)
            attr = node.func.attr  # type: ignore[attr-defined]  # an attribute, as both saw
            used = here if name.startswith("_") else everywhere
            methods = {attr} if attr in _METHODS else used.get(name, set()) if name else set()
            for text in _texts(node.args[0], module, tree):
                flags = _flags(node, module) if _is_re(node) else 0
                found.append(
                    Found(
                        place=f"{place}:{node.lineno}",
                        most_chars=4_096 if known_as in _OF_PATHS else 100_000,
                        pattern=re.compile(text, flags),
                        methods=frozenset(methods or {_usual(place)}),
                    )
                )
    return found


def _usual(place: str) -> str:
    return "fullmatch" if place.startswith(_FULLMATCHED) else "search"


def _texts(node: ast.expr, module: Any, tree: ast.Module) -> list[Any]:
    """Return the pattern, or all that a name of a loop over a table of patterns may mean."""
    try:
        return [_value(node, module)]
    except NameError:
        name = ast.unparse(node)
    for loop in ast.walk(tree):
        if isinstance(loop, ast.Assign) and ast.unparse(loop.targets[0]) == name:
            return [_value(loop.value, module)]
        if isinstance(loop, ast.comprehension | ast.For) and name in ast.unparse(loop.target):
            target = loop.target
            at = [ast.unparse(item) for item in getattr(target, "elts", [target])].index(name)
            rows = list(_value(loop.iter, module))
            return [row[at] if hasattr(target, "elts") else row for row in rows]
    raise AssertionError(f"{name} in {module.__name__} is no pattern that this test can find")


# Texts that make a pattern work hard.


def attacks(pattern: re.Pattern[Any], size: int) -> Iterator[str]:
    """Yield texts that each repetition accepts, with an end that fails, whole and in blocks."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    seeds = set(_seeds(list(tree), ""))
    seeds |= {("", char) for char in _letters(tree)}
    for before, body in sorted(seeds):
        for bad in ("\0", "a"):
            long = body * (size // len(body) + 1)
            yield before + long[:size] + bad
        block = before + body * 50 + "\0"
        yield block * (size // len(block) + 1)
        both = before + body
        if before:
            yield both * (size // len(both) + 1) + "\0"
            yield before * (size // len(before) + 1) + "\0"


def _seeds(items: Sequence[Any], before: str) -> Iterator[tuple[str, str]]:
    """Yield each repetition of a pattern: what stands before it, and what it repeats."""
    for code, value in items:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, inner = value
            if most > 16:
                for sample in _samples(inner):
                    yield before, sample
            yield from _seeds(list(inner), before)
        for inner in _inside(code, value):
            yield from _seeds(list(inner), before)
        before += _samples([(code, value)])[0]


def _inside(code: Any, value: Any) -> Iterable[Any]:
    if code is codes.SUBPATTERN:
        return [value[-1]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.ATOMIC_GROUP:
        return [value]
    return []


_ALPHABET = "a0_ /.:-A1zZ\t\"\\,;=@[](){}<>%'#*~|bcdefghijklmnopqrstuvwxyzBCDEF \n"


def _samples(items: Any) -> list[str]:
    """Return a few texts that a piece of a pattern accepts."""
    texts = [""]
    for code, value in items:
        texts = [text + one for text in texts for one in _of_one(code, value)][:6]
    return [text for text in texts if text] or [""]


def _of_one(code: Any, value: Any) -> list[str]:
    if code is codes.LITERAL:
        return [chr(value)]
    if code in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        tree = parser.SubPattern(parser.State(), [(code, value)])
        accepts = re._compiler.compile(tree).fullmatch  # type: ignore[attr-defined]  # see above
        return [char for char in _ALPHABET if accepts(char)][:6] or [""]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [sample * max(value[0], 1) for sample in _samples(value[2])]
    if code is codes.BRANCH:
        return [sample for branch in value[1] for sample in _samples(branch)[:2]]
    inside = list(_inside(code, value))
    return _samples(inside[0]) if inside else [""]


def _letters(tree: Any) -> set[str]:
    """Return the characters that a pattern names, and one of each usual kind."""
    found = {"a", "0", "_", " ", "/", ".", "A", '"', "\\"}

    def walk(items: Any) -> None:
        for code, value in items:
            if code is codes.LITERAL:
                found.add(chr(value))
            if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
                walk(value[2])
            for inner in _inside(code, value):
                walk(inner)

    walk(tree)
    return found


def _run(found: Found, method: str, text: str) -> None:
    given: Any = (
        text if isinstance(found.pattern.pattern, str) else text.encode("latin-1", "replace")
    )
    call: Callable[..., Any] = getattr(found.pattern, method)
    if method in {"sub", "subn"}:
        call(given[:0], given)
    elif method == "finditer":
        for _ in call(given):
            pass
    else:
        call(given)


def _in_time(found: Found, method: str, text: str) -> float:
    """Return the seconds of a call, which is interrupted when it takes too long."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_S)
    began = time.process_time()
    try:
        _run(found, method, text)
    except TimeoutError:
        return _MOST_S
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - began


def slow(found: Found) -> str:
    """Return the attack that a pattern answers with more than linear work; empty: none does."""
    for small, large in zip(
        attacks(found.pattern, found.most_chars // 5),
        attacks(found.pattern, found.most_chars),
        strict=True,
    ):
        for method in found.methods:
            first_s = _in_time(found, method, small)
            if first_s < 0.05:  # a quadratic pattern does 200 million steps here
                continue
            if _in_time(found, method, large) > min(10 * first_s, _MOST_S * 0.9):
                return f"{found} {method}: {large[:60]!r}… of {len(large)} characters"
    return ""


def test_every_pattern_of_the_package_is_linear() -> None:
    every = patterns()
    assert len(every) > 150
    assert not [text for found in every if (text := slow(found))]
