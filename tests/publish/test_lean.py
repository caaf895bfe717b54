"""papermill is imported without what it is not used for, and nothing of that stays behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

_HEAVY = ("boto3", "requests", "jsonschema", "fastjsonschema", "nbconvert", "black")


def _said_by(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_papermill_comes_without_its_other_libraries() -> None:
    code = "from reportgen.publish.lean import import_papermill as get; get(); import sys; "
    assert _said_by(f"{code} print([n for n in {_HEAVY} if sys.modules.get(n)])") == "[]"


@pytest.mark.parametrize("name", ["jsonschema", "requests", "fastjsonschema"])
def test_a_library_that_was_left_out_can_be_imported_later(name: str) -> None:
    code = "from reportgen.publish.lean import import_papermill as get; get(); "
    assert _said_by(f"{code} import {name}; print(bool({name}.__file__))") == "True"


def test_a_papermill_that_asks_more_is_imported_whole() -> None:
    code = (
        "from reportgen.publish import lean; lean._StandIn.__getattr__ = None; "
        "print(lean.import_papermill().execute_notebook.__name__)"
    )
    assert _said_by(code) == "execute_notebook"


def test_notebooks_of_others_are_checked_once_the_checkers_are_there() -> None:
    code = (
        "from importlib import import_module; from reportgen.publish import lean; "
        "list(map(import_module, lean.SCHEMA_CHECKERS)); lean.import_papermill(); import nbformat; "
        "print(nbformat.validator.isvalid({'cells': [], 'nbformat': 4, 'nbformat_minor': 5}))"
    )
    assert _said_by(code) == "False"
