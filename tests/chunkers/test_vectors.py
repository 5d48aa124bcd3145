"""Every chunker gives its chunks vectors, and so do chunks of anyone's splitter."""

import asyncio
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import ImageNode, IndexNode, MetadataMode, TextNode

import langchain_advchunk
import llamaindex_advchunk
from advchunk import (
    BiomedicalAbstractChunker,
    Chunk,
    ConfigurationError,
    Document,
    LLMChapteringChunker,
    MSTSemanticChunker,
    OptimalSemanticChunker,
    RecursiveChunker,
    Span,
    UniversalSemanticChunker,
    create,
)
from advchunk.chunkers.vectors import aadd_vectors, add_vectors
from advchunk.models.signals import unit_rows
from advchunk.models.static import default_embedder
from front_ends import adapter
from langchain_advchunk import vectors_for as langchain_vectors_for
from llamaindex_advchunk import vectors_for as llamaindex_vectors_for
from stand_ins import STAND_INS

TEXT = "Cats purr. Cats nap all day. A cat eats fish.\n\nJudges sit in court. Courts rule. A judge ruled.\n\n" * 3
KINDS = ("plain", "context", "units")


def same_vectors(some, others):
    return [(c.text, c.spans) for c in some] == [(c.text, c.spans) for c in others] and all(
        np.allclose(a.vector, b.vector, atol=1e-6)
        and ((a.rows is None and b.rows is None) or np.allclose(a.rows, b.rows, atol=1e-6))
        and (a.row_spans, a.row_texts) == (b.row_spans, b.row_texts)
        for a, b in zip(some, others, strict=True)
    )


# Every chunker.


@pytest.mark.parametrize("kind", KINDS)
def test_every_chunker_gives_vectors_and_the_same_chunks(name, kind, unwalled):
    params = {"experimental": True, "max_tokens": 20, **STAND_INS.get(name, {}), **unwalled}
    plain, chunks = (create(name, **params, vectors=v).chunk(TEXT) for v in ("none", kind))
    assert chunks == plain
    assert [chunk.vector for chunk in plain] == [None] * len(plain)
    assert all(np.linalg.norm(chunk.vector) == pytest.approx(1, abs=1e-5) for chunk in chunks)
    assert all((chunk.rows is not None) == (kind == "units" and chunk.text != "") for chunk in chunks)
    (added,) = add_vectors([plain], kind, documents=[TEXT])
    assert np.allclose([c.vector for c in added], [c.vector for c in chunks], atol=1e-6)


def test_the_front_ends_give_the_same_vectors(name, unwalled):
    params = {"max_tokens": 20, **STAND_INS.get(name, {}), **unwalled}
    chunks = create(name, **params, experimental=True, vectors="context").chunk(Document(TEXT, "a"))
    splitter = adapter(name, langchain_advchunk, "Splitter")(**params)
    documents = [LangChainDocument(TEXT, id="a")]
    pieces, _, embeddings = langchain_vectors_for(splitter.split_documents(documents), "context", None, documents)
    assert pieces == splitter.split_documents(documents)
    served = embeddings.embed_documents([piece.page_content for piece in pieces])
    assert served == [chunk.vector.tolist() for chunk in chunks]
    parser = adapter(name, llamaindex_advchunk, "NodeParser")
    document = LlamaIndexDocument(text=TEXT, id_="a")
    nodes = parser(**params, vectors="context").get_nodes_from_documents([document])
    assert [node.embedding for node in nodes] == served
    bare = [node.model_copy(update={"embedding": None}).to_dict() for node in nodes]
    assert bare == [node.to_dict() for node in parser(**params).get_nodes_from_documents([document])]


def test_a_chunker_that_embeds_nothing_loads_no_model(monkeypatch):
    def fail(*args):
        raise AssertionError(args)

    monkeypatch.setattr("advchunk.models.embedders.default_embedder", fail)
    monkeypatch.setattr("advchunk.models.embedders.named_embedder", fail)
    chunker = RecursiveChunker(embedder="minilm")
    chunker.load()
    assert chunker.chunk("One. Two.")[0].vector is None
    with pytest.raises(AssertionError, match="minilm"):
        replace(chunker, vectors="plain").chunk("One. Two.")


