"""A Jupyter kernel that warms up in the background while the data are read.

The kernel is this very interpreter, talks over files in a private folder (no ports), and sees
neither the user's IPython profile nor its history.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from reportgen.errors import OutputError

logger = logging.getLogger(__name__)

_PACKAGE_HOME = str(Path(__file__).resolve().parents[2])
_FIRST_LINE = (
    # The kernel must find this very package, also when it runs from a checkout; importing it
    # here warms the kernel up while the data are being read.
    f"import sys; sys.path.append({_PACKAGE_HOME!r}); import reportgen.store, reportgen.views"
)
_START_TIMEOUT_S = 60


class ReadyKernel:
    """A kernel on its way up; ``manager()`` waits for it, ``close()`` ends it."""

    def __init__(self, starting: Future[Any], preloading: Future[None], private_dir: Path) -> None:
        self._starting = starting
        self._preloading = preloading
        self._private_dir = private_dir

    def manager(self) -> Any:
        """Return the running kernel's manager, once all that was begun in the background is done.

        Call it before anything of Jupyter is imported here: two threads that import packages
        with circular imports can see half of one.

        Raises:
            OutputError: the kernel did not start.
        """
        try:
            self._preloading.result(timeout=_START_TIMEOUT_S)
            return self._starting.result()
        except (OSError, RuntimeError, ImportError, TimeoutError) as err:
            raise OutputError(
                f"The notebook's kernel did not start ({type(err).__name__}: {err}).",
                hint="Check that `python -m ipykernel_launcher --version` works here.",
            ) from err

    def close(self) -> None:
        """End the kernel at once and remove its private folder; safe to call twice."""
        self._preloading.cancel()
        if not self._starting.cancel() and self._starting.exception() is None:
            manager = self._starting.result()
            if manager.has_kernel:
                manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
        shutil.rmtree(self._private_dir, ignore_errors=True)


def start_kernel(cwd: Path) -> ReadyKernel:
    """Begin to start a kernel whose working directory is ``cwd`` and return at once."""
    private_dir = Path(tempfile.mkdtemp(prefix="reportgen-kernel-"))
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kernel")
    starting = pool.submit(_launch, cwd, private_dir)
    preloading = pool.submit(_preload)
    pool.shutdown(wait=False)
    return ReadyKernel(starting, preloading, private_dir)


def _preload() -> None:
    """Import and pack what the page will need while the data are still being read."""
    import_module("nbconvert.exporters.html")
    import_module("papermill")

    from reportgen.publish.page import packed_plotly

    packed_plotly()


def _launch(cwd: Path, private_dir: Path) -> Any:
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    class OwnKernelManager(KernelManager):
        """A manager of exactly this interpreter, whatever kernels are installed."""

        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=[
                    sys.executable,
                    "-m",
                    "ipykernel_launcher",
                    "-f",
                    "{connection_file}",
                    "--HistoryManager.enabled=False",
                    f"--IPKernelApp.exec_lines={_FIRST_LINE}",
                ],
                display_name="Python 3",
                language="python",
            )

    manager = OwnKernelManager(
        kernel_name="python3",
        connection_file=str(private_dir / "kernel.json"),
        transport="tcp" if os.name == "nt" else "ipc",
        client_class="jupyter_client.asynchronous.AsyncKernelClient",
    )
    log_path = private_dir / "stderr.log"
    env = {
        **os.environ,
        "IPYTHONDIR": str(private_dir / "ipython"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    with log_path.open("wb") as log:
        manager.start_kernel(cwd=str(cwd), env=env, stderr=log, stdout=log)
    logger.debug("kernel started, its errors go to %s", log_path)
    return manager
