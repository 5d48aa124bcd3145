"""One interface to all three front ends, for tests that compare them; each framework is imported when it is used."""

from typing import NamedTuple

import pytest

from advchunk import Document, names
from advchunk.chunkers.catalog import chunker_class
from advchunk.records import with_context
from algorithms import ALGORITHMS
from stand_ins import STAND_INS


class Tiling(str):
    """The name of a chunker, and one of its levels: the chunks of each level tile the text.

    The chunks of a corpus that tile its texts are those of its documents, at any level.
    """

    level = 0

    def at(self, level):
        """Return the name with a level."""
        tiling = Tiling(self)
        tiling.level = level
        return tiling

    def chunks(self, chunks):
        """Return those of the chunks that are at the level."""
        return leaves(chunks) if ALGORITHMS[self].corpus else [chunk for chunk in chunks if chunk.level == self.level]


def leaves(chunks):
    """Return the chunks that have a text, without the summaries of a corpus."""
    return [chunk for chunk in chunks if chunk.spans]


def numbered(name, results):
    """Return the lists of chunks that ``index`` and ``parent`` number: those of each document, or of all for a
    corpus."""
    return [[chunk for chunks in results for chunk in chunks]] if ALGORITHMS[name].corpus else results


def tilings():
    """Yield the name of each chunker with each of its levels."""
    for name in names():
        for level in range(levels := ALGORITHMS[name].levels):
            yield pytest.param(Tiling(name).at(level), id=f"{name}-{level}" if levels > 1 else name)


every_chunker = pytest.mark.parametrize("name", names())  # once, whatever its levels


def possible(name, params):
    """Return parameters without overlap for a chunker of several levels, whose chunks cover their parents exactly."""
    return (
        {**params, "overlap_tokens": min(params.get("overlap_tokens", 0), 0)} if ALGORITHMS[name].levels > 1 else params
    )


class Piece(NamedTuple):
    """A chunk in a common format for all front ends."""

    text: str
    spans: tuple
    tokens: int
    id: str
    level: int
    parent: str | None
    context: str

    @property
    def embed_text(self):
        return with_context(self.context, self.text)


def spans_of(metadata, start, end):
    flat = metadata.get("spans", f"{start}-{end}")
    return tuple(tuple(map(int, span.split("-"))) for span in flat.split())


def adapter(name, package, suffix):
    return getattr(package, chunker_class(name).__name__.removesuffix("Chunker") + suffix)


def classes(name):
    """Return the class of a chunker, its splitter, and its node parser."""
    import langchain_advchunk
    import llamaindex_advchunk

    splitter = adapter(name, langchain_advchunk, "Splitter")
    return chunker_class(name), splitter, adapter(name, llamaindex_advchunk, "NodeParser")


def core(name, texts, tokenizer=None, **params):
    documents = [Document(text, str(i)) for i, text in enumerate(texts)]
    results = chunker_class(name)(
        tokenizer=tokenizer, **{**STAND_INS.get(name, {}), **possible(name, params)}
    ).chunk_many(documents)
    return [
        Piece(c.text, c.spans, c.tokens, c.id, c.level, None if c.parent is None else chunks[c.parent].id, c.context)
        for chunks in numbered(name, results)
        for c in chunks
    ]


def langchain(name, texts, tokenizer=None, **params):
    from langchain_core.documents import Document as LangChainDocument

    import langchain_advchunk

    splitter = adapter(name, langchain_advchunk, "Splitter")(
        length_function=tokenizer, **{**STAND_INS.get(name, {}), **possible(name, params)}
    )
    documents = splitter.split_documents([LangChainDocument(text, id=str(i)) for i, text in enumerate(texts)])
    return [langchain_piece(document, texts) for document in documents]


def langchain_piece(document, texts):
    metadata = document.metadata
    spans = spans_of(metadata, metadata["start_index"], metadata["end_index"]) if "start_index" in metadata else ()
    text = "".join(texts[int(metadata["source_id"])][start:end] for start, end in spans)
    assert document.page_content.endswith(text)  # after its context
    context = document.page_content.removesuffix(text)
    assert context == "" or text == "" or context.endswith("\n\n")
    count, level, parent = metadata["token_count"], metadata["level"], metadata.get("parent_id")
    return Piece(text, spans, count, document.id, level, parent, context[:-2] if text else context)


def llamaindex(name, texts, tokenizer=None, **params):
    from llama_index.core import Document as LlamaIndexDocument

    import llamaindex_advchunk

    parser = adapter(name, llamaindex_advchunk, "NodeParser")(
        tokenizer=tokenizer, **{**STAND_INS.get(name, {}), **possible(name, params)}
    )
    nodes = parser.get_nodes_from_documents([LlamaIndexDocument(text=text, id_=str(i)) for i, text in enumerate(texts)])
    return [llamaindex_piece(node) for node in nodes]


def llamaindex_piece(node):
    metadata, start = node.metadata, node.start_char_idx
    spans = () if start is None else spans_of(metadata, start, node.end_char_idx)
    parent, context = getattr(node.parent_node, "node_id", None), metadata.get("context", "")
    return Piece(node.text, spans, metadata["token_count"], node.node_id, metadata["level"], parent, context)


FRONT_ENDS = {"core": core, "langchain": langchain, "llamaindex": llamaindex}
