"""Elementary discourse units: the clauses that a text is argued in, as a tiling that any chunker can reason about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from advchunk.errors import ConfigurationError
from advchunk.text.edus import lexicon as _lexicon
from advchunk.text.edus.lexicon import Connective, Lexicon

__all__ = ["Connective", "Lexicon", "lexicon_of"]


def lexicon_of(
    language: str = "en", connectives: Mapping[str, Any] | None = None, own: Mapping[str, Any] | None = None
) -> Lexicon:
    """Return the lexicon of a language, with changes.

    Parameters
    ----------
    connectives : by words, "strong", "weak", "none" to take one out, or a mapping of fields of `Connective`.
    own : a whole lexicon instead of the language's, in the shape of the package's files: fields of `Lexicon`.

    >>> lexicon_of("en", {"by the by": "strong"}).opening("By the by, he came.").strength
    'strong'
    """
    if connectives is None and own is None:
        return _lexicon.lexicon(language)
    try:
        return _built(language, json.dumps(connectives or {}), json.dumps(own))
    except TypeError as error:
        msg = f"connectives and lexicon must be JSON-able: {error}"
        raise ConfigurationError(msg) from None


@lru_cache(maxsize=64)  # for it takes longer than most documents
def _built(language: str, connectives: str, own: str) -> Lexicon:
    said = json.loads(own)
    base = _lexicon.lexicon(language) if said is None else _lexicon.read_lexicon(said)
    return _lexicon.with_connectives(base, json.loads(connectives))
