"""The names of the package stay what they are, whatever else was imported."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import reportgen


def test_a_training_program_can_record_after_it_imported_the_reader() -> None:
    code = "import reportgen, reportgen.intake\nassert callable(reportgen.recording)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_module_has_the_name_of_a_public_function() -> None:
    assert [name for name in reportgen.__all__ if find_spec(f"reportgen.{name}")] == []
