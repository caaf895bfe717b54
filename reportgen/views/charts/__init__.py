"""One file per kind of exhibit: ``info`` says what is shown, ``draw`` makes plotly's figure."""
