"""Texts without secrets: the one place that knows what passwords, keys and tokens look like.

Whatever leaves passes here: names as they are read (``formats.diagnostics.printable``), results and
reports as JSON, messages of errors, and every line on a terminal.
"""

from __future__ import annotations

import re

_MARK = "…".encode()
_SECRET = re.compile(
    rb"""(?xi)
    (?P<kept>
        (?:secret|passw(?:or)?d|passphrase|pwd|signature|credentials?|authorization
            |(?<![a-z0-9])sig|token(?!\W{1,8}\d+\b)
            |(?:(?<=api)|(?<=(?:api|ess)[_-])|(?<=access)|(?<=private)|(?<=account)
                |(?<=(?:ate|unt|ret)[_-]))key(?:_?id)?
            |(?<![a-z])key(?=\s*+(?:=|%3d))(?!\W{1,8}\d+\b))
        (\\?["']?)\s*+(?:(?:=|%3d)\s*+\\?["']?|:(?!:)\s*+\2)
        (?:(?:bearer|basic)\s++)?
    )
    (?!(?:null|none|true|false)\b)[^\s,;:&()\[\]{}"'\\<>=][^\s,;&()\[\]{}"'\\<>]*
    | (?P<begin>://)[^\s/@:"'\\]{0,200}:[^\s/@"'\\]{1,2000}(?=@)
    | \bbearer\s++[\w.~+/=-]{12,}
    | (?<![A-Za-z0-9])(?-i:
        hf_[A-Za-z0-9]{16,} | gh[oprsu]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{16,}
        | (?:AKIA|ASIA)[A-Z0-9]{12,} | xox[a-z]-[\w-]{8,} | AIza[\w-]{30,} | sk-[\w-]{20,}
        | (?<![\w-])eyJ[\w-]{4,}+\.[\w-]{4,}+(?:\.[\w-]*+)?
    )
    | -----begin\ [a-z ]{0,30}private\ key-----
        (?:[a-z0-9+/=\s]|\\[nrt])*+(?:-----end[a-z ]{0,40}-----)?
    """
)
_BEGINNINGS = (
    b"secret", b"passw", b"passphrase", b"pwd", b"signature", b"credential", b"authorization",
    b"sig", b"token", b"key", b"://", b"bearer", b"hf_", b"gho_", b"ghp_", b"ghr_", b"ghs_",
    b"ghu_", b"github_pat_", b"glpat-", b"akia", b"asia", b"xox", b"aiza", b"sk-", b"eyj",
    b"-----begin ",
)  # fmt: skip
"""What ``_SECRET`` matches has one of these: to look for them first is a hundred times faster."""
_BEGINNING, _SHORT = re.compile(b"|".join(_BEGINNINGS)), 1_000
"""In a text of fewer bytes all words are looked for at once, in a longer one one by one."""


def without_secrets(text: str) -> str:
    """Return a text with ``…`` in place of passwords, keys, tokens and signatures.

    Example:
        >>> without_secrets("GET https://ada:x@host/a?X-Amz-Signature=0f3b&part=2")
        'GET https://…@host/a?X-Amz-Signature=…&part=2'
    """
    content = text.encode("utf-8", "surrogatepass")
    masked = json_without_secrets(content)
    return text if masked is content else masked.decode("utf-8", "surrogatepass")


def json_without_secrets(content: bytes) -> bytes:
    """Return the bytes of a JSON file without the secrets in its texts; it remains JSON."""
    lowered = content.lower()
    if len(lowered) < _SHORT and not _BEGINNING.search(lowered):
        return content
    places = sorted(at for word in _BEGINNINGS if word in lowered for at in _places(lowered, word))
    pieces, done = [], 0
    for at in places:
        if at >= done and (found := _SECRET.match(content, at)):
            pieces += [content[done:at], found["kept"] or found["begin"] or b"", _MARK]
            done = found.end()
    return b"".join([*pieces, content[done:]]) if pieces else content


def _places(content: bytes, word: bytes) -> list[int]:
    places, at = [], content.find(word)
    while at >= 0:
        places.append(at)
        at = content.find(word, at + 1)
    return places
