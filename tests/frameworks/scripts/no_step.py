"""Imports a framework, loads data in processes, and makes no step: it leaves no file."""

import subprocess
import sys
from multiprocessing import get_context

from tiny import say


def work(x):
    import torch

    return float(torch.ones(2).sum()) + x


if __name__ == "__main__":
    for kind in ("fork", "spawn", "forkserver"):
        with get_context(kind).Pool(2) as pool:
            pool.map(work, range(4))
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    say(TRAIN=0)