def test_only_a_used_embedder_changes_the_fingerprint():
    unused = RecursiveChunker(embedder="minilm", cache={}, batch_size=3)
    prints = {RecursiveChunker().fingerprint(), unused.fingerprint()}
    # That of releases before every chunker had vectors.
    assert len(prints) == 1
    used = {RecursiveChunker(vectors=kind, embedder=e).fingerprint() for kind in KINDS for e in (None, "minilm")}
    assert len(used | prints) == 7
    assert OptimalSemanticChunker(embedder="minilm").fingerprint() != OptimalSemanticChunker().fingerprint()


def test_bad_settings_are_refused_at_once():
    with pytest.raises(ConfigurationError, match="vectors must be one of"):
        RecursiveChunker(vectors="mixed")
    with pytest.raises(ConfigurationError, match="batch_size must be a whole number >= 1"):
        RecursiveChunker(batch_size=0)
    with pytest.raises(ConfigurationError, match="an embedder must be"):
        RecursiveChunker(embedder=3)
    with pytest.raises(ConfigurationError, match="a cache must be"):
        RecursiveChunker(cache=3, vectors="plain")


def test_a_cache_keeps_the_vectors_of_any_chunker():
    class Asked:
        model_name = "asked"
        texts = 0

        def embed(self, texts):
            self.texts += len(texts)
            return default_embedder().embed(texts)

    embedder, cache = Asked(), {}
    chunker = RecursiveChunker(max_tokens=20, vectors="units", embedder=embedder, cache=cache)
    first, second = chunker.chunk(TEXT), replace(chunker).chunk(TEXT)
    assert same_vectors(first, second)
    assert embedder.texts == len(cache)


# Fallbacks.


def answers_nonsense(_):
    return "no headings"


@pytest.mark.parametrize("kind", KINDS)
def test_the_chunks_of_a_fallback_have_the_vectors_of_the_failed_chunkers_embedder(kind):
    def embed(texts):
        return unit_rows(np.array([[len(text), text.count("a") + 1, 3.0] for text in texts]))

    fallback = RecursiveChunker(max_tokens=20)
    failing = LLMChapteringChunker(llm=answers_nonsense, fallback=fallback, vectors=kind, embedder=embed)
    chunks = failing.chunk(TEXT)
    assert {chunk.metadata["fallback_from"] for chunk in chunks} == {"llm-chaptering"}
    assert same_vectors(chunks, replace(fallback, vectors=kind, embedder=embed).chunk(TEXT))
    through = replace(failing, fallback=replace(failing, fallback=fallback, vectors="none"))
    assert same_vectors(chunks, through.chunk(TEXT))
    auto = replace(failing, fallback="auto").chunk(TEXT)
    assert {chunk.vector.shape for chunk in auto} == {(3,)}
    own = replace(failing, vectors="none", fallback=replace(fallback, vectors="plain")).chunk(TEXT)
    assert {chunk.vector.shape for chunk in own} == {(256,)}


def test_a_document_whose_vectors_cannot_be_had_fails_and_the_others_do_not():
    def refuses(texts):
        if any("Judges" in text for text in texts):
            raise RuntimeError(texts[0])
        return default_embedder().embed(texts)

    chunker = UniversalSemanticChunker(vectors="context", embedder=refuses, fallback=RecursiveChunker())
    results = chunker.chunk_many(["Cats purr. Cats nap.", TEXT], on_error="collect")
    assert [len(chunks) for chunks in results] == [1, 0]
    assert [type(failure.error) for failure in results.failures] == [RuntimeError]


