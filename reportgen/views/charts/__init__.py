"""One file per kind of exhibit: ``draw`` makes plotly's figure."""
