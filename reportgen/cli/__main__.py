"""``python -m reportgen.cli`` is ``reportgen``."""

from reportgen.cli.family import main

if __name__ == "__main__":
    main()
