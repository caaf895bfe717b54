"""Analyses: one file per rule, named as its id in snake_case. Pure; nothing here reads files."""
