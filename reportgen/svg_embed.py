"""Pictures as images within HTML, and back.

JupyterLab shows the outputs of a notebook it does not trust without style sheets and without svg
elements, whose words it leaves behind as loose text; images it keeps. So our outputs hold a picture
as an image, and the page turns it into an svg element again, which its colours reach.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_SCHEME = "data:image/svg+xml,"
_UNQUOTED = " ,;:=/()"
"""Harmless in a quoted attribute and in a URL of data, and frequent in paths."""
_IMAGE = re.compile(rf'<img class="rg-picture" src="{re.escape(_SCHEME)}([^"]*)"[^>]*>')


def embed(svg: str) -> str:
    """Return the address of an image that is the picture itself; fit for an attribute as it is."""
    return _SCHEME + quote(svg, safe=_UNQUOTED)


def inline(html: str) -> str:
    """Return HTML whose embedded pictures are svg elements again; other images stay.

    Example:
        >>> inline(f'<img class="rg-picture" src="{embed("<svg>a &amp; b</svg>")}" alt="">')
        '<svg>a &amp; b</svg>'
    """
    return _IMAGE.sub(lambda found: unquote(found[1]), html)
