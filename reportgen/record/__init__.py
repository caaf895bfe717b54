"""Record any training job: the recorder's side, and the folder injected into the program."""

OWN_COMMAND = ("-P", "-m", "reportgen.cli")
"""Python's arguments for this program; ``-P``: no module of the user's folder is taken for ours."""
