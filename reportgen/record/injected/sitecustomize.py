"""Start the recording inside a program, then run the ``sitecustomize`` that this one hides."""

import os
import sys


def _start() -> None:
    try:
        import reportgen_injected

        reportgen_injected.start()
    except Exception as error:  # the program must start whatever happens here
        sys.stderr.write(f"reportgen record: not started ({type(error).__name__})\n")


def _run_hidden() -> None:
    """Import the next ``sitecustomize`` on the path; its errors are reported by Python as usual."""
    ours = os.path.dirname(os.path.abspath(__file__))
    path, mine = list(sys.path), sys.modules.pop("sitecustomize")
    sys.path[:] = [entry for entry in path if os.path.abspath(entry) != ours]
    try:
        import sitecustomize  # noqa: F401 - the other one
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = mine
    finally:
        sys.path[:0] = [entry for entry in path if os.path.abspath(entry) == ours]


_start()
_run_hidden()
