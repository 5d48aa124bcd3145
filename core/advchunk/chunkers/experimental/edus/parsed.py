"""Find clauses in dependency parses."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from advchunk.chunkers.experimental.edus.lexicon import COMMAS, SPACED_BREAKS, Lexicon, Token
from advchunk.chunkers.experimental.edus.rules import find_enclosed
from advchunk.errors import require
from advchunk.records import Units
from advchunk.text import tiling
from advchunk.text.sentences import spacy_documents

_SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "expl"})
_VERBS = frozenset({"VERB", "AUX"})


def parsed_edus(text: str, nlp: Any, lexicon: Lexicon) -> Units:
    """Tile a text with elementary discourse units, by the parses of a spaCy pipeline (see `Edus`)."""
    ends = set(tiling.paragraphs(text).edges.tolist())
    for start, doc in spacy_documents(text, nlp):
        parsed = doc.has_annotation("DEP") or len(doc) <= 1
        require(parsed, "the spaCy pipeline must have a parser to find discourse units", nlp.pipe_names)
        ends.add(start)
        for sentence in doc.sents:
            ends.add(start + sentence.start_char)
            ends.update(start + doc[i].idx for i in clause_starts(sentence, lexicon))
    return tiling.from_spans(text, pairwise(sorted({0, *ends})))


def clause_starts(sentence: Any, lexicon: Lexicon) -> set[int]:
    """Return the first tokens (indices in the document) of all units of a parsed sentence except the first."""
    inside = find_enclosed([token.text for token in sentence])
    clauses = [*_clauses(sentence, lexicon), *_phrases(sentence, lexicon)]
    starts = {first for first, _, _ in clauses}
    cuts = set(_after_breaks(sentence))
    for first, last, fronted in clauses:
        after = last + 1
        while after < sentence.end and (sentence.doc[after].is_punct or sentence.doc[after].is_space):
            after += 1
        if fronted:
            cuts.add(after)
        elif after == sentence.end or after in starts or after in cuts:  # otherwise it is in the middle of its host
            cuts.add(first)
    return {i for i in cuts if sentence.start < i < sentence.end and not inside[i - sentence.start]}


def _clauses(sentence: Any, lexicon: Lexicon) -> Iterator[tuple[int, int, bool]]:
    """Yield the first and last token of each clause that may be a unit, and whether it opens its host."""
    for token in sentence:
        host, first, last = token.head, token.left_edge.i, token.right_edge.i
        before = sentence.doc[first - 1].text if first > sentence.start else ""
        if token.dep_ in {"conj", "parataxis"} and host.pos_ in _VERBS:
            if any(child.dep_ in _SUBJECTS for child in token.children):
                cc = [child.i for child in host.children if child.dep_ == "cc" and host.i < child.i < first]
                yield (cc[-1] if cc else first), last, False
        elif token.dep_ == "advcl" or (token.dep_ == "pcomp" and token.pos_ in _VERBS and _subordinates(host, lexicon)):
            first = min(first, host.i) if token.dep_ == "pcomp" else first
            if sentence.doc[first].tag_ != "TO":  # "to catch fish"
                yield first, last, _opens(first, host if token.dep_ == "advcl" else host.head)
        elif token.dep_ == "ccomp" and host.lower_ in lexicon.attribution and _is_finite(token):
            yield first, last, last < host.i
        elif token.dep_ == "relcl" and before in COMMAS:
            yield first, last, False


def _phrases(sentence: Any, lexicon: Lexicon) -> Iterator[tuple[int, int, bool]]:  # units because of their cue
    tokens = [Token(token.lower_, token.idx, token.idx + len(token)) for token in sentence]
    for i, token in enumerate(sentence):
        match = lexicon.at(tokens, i)
        if match and match[0].kind == "preposition":
            last = max(part.right_edge.i for part in sentence[i : match[1]])
            yield token.i, last, _opens(token.i, token.head)


def _after_breaks(sentence: Any) -> Iterator[int]:
    """Yield the tokens after semicolons and colons with a verb on both sides."""
    marks = [token.i for token in sentence if token.text in SPACED_BREAKS]
    for before, mark, after in zip([sentence.start, *marks], marks, [*marks[1:], sentence.end], strict=False):
        sides = (sentence.doc[before:mark], sentence.doc[mark + 1 : after])
        if all(any(token.pos_ in _VERBS for token in side) for side in sides):
            yield mark + 1


def _is_finite(verb: Any) -> bool:  # "expected them to return" is one clause
    return any("Fin" in part.morph.get("VerbForm") for part in (verb, *verb.children) if part.pos_ in _VERBS)


def _subordinates(preposition: Any, lexicon: Lexicon) -> bool:
    connective = lexicon.connectives.get(preposition.lower_)
    return connective is not None and connective.kind == "subordinator"


def _opens(first: int, host: Any) -> bool:
    """Return True if the host begins with token ``first``, apart from a conjunction and punctuation."""
    start = host.left_edge.i
    return first < host.i and all(token.is_punct or token.dep_ == "cc" for token in host.doc[start:first])
