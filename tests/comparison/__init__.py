"""Tests of reportgen.comparison."""
