"""A graph of the entities that a corpus mentions, with the places of every entity and relation."""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from typing import Literal, NamedTuple, TypeAlias

from advchunk.errors import require
from advchunk.records import Span
from advchunk.text.terms import make_stemmer, searchable_words

Weighting: TypeAlias = Literal["association", "sum"]
_SEPARATOR = "; "  # of distinct descriptions


class Mention(NamedTuple):
    """An entity in a text."""

    name: str
    start: int  # offset in the text
    end: int
    kind: str = ""  # type of the entity, such as "person"; empty if unknown
    description: str = ""  # a statement about it; empty if there is none


class Relation(NamedTuple):
    """A relation between two entities of a text, without direction."""

    source: str
    target: str
    start: int  # of the passage that states it
    end: int
    weight: float = 1.0  # strength, finite and > 0
    description: str = ""


class Extraction(NamedTuple):
    """The entities and relations of a text; ``status`` says why a model's could not be used, if so."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    status: str = ""


class Provenance(NamedTuple):
    """A span of a document, and the id of the leaf that contains it."""

    leaf: str
    span: Span


class Entity(NamedTuple):
    """An entity, by its most frequent name and kind."""

    name: str
    kind: str
    description: str  # distinct ones, joined
    places: tuple[Provenance, ...]  # where a corpus mentions it


class Edge(NamedTuple):
    """The relations between two entities."""

    weight: float
    description: str  # distinct ones, joined
    places: tuple[Provenance, ...]  # where a corpus states it


@dataclass(frozen=True)
class KnowledgeGraph:
    """Entities by canonical name, and edges by pairs of canonical names in order."""

    entities: Mapping[str, Entity] = field(default_factory=dict)
    edges: Mapping[tuple[str, str], Edge] = field(default_factory=dict)

    @cached_property
    def neighbors(self) -> Mapping[str, Mapping[str, float]]:
        """The weights of the edges of each entity that has any, both ways."""
        neighbors = defaultdict[str, dict[str, float]](dict)
        for (a, b), edge in self.edges.items():
            neighbors[a][b] = neighbors[b][a] = edge.weight
        return dict(neighbors)

    def strengths(self, members: Iterable[str]) -> dict[str, float]:
        """Return the weighted degree of each entity among ``members``."""
        inside = set(members)
        edges = {name: self.neighbors.get(name, {}) for name in sorted(inside)}
        return {name: sum(weight for right, weight in own.items() if right in inside) for name, own in edges.items()}


@lru_cache(maxsize=200_000)
def canonical_name(name: str, language: str = "en") -> str:
    """Return the name by which mentions of one entity are recognized: its stems, in lower case, without punctuation."""
    words = searchable_words(unicodedata.normalize("NFKC", name).casefold())
    words = words[1:] if len(words) > 1 and words[0] in _ARTICLES else words
    return " ".join(map(_stemmer(language), words))


_stemmer = cache(partial(make_stemmer, "snowball"))
_ARTICLES = frozenset({"the", "a", "an"})


def build_graph(
    extractions: Mapping[str, tuple[int, Extraction]],
    *,
    min_mentions: int = 1,
    min_by_rules: int = 1,
    weighting: Weighting = "association",
    language: str = "en",
) -> KnowledgeGraph:
    """Merge the extractions of all leaves, given by the ids of leaves, with their offsets.

    An edge weighs n(x, y), the summed strength of its relations; for "association", over sqrt(f(x) f(y)), with f the
    mentions of an entity. Strengths that are not finite and > 0 raise `ConfigurationError`. ``min_by_rules`` is for
    entities that only rules found, in place of a model that failed.
    """
    mentions = defaultdict[str, list[tuple[Mention, Provenance]]](list)
    relations = defaultdict[tuple[str, str], list[tuple[Relation, Provenance]]](list)
    sure = set[str]()  # entities that are not by rules in place of a model
    for leaf, (offset, extraction) in extractions.items():
        for mention in extraction.mentions:
            place = Provenance(leaf, Span(offset + mention.start, offset + mention.end))
            key = canonical_name(mention.name, language)
            mentions[key].append((mention, place))
            sure.update([key] * (not extraction.status))
        for relation in extraction.relations:
            is_valid = math.isfinite(relation.weight) and relation.weight > 0
            require(is_valid, "weights of relations must be finite and > 0", relation)
            left, right = sorted(canonical_name(name, language) for name in (relation.source, relation.target))
            place = Provenance(leaf, Span(offset + relation.start, offset + relation.end))
            relations[left, right].append((relation, place))
    least = {key: min_mentions if key in sure else max(min_mentions, min_by_rules) for key in mentions}
    kept = {key: named for key, named in sorted(mentions.items()) if key and len(named) >= least[key]}
    edges = dict[tuple[str, str], Edge]()
    for (left, right), stated in sorted(relations.items()):
        if left != right and left in kept and right in kept:
            weight = sum(relation.weight for relation, _ in stated)
            weight /= math.sqrt(len(kept[left]) * len(kept[right])) if weighting == "association" else 1
            edges[left, right] = Edge(weight, *_collected(stated))
    return KnowledgeGraph({key: _entity(named) for key, named in kept.items()}, edges)


def _entity(named: list[tuple[Mention, Provenance]]) -> Entity:
    names = Counter(mention.name for mention, _ in named)
    kinds = Counter(mention.kind for mention, _ in named if mention.kind)
    kind = min(kinds, key=lambda name: (-kinds[name], name), default="")
    name = min(names, key=lambda name: (-names[name], name))
    return Entity(name, kind, *_collected(named))


def _collected(stated: Sequence[tuple[Mention | Relation, Provenance]]) -> tuple[str, tuple[Provenance, ...]]:
    descriptions = dict.fromkeys(record.description for record, _ in stated if record.description)
    return _SEPARATOR.join(descriptions), tuple(place for _, place in stated)
