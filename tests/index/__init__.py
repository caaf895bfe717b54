"""Tests of reportgen.index."""
