"""papermill is imported without what it is not used for, and nothing of that stays behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_papermill_makes_the_text_of_a_notebook_only_where_it_has_a_path(tmp_path: Path) -> None:
    code = (
        "from reportgen.publish import lean; lean.import_papermill(); "
        "papermill, nbformat = lean.import_papermill(), __import__('nbformat'); "
        "write, made = nbformat.writes, []; "
        "nbformat.writes = lambda *args, **more: made.append(1) or write(*args, **more); "
        "new = nbformat.v4.new_notebook; run = lambda path: papermill.execute_notebook("
        "new(), path, prepare_only=True, kernel_name='python3'); "
        f"run(None); print(len(made)); run({str(tmp_path / 'n.ipynb')!r}); print(len(made))"
    )
    to_read_it, and_to_write_it = map(int, _said_by(code).split())
    assert and_to_write_it == 2 * to_read_it + 1


def test_notebooks_of_others_are_checked_once_the_checkers_are_there() -> None:
    code = (
        "from importlib import import_module; from reportgen.publish import lean; "
        "list(map(import_module, lean.SCHEMA_CHECKERS)); lean.import_papermill(); import nbformat; "
        "print(nbformat.validator.isvalid({'cells': [], 'nbformat': 4, 'nbformat_minor': 5}))"
    )
    assert _said_by(code) == "False"
