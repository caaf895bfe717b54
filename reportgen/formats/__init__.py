"""Bytes to rows: one file per on-disk format."""
