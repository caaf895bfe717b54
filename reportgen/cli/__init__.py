"""The command line. Nothing heavy is imported before the arguments are known to be right."""

from reportgen.cli.command import command, main

__all__ = ["command", "main"]
