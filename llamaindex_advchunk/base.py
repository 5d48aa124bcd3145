"""advchunk chunkers as LlamaIndex node parsers, with exact offsets, stable ids, cache keys and pickling."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import unwrap
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, Unpack
from uuid import NAMESPACE_OID, UUID, uuid5

from llama_index.core.node_parser import TextSplitter
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.utils import get_tqdm_iterable
from pydantic import ConfigDict, Field, model_validator

from advchunk import Chunk, Chunker, Failure
from advchunk import Document as Source
from advchunk.building.layout import inherited_metadata
from advchunk.chunkers.frameworks import (
    TextPlace,
    flatten_spans,
    framework_metadata,
    is_of_corpus,
    parent_id,
    parse_spans,
)
from advchunk.chunkers.params import ALIASES, parameters, resources
from advchunk.chunkers.sources import Paths, chunk_files
from advchunk.chunkers.vectors import Vectors
from advchunk.engine.runner import error_handler
from advchunk.engine.workers import check_workers
from advchunk.errors import checked, require
from advchunk.models.cache import CacheLike
from advchunk.models.causal import CausalLMLike
from advchunk.models.counters import TokenizerLike
from advchunk.models.embedders import EmbedderLike
from advchunk.models.identity import identity
from advchunk.readers.noise import without_controls
from advchunk.readers.parts import join_parts
from advchunk.readers.writing import ReadingOptions
from advchunk.records import Span, remove_written, write_metadata, written_keys, written_metadata
from advchunk.text.splitters import SplitterLike
from advchunk.text.terms import WordSplitter
from llamaindex_advchunk.plain import UNCHECKED, PlainFields, Resource

_log = logging.getLogger("advchunk")
_MEDIA = ("image_resource", "audio_resource", "video_resource")  # of documents
_PICTURE = ("image", "image_path", "image_url", "image_mimetype")  # of documents and nodes


RESOURCE_NAMES = {"embedder": "embed_model"}  # LlamaIndex's name for a resource of the core


class _Link(NamedTuple):
    """The node of a chunk, the ids of the chunk and of the one above it, and its level."""

    chunk: str
    above: str | None
    level: int
    node: TextNode


class AdvchunkNodeParser(PlainFields, TextSplitter):
    """Parse nodes with a core chunker, and add its metadata to each chunk.

    `_parse_nodes` builds complete nodes, so `_postprocess_parsed_nodes`, which would search each text with
    ``str.find``, does nothing. A chunk has the metadata of its document, unchanged, and our own: ``token_count``,
    ``level``, ``spans`` if it has several, ``section`` and ``title_path`` under headings, ``page``, ``pages`` and
    ``boxes`` if the layout has them ("3 4", "3:left,top,right,bottom ..."), and the metadata of the algorithm. A key of
    ours that the document has too is preceded by ``advchunk_``: ``advchunk_level``. ``advchunk_keys`` lists our keys,
    so that a chunk that is parsed again does not pass them on. All are hidden from the embedder and the language model.
    With ``include_context`` there is also ``context``, which both see, without a label if they see nothing else.
    Metadata of your own that either sees, and then the label, do not count toward ``max_tokens``.

    A chunk is linked to its document (SOURCE; a summary of a corpus has none), to those before and after it with the
    same parent, if any (PREVIOUS, NEXT), and in a hierarchy to the chunks above and below (PARENT, CHILD). It is
    ``text[start_char_idx:end_char_idx]`` of its document only if it has one span; `chunk_spans` returns the spans of
    any chunk. Ids are stable while the text, its context and the document id are unchanged: give documents an ``id_``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", strict=True)
    id_func: Any = Field(default=None, exclude=True, description="id_func(i, node) -> id; None gives stable ids.")
    on_error: Annotated[Literal["raise", "skip"] | Callable[[Failure], object], UNCHECKED] = Field(
        default="raise", exclude=True, description="'raise', 'skip', or a callable that takes each Failure."
    )
    workers: int = Field(
        default=1, exclude=True, description="Number of processes that parse; what is awaited runs in this process."
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        rule = "split_text must not be overridden, as nodes are not made of it: override core, or write a chunker"
        is_ours = unwrap(cls.split_text) is unwrap(AdvchunkNodeParser.split_text)  # LlamaIndex wraps it
        require(is_ours, rule, cls.__name__)

    @abstractmethod
    def core(self) -> Chunker:
        """Return the core chunker that this parser runs."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        error_handler(self.on_error)  # raises on anything else
        check_workers(self.workers)
        require(self.id_func is None or callable(self.id_func), "id_func must be a function or None", self.id_func)
        self.core()  # raises on a bad parameter
        return self

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> Self:
        """Build a parser, like LlamaIndex's own."""
        return cls(**kwargs)

    def split_text(self, text: str) -> list[str]:
        """Return the chunk texts."""
        (chunks,) = self.core().chunk_many([text], on_error=self.on_error)
        return [chunk.text for chunk in chunks]

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return the nodes of documents, as a transformation of a pipeline or an index."""
        self._check_is_per_document()
        return super().__call__(nodes, **kwargs)

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Await the nodes of documents, as a transformation of a pipeline or an index."""
        self._check_is_per_document()
        return await super().acall(nodes, **kwargs)

    def _check_is_per_document(self) -> None:
        rule = (
            "a parser of a whole corpus must not be a transformation, which may get some of the documents only: "
            "pass the nodes of get_nodes_from_documents to update_nodes"
        )
        require(not self.core().is_corpus_level, rule, type(self).__name__)

    def get_nodes_from_documents(
        self, documents: Sequence[Document], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Return the nodes of documents."""
        return super().get_nodes_from_documents(check_nodes(documents), show_progress, **kwargs)

    async def aget_nodes_from_documents(
        self, documents: Sequence[Document], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Await the nodes of documents."""
        return await super().aget_nodes_from_documents(check_nodes(documents), show_progress, **kwargs)

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        sources = self._sources(nodes, show_progress)
        return self._convert(nodes, self.core().chunk_many(sources, on_error=self.on_error, workers=self.workers))

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        sources = self._sources(nodes, show_progress)
        return self._convert(nodes, await self.core().achunk_many(sources, on_error=self.on_error))

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        return nodes

    def get_nodes_from_files(
        self, paths: Paths, show_progress: bool = False, **reading: Unpack[ReadingOptions]
    ) -> list[BaseNode]:
        """Return the nodes of files in any format, folders, and archives (`advchunk.chunk_files`).

        Offsets are in the text that was read. Metadata is that of the file, with its path as ``file_path``, all hidden
        from the embedder and the language model. ``content="main"`` keeps of web pages only what they are about; see
        `advchunk.read_file` for the other options.
        """
        return list(self.lazy_nodes_from_files(paths, show_progress, **reading))

    def lazy_nodes_from_files(
        self, paths: Paths, show_progress: bool = False, **reading: Unpack[ReadingOptions]
    ) -> Iterator[BaseNode]:
        """Yield the nodes of `get_nodes_from_files` as soon as those of their document are ready, in constant memory.

        Those of a parser of a whole corpus come at the end.
        """
        options: dict[str, Any] = {"on_error": self.on_error, "progress": show_progress, "workers": self.workers}
        pairs = chunk_files(paths, self.core(), metadata_key="file_path", **options, **reading)
        for batch in [list(pairs)] if self.core().is_corpus_level else ([pair] for pair in pairs):
            parents = [_to_document(source, exclusions((), source.metadata)) for source, _ in batch]
            yield from self._convert(parents, [chunks for _, chunks in batch])

    def get_nodes_from_parts(self, documents: Sequence[BaseNode], show_progress: bool = False) -> list[BaseNode]:
        """Return the nodes of pages or elements, which are joined to their sources (`readers.parts.join_parts`).

        Offsets are in the joined text. Metadata are those that all parts have in common; ``page``, ``pages`` and
        ``boxes`` are those of the node.
        """
        documents = check_nodes(documents)
        sources = list(join_parts(self._sources(documents, show_progress)))
        hidden = exclusions(documents)
        parents = [_to_document(source, hidden) for source in sources]
        return self._convert(parents, self.core().chunk_many(sources, on_error=self.on_error, workers=self.workers))

    def _sources(self, nodes: Sequence[BaseNode], show_progress: bool) -> Iterator[Source]:
        return (
            without_controls(
                Source(
                    node.get_content(MetadataMode.NONE),
                    node.node_id,
                    metadata=node.metadata if self.include_metadata else {},
                )
            )
            for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes")
        )

    def _convert(self, parents: Sequence[BaseNode], results: list[list[Chunk]]) -> list[BaseNode]:
        """Return the chunks of each parent as linked nodes."""
        groups, links = list[list[TextNode]](), list[_Link]()
        for parent, chunks in zip(parents, results, strict=True):
            groups.append(self._nodes(parent, chunks))
            links += [
                _Link(chunk.id, parent_id(chunk, chunks), chunk.level, node)
                for chunk, node in zip(chunks, groups[-1], strict=True)
            ]
        self._link(links)
        entries: list[BaseNode] = []
        for parent, nodes, chunks in zip(parents, groups, results, strict=True):
            entries += self._entries(parent, nodes, chunks)
            has_media = any(getattr(parent, name, None) for name in (*_MEDIA, *_PICTURE))
            entries += [_media_node(parent)] if has_media and (not chunks or _picture(parent) is None) else []
        return entries

    def _link(self, links: Sequence[_Link]) -> None:
        """Link the nodes of a call to those above, below, before and after them."""
        infos = {link.chunk: link.node.as_related_node_info() for link in links}  # hashes are final from here on
        below = defaultdict[str, list[RelatedNodeInfo]](list)
        last: dict[tuple[str | None, int, str | None], _Link] = {}
        for link in links:
            if link.above is not None:
                link.node.relationships[NodeRelationship.PARENT] = infos[link.above]
                below[link.above].append(infos[link.chunk])
            if self.include_prev_next_rel:
                # Links across parents would make AutoMergingRetriever add and merge the same node forever.
                sequence = link.node.ref_doc_id, link.level, link.above
                if before := last.get(sequence):
                    link.node.relationships[NodeRelationship.PREVIOUS] = infos[before.chunk]
                    before.node.relationships[NodeRelationship.NEXT] = infos[link.chunk]
                last[sequence] = link
        for link in links:
            if link.chunk in below:
                link.node.relationships[NodeRelationship.CHILD] = below[link.chunk]

    def _entries(self, parent: BaseNode, nodes: Sequence[TextNode], chunks: Sequence[Chunk]) -> Iterator[BaseNode]:
        """Yield the nodes to index: the node of a chunk, or an `IndexNode` for each of its rows that refers to it."""
        text, place = parent.get_content(MetadataMode.NONE), text_place(parent)
        for node, chunk in zip(nodes, chunks, strict=True):
            if chunk.rows is None:
                yield node
                continue
            is_verbatim = chunk.spans_in(text) == chunk.spans
            yield from sentence_nodes(node, chunk, place if is_verbatim else TextPlace(()))

    def _nodes(self, parent: BaseNode, chunks: Sequence[Chunk]) -> list[TextNode]:
        if not chunks:
            return []
        source = parent.source_node or parent.as_related_node_info()  # hashes the whole text, so only once
        place = text_place(parent)
        return [self._node(parent, source, place, chunk) for chunk in chunks]

    def _node(self, parent: BaseNode, source: RelatedNodeInfo, place: TextPlace, chunk: Chunk) -> TextNode:
        text = parent.get_content(MetadataMode.NONE)
        spans = place.spans_of(chunk.spans_in(text))
        values: dict[str, Any] = {"token_count": chunk.tokens, "level": chunk.level}
        if len(spans) > 1:
            values["spans"] = flatten_spans(spans)
        values |= {"context": chunk.context} if chunk.context else {}
        metadata = framework_metadata(place.with_lines(chunk, text), values)
        of_corpus = is_of_corpus(chunk)
        users = users_metadata(parent.metadata) if self.include_metadata and not of_corpus else {}
        hidden = hidden_keys(metadata, users)
        hidden += ["title"] if chunk.context else []  # which is part of the context
        picture = _picture(parent)
        node_class = TextNode if picture is None else ImageNode
        return node_class(
            **picture or {},
            id_=self.id_func(chunk.index, parent) if self.id_func else chunk.id,
            # A chunk with rows is retrieved by them.
            embedding=None if chunk.vector is None or chunk.rows is not None else chunk.vector.tolist(),
            text=chunk.text,
            start_char_idx=spans[0].start if spans else None,
            end_char_idx=spans[-1].end if spans else None,
            metadata=metadata,
            relationships={} if of_corpus else {NodeRelationship.SOURCE: source},
            **presentation(parent, metadata, hidden),
        )

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Add a fingerprint, from which the IngestionPipeline makes its cache key."""
        return {**super().to_dict(**kwargs), "fingerprint": self._fingerprint()}

    def _fingerprint(self) -> list[str]:
        return [self.core().fingerprint(), identity(self.id_func)]

    @classmethod
    @checked
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Build a parser from `to_dict`, which has no objects, such as an ``embed_model``: pass them again.

        A parser that does not parse as the one of the dictionary is named in the log.
        """
        parser = super().from_dict({key: data[key] for key in data if key != "fingerprint"}, **kwargs)
        if data.get("fingerprint", parser._fingerprint()) != parser._fingerprint():
            message = (
                "%s.from_dict makes a parser that differs from that of the dictionary: pass its resources, such "
                "as embed_model"
            )
            _log.warning(message, cls.__name__)
        return parser


class ChunkerNodeParser(AdvchunkNodeParser):
    """Parse with any core chunker: ``ChunkerNodeParser(chunker=MyChunker())``."""

    chunker: Annotated[Chunker, Resource(Chunker)] = Field(exclude=True)

    def core(self) -> Chunker:
        """Return the chunker."""
        return self.chunker


class LinearNodeParser(AdvchunkNodeParser):
    """Base of the parsers that need no model.

    `core` returns the core chunker, with the parameters that a ``preset`` sets.

    With ``vectors="units"`` a chunk is retrieved by its nearest sentence, whose vector contains some of its chunk and
    of the text around it (`advchunk.models.context_vectors.sentence_rows`): "small to big". The nodes are then
    `IndexNode`s, one per sentence, with the chunk as their ``obj``: put them into any index, and its retriever returns
    each chunk once. ``similarity_top_k`` counts sentences. To store each chunk only once, in memory, use
    ``VectorStoreIndex(objects=nodes)``.
    """

    chunker_class: ClassVar[type[Chunker]]
    chunk_size: int | None = Field(default=None, description="LlamaIndex's name for max_tokens.")
    chunk_overlap: int | None = Field(default=None, description="LlamaIndex's name for overlap_tokens.")
    tokenizer: Annotated[TokenizerLike, UNCHECKED] = Field(
        default=None,
        exclude=True,
        description="Counts tokens; None is the built-in WordPiece, or that of an embed model that cuts.",
    )
    sentence_splitter: Annotated[SplitterLike, UNCHECKED] = Field(
        default=None, exclude=True, description="Splits sentences."
    )
    fallback: Annotated[Chunker | Literal["auto"] | None, UNCHECKED] = Field(
        default="auto", exclude=True, description="A core chunker for documents on which this one fails."
    )
    embed_model: Annotated[EmbedderLike, UNCHECKED] = Field(
        default=None, exclude=True, description="BaseEmbedding or anything that embeds; None is the built-in default."
    )
    batch_size: int | None = Field(default=None, exclude=True, description="Texts per model call.")
    cache: Annotated[CacheLike, UNCHECKED] = Field(
        default=None, exclude=True, description="Keeps embeddings: a path, a dict, or a Store."
    )
    vectors: Vectors = Field(
        default="none",
        description="Sets the embedding of each node: its own, mixed with its neighbors', one per sentence, or pooled "
        "from its tokens; of text and context, without metadata.",
    )

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = dict(data)
        for alias, name in ALIASES.items():
            if data.get(alias) is not None:
                same = data.setdefault(name, data[alias]) == data[alias]
                require(same, f"{alias} is another name for {name}: pass only one", (data[alias], data[name]))
            else:
                data[alias] = data.get(name, cls.model_fields[name].default)
        return data

    def __setattr__(self, name: str, value: Any) -> None:
        for alias, parameter in ALIASES.items():  # LlamaIndex's Settings set chunk_size on an existing parser
            if name in {alias, parameter}:
                super().__setattr__(parameter if name == alias else alias, value)
        super().__setattr__(name, value)

    def core(self) -> Chunker:
        """Return the core chunker with this parser's parameters and resources."""
        lent = {name: getattr(self, RESOURCE_NAMES.get(name, name)) for name in resources(self.chunker_class)}
        chosen = parameters(self, self.chunker_class)
        return self.chunker_class(**{name: chosen[name] for name in chosen if name in self.model_fields_set}, **lent)

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Add the values that a preset sets, under all their names, because what is read back gives all parameters."""
        core = self.core()
        values = {name: getattr(core, name) for name in core.presets.get(getattr(core, "preset", None) or "", {})}
        aliases = {alias: values[name] for alias, name in ALIASES.items() if name in values}
        return {**super().to_dict(**kwargs), **values, **aliases}


class LexicalNodeParser(LinearNodeParser):
    """Base of the parsers that count words."""

    word_splitter: Annotated[WordSplitter | None, UNCHECKED] = Field(
        default=None, exclude=True, description="Returns the words of a text."
    )


class LanguageModelNodeParser(LinearNodeParser):
    """Base of the parsers that use a causal language model."""

    lm: Annotated[CausalLMLike | None, UNCHECKED] = Field(
        default=None, exclude=True, description="A name or path, a (model, tokenizer) pair, a HuggingFaceLLM ..."
    )


class EmbeddingNodeParser(LinearNodeParser):
    """Base of the parsers that cut by embeddings."""


def check_nodes(nodes: Iterable[BaseNode]) -> list[Any]:
    """Return nodes as a list; raise `ConfigurationError` for anything else."""
    require(isinstance(nodes, Iterable) and not isinstance(nodes, str), "nodes must be a collection of nodes", nodes)
    nodes = list(nodes)
    rule = "nodes must be documents or nodes of LlamaIndex; make Document(text=...) of a text"
    others = [node for node in nodes if not isinstance(node, BaseNode)]
    require(not others, rule, others[:1])
    return nodes


def sentence_nodes(node: TextNode, chunk: Chunk, place: TextPlace) -> Iterator[IndexNode]:
    """Yield a node for each sentence of a chunk, with its vector, that refers to the chunk's node.

    ``place``: of the text of the chunk's spans, from which the offsets of sentences follow.
    """
    source = {NodeRelationship.SOURCE: node.source_node} if node.source_node else {}
    above = {NodeRelationship.PARENT: node.as_related_node_info()}
    rows = zip(chunk.row_spans, chunk.row_texts, chunk.rows if chunk.rows is not None else (), strict=True)
    for number, (own, sentence, row) in enumerate(rows):
        span = place.span_of(own)
        yield IndexNode(
            id_=str(uuid5(UUID(chunk.id), str(number))),
            embedding=row.tolist(),
            text=sentence,
            start_char_idx=span.start if span else None,
            end_char_idx=span.end if span else None,
            extra_info=write_metadata(inherited_metadata(node.metadata), {}),
            relationships={**source, **above},
            excluded_embed_metadata_keys=node.excluded_embed_metadata_keys,
            excluded_llm_metadata_keys=node.excluded_llm_metadata_keys,
            index_id=node.node_id,
            obj=node,
        )


@checked
def chunk_spans(node: BaseNode) -> tuple[Span, ...]:
    r"""Return the spans of a chunk in its document; () if they are unknown.

    >>> from llama_index.core import Document
    >>> from llamaindex_advchunk import MSTSemanticNodeParser
    >>> text = "Cats purr.\n\nJudges sit in court.\n\nCats nap and purr."
    >>> chunk, _ = MSTSemanticNodeParser(n_segments=2)([Document(text=text)])
    >>> [text[start:end] for start, end in chunk_spans(chunk)]
    ['Cats purr.\n\n', 'Cats nap and purr.']
    """
    return _spans(node, written_metadata(node.metadata))


def _spans(node: BaseNode, written: Mapping[str, Any]) -> tuple[Span, ...]:
    if spans := written.get("spans"):
        return parse_spans(spans)
    if not isinstance(node, TextNode) or (start := node.start_char_idx) is None:
        return ()
    return (Span(start, start + len(node.text) if node.end_char_idx is None else node.end_char_idx),)


def node_spans(node: BaseNode, written: Mapping[str, Any] | None = None) -> tuple[Span, ...]:
    """Return the spans of a node in its document; () if it states none, or counts from the node that it was made of.

    ``written`` is our metadata of the node, if it has been read.
    """
    written = written_metadata(node.metadata) if written is None else written
    return _spans(node, written) if node.parent_node is None or "token_count" in written else ()


def users_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without everything that advchunk wrote."""
    return remove_written(metadata, written_keys(metadata))


def hidden_keys(metadata: Mapping[str, Any], users: Mapping[str, Any]) -> list[str]:
    """Return the keys of a chunk to hide from embedder and language model: those not of the user, except the
    context's.
    """
    visible = {*users, written_keys(metadata).get("context")}
    return [key for key in metadata if key not in visible]


def exclusions(nodes: Iterable[BaseNode], hidden: Iterable[str] = ()) -> dict[str, Any]:
    """Return the keys that are hidden from embedder and language model, those of nodes and others, each once."""
    names = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
    own = {name: [key for node in nodes for key in getattr(node, name)] for name in names}
    return {name: list(dict.fromkeys([*keys, *hidden])) for name, keys in own.items()}


def _to_document(source: Source, hidden: Mapping[str, Any]) -> Document:
    return Document(id_=source.id, text=source.text, metadata=dict(source.metadata), **hidden)


def presentation(node: BaseNode, metadata: Mapping[str, Any], hidden: Sequence[str]) -> dict[str, Any]:
    """Return settings by which embedder and language model see metadata like that of a node, except ``hidden`` keys."""
    excluded = exclusions([node], hidden)
    unseen = set.intersection(*map(set, excluded.values()))
    is_alone = metadata.keys() - unseen == {written_keys(metadata).get("context")}
    return {
        **excluded,
        "metadata_template": "{value}" if is_alone else node.metadata_template,  # tokens of a label are not counted
        "metadata_separator": node.metadata_separator,
        "text_template": getattr(node, "text_template", TextNode.model_fields["text_template"].default),
    }


def _picture(node: BaseNode) -> dict[str, Any] | None:
    """Return the picture of an `ImageDocument` or `ImageNode`, as the fields of an `ImageNode`; None for other
    nodes.
    """
    is_picture = isinstance(node, (ImageDocument, ImageNode))
    return {name: getattr(node, name) for name in _PICTURE} if is_picture else None


def _media_node(parent: BaseNode) -> BaseNode:
    """Return a node without text for the media of a document; a node stays as it is."""
    if not isinstance(parent, Document):
        return parent
    about: dict[str, Any] = {"metadata": users_metadata(parent.metadata), **exclusions([parent])}
    about["relationships"] = {NodeRelationship.SOURCE: parent.source_node or parent.as_related_node_info()}
    about["id_"] = str(uuid5(NAMESPACE_OID, f"{parent.node_id} media"))
    if (picture := _picture(parent)) is not None:
        return ImageNode(**picture, **about)
    media: dict[str, Any] = {name: getattr(parent, name) for name in _MEDIA}
    return Node(**media, **about)


def text_place(node: BaseNode) -> TextPlace:
    """Return the place of the text of a node in its document, by its offsets and metadata; a document is a whole
    one.
    """
    written = written_metadata(node.metadata)
    spans = node_spans(node, written)
    if node.source_node is None and "spans" not in written:
        return TextPlace()
    is_verbatim = sum(end - start for start, end in spans) == len(node.get_content(MetadataMode.NONE))
    return TextPlace(spans if is_verbatim else (), 0, written.get("start_line"))
