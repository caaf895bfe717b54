"""``python -m reportgen`` is ``make-profiler-report``."""

from reportgen.cli import main

if __name__ == "__main__":
    main()
