"""advchunk chunkers as LlamaIndex node parsers: exact offsets, stable ids, honest cache keys, safe pickling."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from uuid import UUID, uuid5

from llama_index.core.callbacks import CallbackManager
from llama_index.core.node_parser import TextSplitter
from llama_index.core.schema import (
    BaseNode,
    Document,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.utils import get_tqdm_iterable
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, model_validator

from advchunk import Chunk, Chunker
from advchunk import Document as Source
from advchunk.chunkers.files import chunk_files
from advchunk.chunkers.params import ALIASES, parameters, resources
from advchunk.chunkers.results import error_handler
from advchunk.errors import require
from advchunk.models.identity import identity
from advchunk.records import flat_places, flat_spans, inherited

_NAMES = {"embedder": "embed_model"}  # what the core calls a resource, and LlamaIndex otherwise


class AdvchunkNodeParser(TextSplitter):
    """Parse nodes with a core chunker, and write down what it knows of each chunk.

    Everything is known in `_parse_nodes`, so `_postprocess_parsed_nodes`, which would find each text
    again with ``str.find``, does nothing. Metadata gets ``token_count``, ``level``, ``spans`` if a chunk
    has several, ``section`` and ``title_path`` under headings, ``page``, ``pages`` and ``boxes`` where the layout
    has them ("3 4", "3:left,top,right,bottom ..."), and what the algorithm adds, all hidden from embedder and language model; with ``include_context`` also ``context``, which both see.

    Ids are stable as long as text and document id are: give documents an ``id_`` of your own.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    id_func: Any = Field(default=None, exclude=True, description="id_func(i, node) -> id; None gives stable ids.")
    on_error: Any = Field(
        default="raise", exclude=True, description="'raise', 'skip', or a callable that is given each Failure."
    )

    @abstractmethod
    def core(self) -> Chunker:
        """Return the core chunker that this parser runs."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        error_handler(self.on_error)  # raises on anything else
        self.core()  # raises on a bad parameter
        return self

    @classmethod
    def class_name(cls) -> str:
        """Return the name LlamaIndex serializes this parser under."""
        return f"advchunk.{cls.__name__}"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> Self:
        """Build a parser, as LlamaIndex's own are built."""
        return cls(**kwargs)

    def split_text(self, text: str) -> list[str]:
        """Return the chunk texts."""
        (chunks,) = self.core().chunk_many([text], on_error=self.on_error)
        return [chunk.text for chunk in chunks]

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        sources = self._sources(nodes, show_progress)
        return self._written(nodes, self.core().chunk_many(sources, on_error=self.on_error))

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        sources = self._sources(nodes, show_progress)
        return self._written(nodes, await self.core().achunk_many(sources, on_error=self.on_error))

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        return nodes

    def get_nodes_from_files(self, paths: Iterable[str | Path], show_progress: bool = False) -> list[BaseNode]:
        """Return the nodes of files of any kind that `advchunk.read_file` reads, with the layout that these have.

        Offsets are into the text that was read. Metadata is what the file says of itself, and ``file_path``, all hidden from
        embedder and language model. A parser of papers, pages or abstracts reads files its own way.
        """
        reading = get_tqdm_iterable(paths, show_progress, "Reading files")
        read, found = chunk_files(self.core(), reading, "file_path", on_error=self.on_error, progress=show_progress)
        parents = [
            Document(
                id_=said.id,
                text=said.text,
                metadata=dict(said.metadata),
                excluded_embed_metadata_keys=[*said.metadata],
                excluded_llm_metadata_keys=[*said.metadata],
            )
            for said in read
        ]
        return self._written(parents, found)

    def _sources(self, nodes: Sequence[BaseNode], show_progress: bool) -> Iterator[Source]:
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            metadata = inherited(node.metadata) if self.include_metadata else {}
            yield Source(node.get_content(MetadataMode.NONE), node.node_id, metadata=metadata)

    def _written(self, parents: Sequence[BaseNode], found: list[list[Chunk]]) -> list[BaseNode]:
        written: list[BaseNode] = []
        last: dict[tuple[str | None, int], BaseNode] = {}
        in_context = self.core().include_context
        for parent, chunks in zip(parents, found, strict=True):
            if not chunks and _has_media(parent):
                written.append(parent)
                continue
            source = parent.source_node or parent.as_related_node_info()  # which hashes the whole text: once
            nodes = [self._node(parent, source, chunk, in_context) for chunk in chunks]
            for node, chunk in zip(nodes, chunks, strict=True):  # hashes are final from here on, so links hold
                if chunk.parent is not None:
                    above = nodes[chunk.parent]
                    node.relationships[NodeRelationship.PARENT] = above.as_related_node_info()
                    below = [*(above.child_nodes or []), node.as_related_node_info()]
                    above.relationships[NodeRelationship.CHILD] = below
                if self.include_prev_next_rel:
                    line = (node.ref_doc_id, chunk.level)
                    if before := last.get(line):
                        node.relationships[NodeRelationship.PREVIOUS] = before.as_related_node_info()
                        before.relationships[NodeRelationship.NEXT] = node.as_related_node_info()
                    last[line] = node
            written += self._entries(parent, nodes, chunks)
        return written

    def _entries(self, parent: BaseNode, nodes: Sequence[TextNode], chunks: Sequence[Chunk]) -> Iterator[BaseNode]:
        """Yield the nodes; instead of one whose chunk has rows, for each an `IndexNode` that leads to it."""
        given, shift = parent.get_content(MetadataMode.NONE), _place_in_root(parent)
        for node, chunk in zip(nodes, chunks, strict=True):
            if chunk.rows is None:
                yield node
                continue
            above = {NodeRelationship.PARENT: node.as_related_node_info()}
            placed = shift is not None and chunk.spans_in(given) == chunk.spans
            rows = zip(chunk.row_spans, chunk.row_texts, chunk.rows, strict=True)
            for number, ((start, end), text, row) in enumerate(rows):
                yield IndexNode(
                    id_=str(uuid5(UUID(chunk.id), str(number))),
                    embedding=row.tolist(),
                    text=text,
                    start_char_idx=(shift or 0) + start if placed else None,
                    end_char_idx=(shift or 0) + end if placed else None,
                    extra_info=dict(inherited(node.metadata)),
                    relationships={NodeRelationship.SOURCE: node.relationships[NodeRelationship.SOURCE], **above},
                    excluded_embed_metadata_keys=node.excluded_embed_metadata_keys,
                    excluded_llm_metadata_keys=node.excluded_llm_metadata_keys,
                    index_id=node.node_id,
                    obj=node,
                )

    def _node(self, parent: BaseNode, source: RelatedNodeInfo, chunk: Chunk, in_context: bool) -> TextNode:
        shift = _place_in_root(parent)
        metadata: dict[str, Any] = {**flat_places(chunk.metadata), "token_count": chunk.tokens, "level": chunk.level}
        spans = chunk.spans_in(parent.get_content(MetadataMode.NONE)) if shift is not None else ()
        if len(spans) > 1:
            metadata["spans"] = flat_spans(spans, shift or 0)
        hidden = [key for key in metadata if key not in parent.metadata]
        if in_context and chunk.context:
            metadata["context"] = chunk.context
            hidden.append("title")  # the context says it
        return TextNode(
            id_=self.id_func(chunk.index, parent) if self.id_func else chunk.id,
            # A chunk that is found by its rows has no entry of its own.
            embedding=None if chunk.vector is None or chunk.rows is not None else chunk.vector.tolist(),
            text=chunk.text,
            start_char_idx=spans[0].start + (shift or 0) if spans else None,
            end_char_idx=spans[-1].end + (shift or 0) if spans else None,
            metadata=metadata,
            relationships={NodeRelationship.SOURCE: source},
            excluded_embed_metadata_keys=[*parent.excluded_embed_metadata_keys, *hidden],
            excluded_llm_metadata_keys=[*parent.excluded_llm_metadata_keys, *hidden],
            metadata_template=parent.metadata_template,
            metadata_separator=parent.metadata_separator,
            text_template=getattr(parent, "text_template", TextNode.model_fields["text_template"].default),
        )

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Add a fingerprint: the IngestionPipeline's cache key is made from this."""
        fingerprint = [self.core().fingerprint(), identity(self.id_func)]
        return {**super().to_dict(**kwargs), "fingerprint": fingerprint}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Build from `to_dict`; resources are not in it, so give them again."""
        return super().from_dict({key: data[key] for key in data if key != "fingerprint"}, **kwargs)

    # The base drops what cannot be pickled, from the original too; pydantic's own way fails loudly instead.
    def __getstate__(self) -> dict[str, Any]:
        state = BaseModel.__getstate__(self)
        kept = {name: value for name, value in self.__dict__.items() if name != "callback_manager"}
        return {**state, "__dict__": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {**state, "__dict__": {**state["__dict__"], "callback_manager": CallbackManager([])}}
        BaseModel.__setstate__(self, copy.copy(state))


class ChunkerNodeParser(AdvchunkNodeParser):
    """Parse with any core chunker: ``ChunkerNodeParser(chunker=MyChunker())``."""

    chunker: InstanceOf[Chunker] = Field(exclude=True)

    def core(self) -> Chunker:
        """Return the chunker that was given."""
        return self.chunker


class LinearNodeParser(AdvchunkNodeParser):
    """Base of the parsers that need no model.

    `core` shows what runs: the parameters that a ``preset`` gives, too.
    """

    chunker_class: ClassVar[type[Chunker]]
    chunk_size: int | None = Field(default=None, description="LlamaIndex's name for max_tokens.")
    chunk_overlap: int | None = Field(default=None, description="LlamaIndex's name for overlap_tokens.")
    tokenizer: Any = Field(default=None, exclude=True, description="Counts tokens; None follows the embed model.")
    sentence_splitter: Any = Field(default=None, exclude=True, description="Finds sentences.")
    fallback: Any = Field(default="auto", exclude=True, description="A core chunker for documents that fail.")

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = dict(data)
        for alias, name in ALIASES.items():
            if data.get(alias) is not None:
                same = data.setdefault(name, data[alias]) == data[alias]
                require(same, f"{alias} is another name for {name}: give one", (data[alias], data[name]))
            else:
                data[alias] = data.get(name, cls.model_fields[name].default)
        return data

    def __setattr__(self, name: str, value: Any) -> None:
        for alias, ours in ALIASES.items():  # LlamaIndex's Settings set chunk_size on a parser that is built
            if name in {alias, ours}:
                super().__setattr__(ours if name == alias else alias, value)
        super().__setattr__(name, value)

    def core(self) -> Chunker:
        """Return the core chunker with this parser's parameters and resources."""
        given = {name: getattr(self, _NAMES.get(name, name)) for name in resources(self.chunker_class)}
        return self.chunker_class(**parameters(self, self.chunker_class), **given)


