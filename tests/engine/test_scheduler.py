"""What ``--engine`` may say."""

from __future__ import annotations

import pytest

from reportgen.engine import scheduler_of
from reportgen.errors import ConfigError


def test_addresses_are_read() -> None:
    assert scheduler_of("auto") == ""
    assert scheduler_of("dask:tls://a:1") == "tls://a:1"
    assert scheduler_of("dask:s.json") == "s.json"


@pytest.mark.parametrize("text", ["", "dask", "dask:", "auto:4", "Auto"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no engine") as caught:
        scheduler_of(text)
    assert "dask:tcp://HOST:PORT" in caught.value.hint
