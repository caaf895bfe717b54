"""What ``--engine`` may say."""

from __future__ import annotations

import pytest

from reportgen.engine import Engine, EngineKind, parse_engine
from reportgen.errors import ConfigError


def test_kinds_and_addresses_are_read() -> None:
    assert parse_engine("auto") == Engine()
    assert parse_engine("threads").kind is EngineKind.THREADS
    assert parse_engine("processes").kind is EngineKind.PROCESSES
    assert parse_engine("dask:tls://a:1") == Engine(kind=EngineKind.DASK, address="tls://a:1")
    assert parse_engine("dask:s.json") == Engine(kind=EngineKind.DASK, address="s.json")


@pytest.mark.parametrize("text", ["", "dask", "dask:", "threads:4", "spark:local", "Auto"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no engine") as caught:
        parse_engine(text)
    assert "dask:tcp://HOST:PORT" in caught.value.hint
