"""Which GPUs of this machine can be sampled."""

from __future__ import annotations

from importlib.util import find_spec

from reportgen.record.gpu_card import GpuSource


def open_gpus() -> tuple[GpuSource | None, list[str]]:
    """Return the source of GPU samples, and what to say when there is none."""
    found, why_not = _open_nvidia()
    if found is None and find_spec("amdsmi") is not None:
        found, why_not = _open_amd()
    return found, [] if found is not None else [f"GPUs ({why_not})"]


def _open_nvidia() -> tuple[GpuSource | None, str]:
    from reportgen.record.nvidia import NvidiaGpus

    try:
        return NvidiaGpus(), ""
    except ImportError:
        return None, "nvidia-ml-py is not installed"
    except RuntimeError as err:
        return None, str(err)


def _open_amd() -> tuple[GpuSource | None, str]:
    from reportgen.record.amd import AmdGpus

    try:
        return AmdGpus(), ""
    except (ImportError, RuntimeError) as err:
        return None, str(err)
