"""The incumbents' own virtual environments, made once below ``benchmarks/.venvs/``."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def incumbent_python(name: str) -> Path:
    """Return the Python of an incumbent's environment; install ``incumbents/<name>.txt`` first.

    An environment is made again when the pins changed since.
    """
    pins = HERE / "incumbents" / f"{name}.txt"
    folder = HERE / ".venvs" / name
    stamp = folder / "pins.txt"
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if stamp.is_file() and stamp.read_bytes() == pins.read_bytes():
        return python
    print(f"installing {name} into {folder.relative_to(HERE.parent)}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "-r", str(pins)], check=True)
    stamp.write_bytes(pins.read_bytes())
    return python