def test_a_chunk_of_context_alone_has_a_vector_and_no_rows():
    for kind in (*KINDS, "late"):
        embedder = TOKENS if kind == "late" else None
        chunker = BiomedicalAbstractChunker(vectors=kind, embedder=embedder)
        (chunk,) = chunker.chunk(Document("", metadata={"title": "Tea and sleep"}))
        assert chunk.vector == pytest.approx(chunker.load() or as_rows(embedder, chunk.embed_text), abs=1e-6)
        assert chunk.rows is None


def as_rows(embedder, text):
    return (embedder or default_embedder()).embed([text])[0]


# Chunks of anyone.


def overlapping(text, size=30, step=20):
    spans = [Span(a, min(a + size, len(text))) for a in range(0, len(text), step)]
    return [Chunk(text[slice(*span)], (span,), 0) for span in spans]


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_anyone_get_the_vectors_of_ours(kind):
    for chunker in (RecursiveChunker(max_tokens=30, overlap_tokens=8), MSTSemanticChunker(n_segments=3, max_tokens=60)):
        ours, other = (
            replace(chunker, vectors=kind).chunk(text) for text in (TEXT, "# Title\n\nSome. More.\n\n- a\n- b")
        )
        bare = [chunker.chunk(TEXT), [], chunker.chunk("# Title\n\nSome. More.\n\n- a\n- b")]
        texts = [TEXT, "", "# Title\n\nSome. More.\n\n- a\n- b"]
        for documents in (texts, [Document(text) for text in texts], None):
            added = add_vectors(bare, kind, documents=documents)
            assert added == bare
            assert same_vectors(added[0], ours)
            assert added[1] == []
            assert same_vectors(added[2], other)
        awaited = asyncio.run(aadd_vectors(bare, kind, documents=texts, concurrency=2))
        assert same_vectors(awaited[0], ours)


@given(st.text("ab. \n", min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 20))
def test_rows_are_sentences_with_exact_spans_with_and_without_the_document(text, size, step):
    chunks = overlapping(text, size, step)
    for documents in (None, [text]):
        (added,) = add_vectors([chunks], "units", documents=documents)
        for chunk in added:
            for span, sentence in zip(chunk.row_spans, chunk.row_texts, strict=True):
                expected = text[span.start : span.end]
                assert sentence == expected if documents else len(sentence) == len(expected)
            assert chunk.rows is None or len(chunk.rows) == len(chunk.row_spans) > 0


def test_without_the_document_sentences_end_where_no_chunk_knows_the_text():
    chunks = [Chunk("One two", (Span(0, 7),), 2), Chunk("five. Six.", (Span(20, 30),), 4)]
    (added,) = add_vectors([chunks], "units")
    assert [[text.strip() for text in chunk.row_texts] for chunk in added] == [["One two"], ["five.", "Six."]]
    assert added[1].row_spans == (Span(20, 26), Span(26, 30))


@pytest.mark.parametrize(
    ("chunks", "documents", "rule"),
    [
        ([[]], [], "documents must be as many as the sequences of chunks, 1, or None, got 0"),
        ([[Chunk("a", (Span(0, 1),), 1)]], ["b"], "chunks must be the text of their spans in the document"),
        ([[Chunk("a", (Span(0, 2),), 1)]], None, "chunks must be as long as their spans"),
    ],
)
def test_chunks_that_do_not_fit_are_refused(chunks, documents, rule):
    with pytest.raises(ConfigurationError, match=rule):
        add_vectors(chunks, documents=documents)
    with pytest.raises(ConfigurationError, match="kind must be one of"):
        add_vectors(chunks, "mixed")


# Late chunking.


class Letters:
    """Shows token vectors: a token is a letter, whose vector depends on how far the other letters in its window are."""

    model_name = "letters"

    def __init__(self, max_tokens=None):
        self.max_tokens, self.windows = max_tokens, []

    def tokenize(self, text):
        places = [i for i, character in enumerate(text) if not character.isspace()]
        return [ord(text[i]) for i in places], [(i, i + 1) for i in places]

    def embed_tokens(self, windows):
        self.windows += windows
        return [[self.vector(window, i) for i in range(len(window))] for window in windows]

    def vector(self, window, i):
        vector = np.zeros(8)
        for j, letter in enumerate(window):
            vector[letter % 8] += 0.5 ** abs(i - j)
        return vector

    def embed(self, texts):
        tokens = [self.tokenize(text)[0] for text in texts]
        rows = [sum((self.vector(window, i) for i in range(len(window))), np.zeros(8)) for window in tokens]
        return unit_rows(np.array(rows))


