"""Exhibits to figure dicts and HTML fragments: the only importer of plotly and jinja2."""
