"""Both readers of system metrics must agree on everything: the light one and DuckDB."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture(params=["light", "duckdb"])
def each_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with either reader, however little data it has."""
    if request.param == "duckdb":
        monkeypatch.setattr(importlib.import_module("reportgen.intake.system"), "SMALL_BYTES", 0)
