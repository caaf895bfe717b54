"""A rule is read alone: it imports no other rule, and few files of rules and facts."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from reportgen.rules import registry
from reportgen.rules.registry import BUILTIN_RULES
from tests.test_docs import ROOT

ROOMS = ("reportgen.rules", "reportgen.facts")
RULE_MODULES = {f"reportgen.rules.{name}" for name in registry._GROUPS["BUILTIN_RULES"]}
OF_AWS = "reportgen.rules.aws."
MOST_FILES = 9
"""What a newcomer reads before changing a usual rule: the rule, which may be a folder of two or
three files, the kit, and a few facts. SageMaker's counters stand beside: no judge knows them."""


def test_every_rule_is_registered_under_the_module_of_its_name() -> None:
    for rule in BUILTIN_RULES:
        words = "".join(part.capitalize() for part in _module_of(rule.id).split("_"))
        assert words.lower() == rule.id.lower()


@pytest.mark.parametrize("module", sorted(RULE_MODULES))
def test_a_rule_imports_no_other_rule(module: str) -> None:
    reached = {_rule_of(name) for name in _reached(module)} & RULE_MODULES

    assert reached == {module}


def test_a_usual_rule_is_understood_from_few_files() -> None:
    own = [
        [name for name in _reached(module) if not name.startswith(OF_AWS)]
        for module in RULE_MODULES
    ]
    assert median(map(len, own)) <= MOST_FILES


def _module_of(rule_id: str) -> str:
    (found,) = [
        name.rpartition(".")[2]
        for name in RULE_MODULES
        if name.rpartition(".")[2].replace("_", "") == rule_id.lower()
    ]
    return found


def _rule_of(module: str) -> str:
    return ".".join(module.split(".")[:3])


def _reached(module: str) -> set[str]:
    """Return the modules of rules and facts that a module needs, itself among them."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name))
    return {name for name in found if len(_path(name).read_text("utf-8").splitlines()) > 1}


@cache
def _imports(module: str) -> tuple[str, ...]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(_path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{item.name}" for item in node.names}
            names |= {name if _exists(name) else node.module for name in inside}
        elif isinstance(node, ast.Import):
            names |= {item.name for item in node.names}
    return tuple(sorted(name for name in names if name.startswith(ROOMS) and _exists(name)))


def _exists(module: str) -> bool:
    return _path(module).is_file()


def _path(module: str) -> Path:
    folder = ROOT.joinpath(*module.split("."))
    package = folder / "__init__.py"
    return package if package.is_file() else folder.with_suffix(".py")
