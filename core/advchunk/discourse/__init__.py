"""Elementary discourse units: the clauses that a text is argued in, as a tiling that any chunker can reason about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from advchunk import tiling
from advchunk.discourse import lexicon as _lexicon
from advchunk.discourse.lexicon import Connective, Lexicon
from advchunk.discourse.parsed import parsed_edus
from advchunk.discourse.rules import clause_ends
from advchunk.errors import ConfigurationError, require
from advchunk.records import Units

__all__ = ["Connective", "Edus", "Lexicon", "lexicon_of"]


@dataclass(frozen=True)
class Edus:
    """Tile a text with its elementary discourse units: pass one as ``sentence_splitter=`` of any chunker.

    Units are those of the RST Discourse Treebank, but for what is said below: sentences; clauses coordinated with "and", "but",
    a semicolon or a colon that have a subject of their own; adverbial clauses, also with a participle ("without telling
    anyone"); what a verb of saying or thinking reports, and ", he said" after it; relative clauses after a comma; and
    phrases that open with a strong cue ("because of", "according to").

    Departs from it: the units are a tiling, so nothing is a unit that stands in the middle of another; that, and
    restrictive relative clauses and clauses that are a subject, stay in their host, as in Mann and Thompson. Brackets
    and quotations are kept whole. Bare infinitives of purpose, and second predicates of one subject, are no units.

    Of the boundaries within 26 English sentences of ours, marked by hand, connectives and punctuation find .91, and .95 of what
    they find is right; parses of spaCy's small model find .96, all right. Without a parser 1 to 2 million characters take a second,
    and word lists tell verbs in English only: elsewhere two words count for a clause, and commas must do the rest.

    Parameters
    ----------
    language : code of the language whose connectives are read; of those not known, sentences and semicolons are.
    connectives, lexicon : changes to the lexicon of the language, or another one (see `lexicon_of`).
    sentences : what finds sentences, within which units are (see `tiling.as_tiler`).
    nlp : a spaCy ``Language`` with a parser, by whose parses clauses are found instead of by connectives and
        punctuation; it finds the sentences too.

    References
    ----------
    Carlson & Marcu 2001, "Discourse Tagging Reference Manual", ISI-TR-545. Carlson, Marcu & Okurowski 2001, "Building a
    discourse-tagged corpus in the framework of Rhetorical Structure Theory", SIGdial. Mann & Thompson 1988, "Rhetorical
    Structure Theory", Text 8(3). Prasad et al. 2008, "The Penn Discourse TreeBank 2.0", LREC, for connectives.

    >>> Edus()("If it rains, we stay, but she said that it would not.").strings()
    ['If it rains, ', 'we stay, ', 'but she said ', 'that it would not.']
    """

    language: str = "en"
    connectives: Mapping[str, Any] | None = None
    lexicon: Mapping[str, Any] | None = None
    sentences: Any = None
    nlp: Any = None

    def __post_init__(self) -> None:
        right = self.nlp is None or hasattr(self.nlp, "pipe_names")
        require(right, "nlp must be a spaCy Language with a parser, or None", self.nlp)

    def __call__(self, text: str) -> Units:
        """Tile a text."""
        known = lexicon_of(self.language, self.connectives, self.lexicon)
        if self.nlp is not None:
            return parsed_edus(text, self.nlp, known)
        edges = tiling.as_tiler(self.sentences, self.language)(text).edges.tolist()
        ends = list(edges)
        for start, end in pairwise(edges):
            ends += (tiling.past_space(text, start + inner) for inner in clause_ends(text[start:end], known))
        return tiling.from_ends(text, ends)


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
    base = _lexicon.lexicon(language) if said is None else _lexicon.read(said)
    return _lexicon.with_connectives(base, json.loads(connectives))
