"""Start the recording inside a program, then run the ``sitecustomize`` that this one hides."""

import sys


def _start() -> None:
    try:
        import reportgen_injected

        reportgen_injected.start()
    except Exception as error:  # the program must start whatever happens here
        sys.stderr.write(f"reportgen record: not started ({type(error).__name__})\n")


def _run_hidden() -> None:
    """Load the next ``sitecustomize`` on the path; its errors are reported by Python as usual."""
    import os
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    own = os.path.dirname(os.path.abspath(__file__))
    rest = [entry for entry in sys.path if os.path.abspath(entry) != own]
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    hidden = module_from_spec(spec)
    sys.modules["sitecustomize"] = hidden
    spec.loader.exec_module(hidden)


_start()
_run_hidden()
