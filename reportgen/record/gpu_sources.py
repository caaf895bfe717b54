"""Which GPUs of this machine can be sampled."""

from __future__ import annotations

from reportgen.record.nvidia import NvidiaGpus


def open_gpus() -> tuple[NvidiaGpus | None, list[str]]:
    """Return the source of GPU samples, and what to say when there is none."""
    try:
        gpus = NvidiaGpus()
    except ImportError:
        return None, ["GPUs (nvidia-ml-py is not installed)"]
    except RuntimeError as err:
        return None, [f"GPUs ({err})"]
    return gpus, []
