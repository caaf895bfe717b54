"""How long each step of a run took, in the log, and its name for whoever watches."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reportgen.pipeline.options import Watcher

logger = logging.getLogger(__name__)


class Step:
    """The remark of a step when it is done."""

    text = ""


@contextmanager
def timed(watcher: Watcher, name: str) -> Iterator[Step]:
    """Announce a step, and log its text and seconds when it succeeded."""
    watcher.step(name)
    step = Step()
    began = time.perf_counter()
    yield step
    logger.info("%s in %.2f s", step.text, time.perf_counter() - began)
