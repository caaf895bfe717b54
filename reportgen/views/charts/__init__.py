"""One file per kind of exhibit."""
