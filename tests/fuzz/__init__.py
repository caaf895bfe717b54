"""Mutated input of every format: no traceback, no hang, no wrong number without a note."""