TOKENS = Letters()


def late_by_hand(chunks, text, model):
    """Return the vectors of chunks, token by token."""
    places = [i for i, character in enumerate(text) if not character.isspace()]
    size = min(model.max_tokens or len(places), len(places))
    n = 1 + int(np.ceil((len(places) - size) / max(size // 2, 1)))
    starts = [i * (len(places) - size) // max(n - 1, 1) for i in range(n)]
    vectors = {}
    for i, place in enumerate(places):
        best = min(starts, key=lambda start: abs(i - (start + (size - 1) / 2)))
        window = [ord(text[p]) for p in places[best : best + size]]
        vectors[place] = model.vector(window, i - best)
    rows = []
    for chunk in chunks:
        own = [vectors[i] for span in chunk.spans for i in range(*span) if i in vectors]
        rows.append(np.mean(own, axis=0) if own else model.embed([chunk.embed_text])[0])
    return unit_rows(np.array(rows))


@given(
    st.text("abcdefgh. \n", max_size=80),
    st.sampled_from([None, 1, 2, 3, 5, 8, 13]),
    st.integers(1, 30),
    st.integers(1, 30),
)
def test_late_vectors_are_means_over_tokens_from_their_most_central_window(text, window, size, step):
    model = Letters(window)
    chunks = overlapping(text, size, step)
    (added,) = add_vectors([chunks], "late", model, documents=[text])
    if chunks:
        assert np.array([c.vector for c in added]) == pytest.approx(late_by_hand(chunks, text, model), abs=1e-5)
    assert all(0 < len(some) <= (window or len(text)) for some in model.windows)


def test_chunkers_pool_tokens_too():
    chunker = RecursiveChunker(max_tokens=20, vectors="late", embedder=Letters(40), language="en")
    chunks = chunker.chunk(TEXT)
    assert chunks == RecursiveChunker(max_tokens=20).chunk(TEXT)
    assert np.array([c.vector for c in chunks]) == pytest.approx(late_by_hand(chunks, TEXT, Letters(40)), abs=1e-5)
    (awaited,) = asyncio.run(chunker.achunk_many([TEXT]))
    assert same_vectors(awaited, chunks)
    assert same_vectors(pickle.loads(pickle.dumps(chunker)).chunk(TEXT), chunks)
    grouped = MSTSemanticChunker(n_segments=2, granularity="paragraph").chunk(TEXT)
    assert len(grouped[0].spans) == 3
    (passages,) = add_vectors([grouped], "late", TOKENS)
    assert np.array([c.vector for c in passages]) == pytest.approx(late_by_hand(passages, TEXT, TOKENS), abs=1e-5)


@pytest.mark.parametrize("embedder", [None, lambda texts: np.eye(len(texts))])
def test_an_embedder_without_token_vectors_is_refused_and_what_is_needed_named(embedder):
    with pytest.raises(ConfigurationError, match="late vectors need an embedder that shows token vectors: a Sentence"):
        RecursiveChunker(vectors="late", embedder=embedder)
    with pytest.raises(ConfigurationError, match="late vectors need"):
        add_vectors([[]], "late", embedder)


class Together:
    """Reads the chunks of a document together: the vector of each is its own plus a part of those of all."""

    model_name = "together"

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        return TOKENS.embed(texts)

    def embed_document(self, texts):
        self.asked.append(texts)
        rows = self.embed(texts)
        return rows + rows.mean(axis=0) / 2


def test_a_model_that_reads_chunks_together_is_asked_once_for_each_document():
    model, texts = Together(), ["One cat. Two cats. Some tea.", "Law.", ""]
    groups = RecursiveChunker(max_tokens=3, vectors="late", embedder=model).chunk_many(texts)
    assert model.asked == [[chunk.embed_text for chunk in chunks] for chunks in groups if chunks]
    for chunks in filter(None, groups):
        rows = TOKENS.embed([chunk.embed_text for chunk in chunks])
        expected = unit_rows(rows + rows.mean(axis=0) / 2)
        assert np.array([chunk.vector for chunk in chunks]) == pytest.approx(expected, abs=1e-6)
    plain = RecursiveChunker(max_tokens=3).chunk_many(texts)
    (again,) = asyncio.run(aadd_vectors(plain[:1], "late", model, documents=texts[:1]))
    assert np.array([chunk.vector for chunk in again]) == pytest.approx(np.array([chunk.vector for chunk in groups[0]]))


@pytest.mark.parametrize(
    ("model", "method", "answer", "rule"),
    [
        (Letters, "tokenize", ([1, 2], [(0, 1)]), "tokenize must return ids and as many ascending offsets"),
        (Letters, "tokenize", ([1, 2], [(0, 3), (1, 2)]), "ascending offsets"),
        (Letters, "tokenize", ([1], [(0, 999)]), "ascending offsets within 9 characters"),
        (Letters, "embed_tokens", [[[1.0, 2.0]]], r"embed_tokens must return finite \(t, d\) vectors"),
        (Letters, "embed_tokens", [[[np.nan]] * 8], "embed_tokens must return finite"),
        (Together, "embed_document", [[1.0, 2.0]], r"embed_document must return finite \(n, d\) vectors"),
        (Together, "embed_document", [[np.nan]] * 2, "embed_document must return finite"),
        (Together, "embed_document", [1.0, 2.0], "for documents of n chunks"),
    ],
)
def test_bad_answers_of_models_are_refused(model, method, answer, rule):
    model = model()
    setattr(model, method, lambda _: answer)
    with pytest.raises(ValueError, match=rule):
        RecursiveChunker(max_tokens=3, vectors="late", embedder=model).chunk("One. Two.")


# LangChain and LlamaIndex.

GUIDE = (
    "# Tea\n\nGreen tea is made of leaves. It is drunk hot.\n\nBlack tea is oxidized. It is drunk with milk.\n\n" * 3
)
PAGES = [
    LangChainDocument(GUIDE, id="a", metadata={"source": "guide.md"}),
    LangChainDocument(TEXT, id="b", metadata={"source": "text.md"}),
]


def as_chunks(pieces):
    """Return pieces of LangChain, with their ``start_index``, as chunks."""
    starts = [piece.metadata["start_index"] for piece in pieces]
    return [Chunk(p.page_content, (Span(a, a + len(p.page_content)),), 0) for a, p in zip(starts, pieces, strict=True)]


@pytest.mark.parametrize("with_documents", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, "late"])
def test_chunks_of_langchains_splitters_get_vectors(kind, with_documents):
    embedder = TOKENS if kind == "late" else None
    splitter = RecursiveCharacterTextSplitter(chunk_size=60, chunk_overlap=25, add_start_index=True)
    pieces = splitter.split_documents(PAGES)
    given_documents = PAGES if with_documents else None
    chunks, rows, embeddings = langchain_vectors_for(pieces, kind, embedder, given_documents)
    assert [(c.page_content, c.metadata) for c in chunks] == [(p.page_content, p.metadata) for p in pieces]
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    texts = [page.page_content for page in PAGES]
    by_page = [[p for p in pieces if p.metadata["source"] == page.metadata["source"]] for page in PAGES]
    bare = [as_chunks(some) for some in by_page]
    added = [
        c for some in add_vectors(bare, kind, embedder, documents=(with_documents and texts) or None) for c in some
    ]
    served = embeddings.embed_documents([row.page_content for row in rows])
    if kind == "units":
        assert served == [row.tolist() for chunk in added for row in chunk.rows]
        assert [row.metadata["doc_id"] for row in rows] == [
            chunk.id for chunk, own in zip(chunks, added, strict=True) for _ in own.rows
        ]
        text_of = dict(zip(("guide.md", "text.md"), texts, strict=True))
        for row in rows:
            start, end = row.metadata["start_index"], row.metadata["end_index"]
            expected = text_of[row.metadata["source"]][start:end]
            assert row.page_content == expected if with_documents else row.page_content.split() == expected.split()
        assert len({row.id for row in rows}) == len(rows)
    else:
        assert rows == chunks
        assert served == [chunk.vector.tolist() for chunk in added]
    plain = (embedder or default_embedder()).embed(["black tea"])[0]
    assert embeddings.embed_query("black tea") == pytest.approx(plain.tolist(), abs=1e-6)
    store = InMemoryVectorStore.from_documents(rows, embeddings)
    assert len(store.similarity_search("black tea", k=3)) == 3


def test_langchains_chunks_are_located_without_a_start_index():
    options = {"chunk_size": 60, "chunk_overlap": 25}
    without, exact = (
        RecursiveCharacterTextSplitter(**options, add_start_index=a).split_documents(PAGES) for a in (0, 1)
    )
    for kind in KINDS:
        searched, exact_ones = (langchain_vectors_for(pieces, kind, None, PAGES) for pieces in (without, exact))
        assert [row.page_content for row in searched[1]] == [row.page_content for row in exact_ones[1]]
        texts = [row.page_content for row in searched[1]]
        assert searched[2].embed_documents(texts) == exact_ones[2].embed_documents(texts)
        starts = [[row.metadata.get("start_index") for row in rows] for _, rows, _ in (searched, exact_ones)]
        assert starts[0] == (starts[1] if kind == "units" else [None] * len(texts))
    _, rows, _ = langchain_vectors_for(without, "units")
    assert not any({"start_index", "end_index"} & row.metadata.keys() for row in rows)


def test_langchains_chunks_of_alike_documents_are_told_apart():
    pages = [LangChainDocument(text) for text in ("Yes. Cats nap. No.", "Yes.", "No. Cats nap.", "Cats nap.")]
    pieces = [LangChainDocument(text) for text in ("Yes.", "Cats nap.", "No.", "Yes.", "No.", "Cats nap.", "Cats nap.")]
    chunks, _, embeddings = langchain_vectors_for(pieces, "context", None, pages)
    texts = [["Yes.", "Cats nap.", "No."], ["Yes."], ["No.", "Cats nap."], ["Cats nap."]]
    starts = [[0, 5, 15], [0], [0, 4], [0]]
    groups = list(zip(texts, starts, strict=True))
    own = [[Chunk(t, (Span(a, a + len(t)),), 0) for t, a in zip(*group, strict=True)] for group in groups]
    expected = [chunk.vector.tolist() for some in add_vectors(own, "context") for chunk in some]
    assert embeddings.embed_documents([chunk.page_content for chunk in chunks]) == expected
    starting = [
        LangChainDocument(t, metadata={"start_index": a}) for group in zip(texts, starts, strict=True)
        for t, a in zip(*group, strict=True)
    ]  # fmt: skip
    for documents in (None, pages):
        _, _, embeddings = langchain_vectors_for(starting, "context", None, documents)
        assert embeddings.embed_documents([chunk.page_content for chunk in starting]) == expected


def test_langchains_chunks_that_are_not_in_the_documents_are_refused():
    with pytest.raises(ConfigurationError, match=r"chunks must be parts of the documents, in order, got 'Milk\.'"):
        langchain_vectors_for([LangChainDocument("Milk.")], "plain", None, PAGES)
    other = LangChainDocument("Green tea", metadata={"source": "other.md"})
    with pytest.raises(ConfigurationError, match="chunks must be parts of the documents, in order, got 'Green tea'"):
        langchain_vectors_for([other], "plain", None, PAGES)
    with pytest.raises(ConfigurationError, match="id_key must not be a key of the documents' own metadata"):
        langchain_vectors_for(PAGES, id_key="source")
    assert langchain_vectors_for([], "units", None, [])[:2] == ([], [])


def llama_documents():
    return [LlamaIndexDocument(text=page.page_content, id_=page.id, metadata=page.metadata) for page in PAGES]


@pytest.mark.parametrize("with_documents", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, "late"])
def test_nodes_of_llama_indexes_parsers_get_vectors(kind, with_documents):
    embedder = TOKENS if kind == "late" else None
    documents = llama_documents()
    nodes = SentenceSplitter(chunk_size=40, chunk_overlap=15, include_metadata=False)(documents)
    before = [node.to_dict() for node in nodes]
    embedded = llamaindex_vectors_for(nodes, kind, embedder, documents if with_documents else None)
    assert [node.to_dict() for node in nodes] == before
    chunks = [
        [
            Chunk(n.text, (Span(n.start_char_idx, n.end_char_idx),), 0, context=n.get_metadata_str(MetadataMode.EMBED))
            for n in nodes
            if n.ref_doc_id == document.node_id
        ]
        for document in documents
    ]
    texts = [document.text for document in documents] if with_documents else None
    added = [chunk for some in add_vectors(chunks, kind, embedder, documents=texts) for chunk in some]
    if kind == "units":
        assert all(isinstance(node, IndexNode) for node in embedded)
        assert [node.embedding for node in embedded] == [row.tolist() for chunk in added for row in chunk.rows]
        text_of = {document.node_id: document.text for document in documents}
        expected = [text_of[node.ref_doc_id][node.start_char_idx : node.end_char_idx] for node in embedded]
        assert [node.text.split() for node in embedded] == [text.split() for text in expected]
        assert list(dict.fromkeys(node.index_id for node in embedded)) == [node.node_id for node in nodes]
    else:
        assert [node.embedding for node in embedded] == [chunk.vector.tolist() for chunk in added]
        assert [{**node.to_dict(), "embedding": None} for node in embedded] == before
    if kind == "plain":  # exactly what the index would have embedded
        contents = [node.get_content(MetadataMode.EMBED) for node in nodes]
        own = default_embedder().embed(contents)
        assert np.array([node.embedding for node in embedded]) == pytest.approx(own, abs=1e-6)


def test_llama_indexes_nodes_are_located_without_offsets_and_found():
    documents = llama_documents()
    nodes = SentenceSplitter(chunk_size=40, chunk_overlap=15, include_metadata=False)(documents)
    bare = [node.model_copy(update={"start_char_idx": None, "end_char_idx": None}) for node in nodes]
    exact, searched = (llamaindex_vectors_for(some, "units", None, documents) for some in (nodes, bare))
    assert [node.embedding for node in searched] == [node.embedding for node in exact]
    assert [node.start_char_idx for node in searched] == [node.start_char_idx for node in exact]
    assert {node.start_char_idx for node in llamaindex_vectors_for(bare, "units")} == {None}
    index = VectorStoreIndex(searched, embed_model=llamaindex_advchunk.DefaultEmbedding())
    results = index.as_retriever(similarity_top_k=9).retrieve("black tea with milk")
    assert "milk" in results[0].node.text
    assert {result.node.node_id for result in results} <= {node.node_id for node in nodes}


def test_nodes_without_text_pass_and_foreign_ones_are_refused():
    documents = llama_documents()
    image, blank = ImageNode(image="x"), TextNode(text=" ")
    assert llamaindex_vectors_for([image, blank], "plain", None, documents) == [image, blank]
    with pytest.raises(ConfigurationError, match="documents must have the source of each node"):
        llamaindex_vectors_for([TextNode(text="Tea.")], "plain", None, documents)
    (node, *_) = SentenceSplitter()(documents)
    node.text = "Milk."
    with pytest.raises(ConfigurationError, match=r"nodes must be parts of their document, in order, got 'Milk\.'"):
        llamaindex_vectors_for([node], "plain", None, documents)
