"""A corpus as a tree of chunks, with what an update needs."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from advchunk.chunkers.graphrag.central_sentences import Source, Summary
from advchunk.chunkers.graphrag.communities import Community
from advchunk.chunkers.graphrag.graph import (
    Extraction,
    KnowledgeGraph,
    Mention,
    MergedDescription,
    Relation,
    Weighting,
    build_graph,
)
from advchunk.chunkers.graphrag.leaves import Leaf
from advchunk.errors import ConfigurationError, require
from advchunk.models.atomic import open_atomic
from advchunk.records import Chunk, Floats, Span, chunk_from_dict, chunk_to_dict

_FORMAT: Final = 2  # of the file


class GraphSettings(NamedTuple):
    """The settings with which a graph is built (`graph.build_graph`)."""

    min_mentions: int = 1
    weighting: Weighting = "association"
    language: str = "en"
    min_by_rules: int = 1


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a call made.

    Parameters
    ----------
    documents_added, documents_removed : names; one that was replaced is in both.
    leaves_extracted : number of leaves whose entities were extracted; those of other documents were kept.
    summaries_written, summaries_kept : number of communities, the root included.
    chunks_added, chunks_removed : ids of chunks, in their order.
    chunks_moved : ids of chunks that have another parent or level.
    """

    documents_added: tuple[str, ...] = ()
    documents_removed: tuple[str, ...] = ()
    leaves_extracted: int = 0
    summaries_written: int = 0
    summaries_kept: int = 0
    chunks_added: tuple[str, ...] = ()
    chunks_removed: tuple[str, ...] = ()
    chunks_moved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """The chunks of a corpus at all levels, and the graph behind them, made by `GraphRAGChunker`.

    Parameters
    ----------
    chunks : the root, communities, leaves; parents before children. ``parent`` is an index in this list.
    leaves : the leaves of each document, by its name, in reading order.
    communities : the communities of entities, by level; the tree has those with several children.
    summaries : the summaries of the root and communities, by a digest of all that is below.
    descriptions : those that a model merged, by a digest of what they are made of (`KnowledgeGraph.descriptions`).
    changes : what the call that made it did; not saved.
    maker : digest of the settings of the chunker.
    leiden : version of graspologic-native, which decides the communities.
    vectors : the kind of the vectors of chunks, and the name of the embedder; empty without vectors.
    """

    chunks: list[Chunk]
    leaves: Mapping[str, tuple[Leaf, ...]]
    communities: tuple[Community, ...]
    summaries: Mapping[str, Summary]
    settings: GraphSettings
    maker: str
    leiden: str
    vectors: str = ""
    descriptions: Mapping[str, MergedDescription] = field(default_factory=dict)
    changes: Changes = field(default=Changes(), compare=False, repr=False)

    @property
    def documents(self) -> list[str]:
        """The names of the documents."""
        return list(self.leaves)

    @cached_property
    def graph(self) -> KnowledgeGraph:
        """The graph, with the places of every entity and edge: the ids of leaves, and spans in their documents."""
        return graph_of(self.leaves, self.settings).with_merged(self.descriptions)

    def save(self, path: str | Path) -> None:
        """Save to a file, as JSON, with the vectors of chunks.

        Raises `ConfigurationError`, and writes nothing, for metadata that is not JSON.
        """
        values = {
            "format": _FORMAT,
            "chunks": [_chunk_values(chunk) for chunk in self.chunks],
            "leaves": {name: [_leaf_values(leaf) for leaf in leaves] for name, leaves in self.leaves.items()},
            "communities": self.communities,
            "summaries": self.summaries,
            "settings": self.settings,
            "maker": self.maker,
            "leiden": self.leiden,
            "vectors": self.vectors,
            "descriptions": self.descriptions,
        }
        try:
            content = json.dumps(values)
        except (TypeError, ValueError) as error:
            msg = f"metadata must be JSON to be saved: {error}"
            raise ConfigurationError(msg) from error
        with open_atomic(path, encoding="utf-8") as file:
            file.write(content)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the corpus that `save` saved; raise `ConfigurationError` if there is none, or if it is damaged."""
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            require(values.pop("format") == _FORMAT, f"format must be {_FORMAT}", path)
            chunks = [_chunk(item) for item in values.pop("chunks")]
            by_id = {chunk.id: chunk for chunk in chunks}
            return cls(
                chunks=chunks,
                leaves={
                    name: tuple(_leaf(by_id, *item) for item in leaves) for name, leaves in values.pop("leaves").items()
                },
                communities=tuple(
                    Community(level, number, parent, tuple(members))
                    for level, number, parent, members in values.pop("communities")
                ),
                summaries={key: _summary(*row) for key, row in values.pop("summaries").items()},
                settings=GraphSettings(*values.pop("settings")),
                descriptions={key: MergedDescription(*row) for key, row in values.pop("descriptions").items()},
                **values,
            )
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
            msg = f"path must be a file that Corpus.save saved, got {str(path)!r} ({type(error).__name__}: {error})"
            raise ConfigurationError(msg) from error


def graph_of(leaves: Mapping[str, tuple[Leaf, ...]], settings: GraphSettings) -> KnowledgeGraph:
    """Return the graph of the leaves of documents."""
    every = (leaf for own in leaves.values() for leaf in own)
    extractions = {leaf.chunk.id: (leaf.chunk.start, leaf.extraction) for leaf in every}
    return build_graph(extractions, **settings._asdict())


def compare_chunks(before: Sequence[Chunk], after: Sequence[Chunk]) -> Changes:
    """Return the changes of chunks."""
    old, new = (
        {chunk.id: (chunk.level, chunk.metadata["parent_id"] if chunk.level else "") for chunk in chunks}
        for chunks in (before, after)
    )
    return Changes(
        chunks_added=tuple(name for name in new if name not in old),
        chunks_removed=tuple(name for name in old if name not in new),
        chunks_moved=tuple(name for name in new if name in old and old[name] != new[name]),
    )


def _chunk_values(chunk: Chunk) -> dict[str, Any]:
    arrays = {"vector": _encode(chunk.vector), "rows": _encode(chunk.rows)}
    return chunk_to_dict(chunk) | arrays | {"row_spans": chunk.row_spans, "row_texts": chunk.row_texts}


def _chunk(values: dict[str, Any]) -> Chunk:
    arrays = {"vector": _decode(values["vector"]), "rows": _decode(values["rows"])}
    spans = tuple(Span(*span) for span in values["row_spans"])
    return chunk_from_dict(values | arrays | {"row_spans": spans, "row_texts": tuple(values["row_texts"])})


def _encode(array: Floats | None) -> str | None:
    """Return an array in numpy's format, in base 64."""
    if array is None:
        return None
    np.save(file := BytesIO(), array, allow_pickle=False)
    return b64encode(file.getvalue()).decode()


def _decode(text: str | None) -> Floats | None:
    return None if text is None else np.load(BytesIO(b64decode(text, validate=True)), allow_pickle=False)


def _leaf_values(leaf: Leaf) -> list[Any]:
    return [leaf.chunk.id, leaf.sentences, leaf.extraction, leaf.community]


def _leaf(chunks: Mapping[str, Chunk], name: str, sentences: list[Any], extraction: list[Any], community: int) -> Leaf:
    mentions, relations, status = extraction
    result = Extraction(tuple(Mention(*row) for row in mentions), tuple(Relation(*row) for row in relations), status)
    return Leaf(chunks[name], tuple(Span(*span) for span in sentences), result, community)


def _summary(title: str, text: str, sources: list[Any], by: str, status: str) -> Summary:
    return Summary(title, text, tuple(Source(document, Span(*span)) for document, span in sources), by, status)