class LexicalNodeParser(LinearNodeParser):
    """Base of the parsers that count words."""

    word_splitter: Any = Field(default=None, exclude=True, description="Finds the words of a text.")


class LanguageModelNodeParser(LinearNodeParser):
    """Base of the parsers that ask a causal language model."""

    lm: Any = Field(
        default=None, exclude=True, description="A name or path, a (model, tokenizer) pair, a HuggingFaceLLM ..."
    )


class EmbeddingNodeParser(LinearNodeParser):
    """Base of the parsers that need an embedder.

    With ``vectors="units"`` a chunk is found by its nearest sentence, which knows its chunk and what stands around it
    (`advchunk.numerics.context_vectors.sentence_rows`): "small to big". The nodes are then `IndexNode`s, one a sentence, with the chunk as
    their ``obj``: put them into any index, and its retriever returns the chunks, each once, by its nearest sentence.
    ``similarity_top_k`` counts sentences. Where a store is too small for a copy of the chunk beside each sentence,
    ``VectorStoreIndex(objects=nodes)`` keeps one in memory.
    """

    embed_model: Any = Field(
        default=None, exclude=True, description="BaseEmbedding or anything that embeds; None is the embedded default."
    )
    batch_size: int | None = Field(default=None, exclude=True, description="Texts a model call.")
    cache: Any = Field(default=None, exclude=True, description="Keeps embeddings: a path, a dict, or a Store.")
    vectors: Literal["none", "plain", "context", "units"] = Field(
        default="none",
        description="Sets each node's embedding: its own, or mixed with those around it; or gives one for each sentence.",
    )


def _has_media(node: BaseNode) -> bool:
    return any(getattr(node, f"{kind}_resource", None) for kind in ("image", "audio", "video"))


def _place_in_root(node: BaseNode) -> int | None:
    """Return where a node's text starts in the root document; None if it is not a verbatim piece of it."""
    if node.source_node is None:
        return 0
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    verbatim = start is not None and end is not None and end - start == len(node.get_content(MetadataMode.NONE))
    return start if verbatim else None
