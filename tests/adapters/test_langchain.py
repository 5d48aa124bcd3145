"""What LangChain users rely on."""

import asyncio
import json
import pickle
import pydoc
from datetime import date
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import TextSplitter

import langchain_advchunk
import llamaindex_advchunk
from advchunk import BadModelOutput, Chunker, ConfigurationError, RecursiveChunker
from advchunk import Document as Source
from advchunk.models.static import default_embedder
from langchain_advchunk import (
    ChunkerSplitter,
    DefaultEmbeddings,
    GrobidSectionSplitter,
    LayoutAwareSplitter,
    MSTSemanticSplitter,
    RecursiveSplitter,
    chunk_key,
    chunk_spans,
    record_key,
)

TEXT = "A. x A. A. B. A. "
CATS_AND_LAWS = "Cats purr and nap all day.\n\nJudges sit in court.\n\nCats nap and cats purr."


class Recording(DefaultEmbeddings):
    """The embedded default; remembers which method was used."""

    model_name = None  # is not cached

    def __init__(self):
        self.used = []

    def embed_documents(self, texts):
        self.used.append("sync")
        return super().embed_documents(texts)

    async def aembed_documents(self, texts):
        self.used.append("async")
        return super().embed_documents(texts)


class Moody(Chunker):
    """Refuses what it does not like."""

    algorithm = "moody"

    def plan(self, document):
        if "bad" in document.text:
            raise BadModelOutput(*["no"])
        return (yield from RecursiveChunker().plan(document))


def test_metadata_is_flat_and_complete():
    source = Document(CATS_AND_LAWS, metadata={"k": [1]}, id="d")
    (first, *_) = MSTSemanticSplitter(n_segments=2).split_documents([source])
    assert first.metadata == {
        "k": [1], "start_line": 1, "end_line": 5, "chunk_index": 0, "token_count": 15, "level": 0, "start_index": 0, "end_index": 73,
        "spans": "0-28 50-73", "source_id": "d",
        "advchunk_keys": "start_line end_line chunk_index token_count level start_index end_index spans source_id",
    }  # fmt: skip
    assert "start_index" not in RecursiveSplitter(add_start_index=False).create_documents([TEXT])[0].metadata
    json.dumps(first.metadata)


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("splitter", [RecursiveSplitter, partial(MSTSemanticSplitter, contiguous=False)])
def test_spans_lead_to_the_text_of_a_chunk(splitter, context):
    text, users = "# Of cats\n\n" + CATS_AND_LAWS, {"title": "T", "spans": "the user's", "start_index": "the user's"}
    params = {"max_tokens": 20, "include_context": context}
    chunks = splitter(**params).split_documents([Document(text, metadata=users)])
    core = splitter(**params).core().chunk(Source(text, metadata=users))
    assert [chunk_spans(chunk) for chunk in chunks] == [chunk.spans for chunk in core]
    assert ["".join(text[a:b] for a, b in chunk_spans(chunk)) for chunk in chunks] == [chunk.text for chunk in core]
    assert any(chunk.page_content != piece.text for chunk, piece in zip(chunks, core, strict=True)) is context
    assert chunk_spans(Document(text, metadata=users)) == ()
    assert chunk_spans(splitter(add_start_index=False).split_documents([Document("One.")])[0]) == ()


def test_documents_are_read_one_by_one():
    read = []

    def documents():
        for name in ("a", "b", "c"):
            read.append(name)
            yield Document(f"Text {name}.", id=name)

    splitter = RecursiveSplitter()
    chunks = splitter.lazy_split_documents(documents())
    assert (next(chunks).page_content, read) == ("Text a.", ["a"])
    assert [chunk.page_content for chunk in chunks] == ["Text b.", "Text c."]
    expected = splitter.split_documents(list(documents()))
    assert splitter.split_documents(documents()) == splitter.transform_documents(documents()) == expected
    assert asyncio.run(splitter.atransform_documents(documents())) == expected
    assert list(MSTSemanticSplitter().lazy_split_documents(documents())) == expected


@pytest.mark.parametrize("name", [name for name in langchain_advchunk.__all__ if name.endswith("Splitter")])
def test_help_shows_our_parameters_alone(name):
    shown = pydoc.plain(pydoc.render_doc(getattr(langchain_advchunk, name)))
    assert "add_start_index :" in shown
    assert TextSplitter.__init__.__doc__.strip().partition("\n")[0] not in shown


def test_the_embedded_default_is_an_embeddings():
    model, texts = DefaultEmbeddings(), ["Cats purr.", "a \ud800"]
    assert isinstance(model, Embeddings)
    assert model.embed_documents(texts)[0] == default_embedder().embed(texts[:1])[0].tolist()
    assert asyncio.run(model.aembed_query("Cats purr.")) == model.embed_query("Cats purr.")
    assert len(model.embed_documents(texts)) == 2
    assert model.embed_documents([]) == []
    assert MSTSemanticSplitter(model).split_text(CATS_AND_LAWS) == MSTSemanticSplitter().split_text(CATS_AND_LAWS)
    assert pickle.loads(pickle.dumps(MSTSemanticSplitter(model))).core().fingerprint()


def test_async_uses_the_async_embedding_method_once_for_all_documents():
    model, documents = Recording(), [Document(CATS_AND_LAWS), Document("C c.\n\nD d.")]
    chunks = asyncio.run(MSTSemanticSplitter(model).atransform_documents(documents))
    assert model.used == ["async"]
    expected = MSTSemanticSplitter().split_documents(documents)
    assert chunks == MSTSemanticSplitter().transform_documents(documents) == expected


def test_a_key_needs_a_document_with_an_id():
    for key in (chunk_key, record_key):
        with pytest.raises(ConfigurationError, match=f"{key.__name__} needs documents with an id"):
            key(Document("x"))


def test_the_key_of_a_record_changes_with_all_that_a_store_has():
    chunk = Document("x", id="a", metadata={"start_index": 1, "source": "s", "on": date(2026, 1, 1)})
    others = [
        chunk.model_copy(update=values)
        for values in ({"id": "b"}, {"page_content": "y"}, {"metadata": {**chunk.metadata, "start_index": 2}})
    ]
    assert len({record_key(document) for document in (chunk, *others)}) == 4
    assert UUID(record_key(chunk)).version == 5
    turned = Document("x", id="a", metadata=dict(reversed(chunk.metadata.items())))
    assert record_key(turned) == record_key(chunk)


def test_chunk_size_and_overlap_are_other_names():
    splitter = RecursiveSplitter(chunk_size=9, chunk_overlap=2, length_function=len)
    assert (splitter.core().max_tokens, splitter.core().overlap_tokens) == (9, 2)
    assert max(map(len, splitter.split_text("word " * 20))) <= 9
    with pytest.raises(ValueError, match=r"max_tokens must be >= 1, got 0"):
        RecursiveSplitter(chunk_size=0)


def test_on_error_and_fallback():
    documents = [Document("fine"), Document("bad", id="b"), Document("good")]
    failures = []
    chunks = ChunkerSplitter(Moody(), on_error=failures.append).split_documents(documents)
    assert [d.page_content for d in chunks] == ["fine", "good"]
    assert [(f.index, f.source, str(f.error)) for f in failures] == [(1, "b", "no")]
    chunks = ChunkerSplitter(Moody(fallback=RecursiveChunker())).split_documents(documents)
    assert [d.metadata.get("chunker") for d in chunks] == [None, "recursive", None]
    with pytest.raises(BadModelOutput, match="no"):
        ChunkerSplitter(Moody()).split_documents(documents)
    with pytest.raises(ConfigurationError, match="on_error must be 'raise', 'skip' or a callable"):
        RecursiveSplitter(on_error="collect")


def test_show_progress(capsys):
    RecursiveSplitter(show_progress=True).create_documents(["a", "b"])
    assert "2/2" in capsys.readouterr().err
    RecursiveSplitter().create_documents(["a", "b"])
    assert capsys.readouterr().err == ""


def test_files_that_a_splitter_reads_its_own_way_are_left_to_it(tmp_path):
    page = tmp_path / "page.json"
    page.write_bytes((Path(__file__).parents[1] / "data" / "layoutparser_two_columns.json").read_bytes())
    chunks = LayoutAwareSplitter(inner=RecursiveChunker()).split_files([page])
    assert chunks[0].page_content.startswith("Tea and cats")
    assert (chunks[0].metadata["page"], chunks[0].metadata["source"]) == (1, str(page))
    note = tmp_path / "note.txt"
    note.write_text("<p>Green tea.", "utf-8")
    pieces = [RecursiveSplitter(markup=markup).split_files([note])[0].page_content for markup in ("markdown", "html")]
    assert pieces == ["<p>Green tea.", "Green tea."]  # the second goes by its content, not its name


def docling_loaders():
    return json.loads((Path(__file__).parents[1] / "data" / "docling_loaders.json").read_text(encoding="utf-8"))


def test_chunks_of_doclings_loader_are_split_under_their_headings():
    loaded = [Document(**data) for data in docling_loaders()["doc_chunks"]]
    first, second, *_, last = RecursiveSplitter(max_tokens=16).split_documents(loaded)
    assert first.page_content.startswith("Methods\nKinds of tea\n")
    assert second.metadata["title_path"] == "Methods > Kinds of tea"
    assert (first.metadata["page"], first.metadata["pages"]) == (1, "1 2")
    assert first.metadata["dl_meta"] == loaded[0].metadata["dl_meta"]
    assert (
        loaded[0].page_content[slice(first.metadata["start_index"], first.metadata["end_index"])] == first.page_content
    )
    assert "title_path" not in last.metadata


def test_pages_and_elements_of_loaders_are_split_together():
    path = Path(__file__).parents[1] / "data" / "parsers" / "loaders.json"
    loaded = {
        name: [Document(**part) for part in parts if "page_content" in part]
        for name, parts in json.loads(path.read_text(encoding="utf-8")).items()
    }
    splitter = RecursiveSplitter(max_tokens=40)
    [page] = splitter.split_parts(loaded["pypdf"])
    assert page.page_content == "Tea and sleep\nWe asked 120 sailors about tea.\n\nThey slept."
    assert (page.metadata["page"], page.metadata["pages"], page.metadata["total_pages"]) == (1, "1 2", 2)
    assert "page_label" not in page.metadata
    first, second, *_ = splitter.split_parts(loaded["unstructured"])
    assert (first.metadata["section"], first.metadata["page"]) == ("Tea and sleep", 1)
    assert second.metadata["title_path"] == "Tea and sleep > Results"
    assert "| green | 7.1 | 0.4 |" in second.page_content
    assert (first.metadata["start_index"], second.metadata["start_index"]) == (0, first.metadata["end_index"])
    for split in (splitter.split_documents, splitter.split_parts):
        chunks = split(loaded["azure"])
        assert [chunk.metadata["page"] for chunk in chunks] == sorted(chunk.metadata["page"] for chunk in chunks)
        assert not any("paragraphs" in chunk.metadata for chunk in chunks)  # else each has the whole result
    mixed = splitter.split_parts([*loaded["pypdf"], Document("Apart.", metadata={"source": "b"})])
    assert [chunk.metadata["source"] for chunk in mixed] == ["docs/tea.pdf", "b"]


def test_papers_pages_and_records_come_as_page_content():
    paper = "<TEI><text><body><div><head>Results</head><p>Weight fell.</p></div></body></text></TEI>"
    [chunks] = GrobidSectionSplitter().split_documents([Document(paper, metadata={"source": "a.xml"})])
    assert (chunks.page_content, chunks.metadata["imrad"]) == ("Results\n\nWeight fell.", "Results")
    assert "start_index" not in chunks.metadata  # for the text is not in what came in
    page = "<!doctype html><title>Tea</title><h1>Kinds</h1><p>Green tea."
    [chunks] = MSTSemanticSplitter(markup="auto").split_documents([Document(page)])
    assert (chunks.page_content, chunks.metadata["title_path"]) == ("Kinds\n\nGreen tea.", "Kinds")


def test_the_core_is_built_once_and_anew_after_a_change(monkeypatch):
    build, built = RecursiveSplitter._build_core, []
    monkeypatch.setattr(RecursiveSplitter, "_build_core", lambda self: built.append(self) or build(self))
    splitter = RecursiveSplitter(max_tokens=3)
    assert len(splitter.split_text("Tea is good. It is hot.")) > 1
    assert len(built) == 1
    splitter.max_tokens = 100
    assert splitter.split_text("Tea is good. It is hot.") == ["Tea is good. It is hot."]
    assert len(built) == 2


def test_records_of_files_have_an_id_that_lasts_and_compose_with_the_indexing_api(tmp_path):
    def write(name, *rows):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("a.jsonl", {"id": "x", "text": "Cats purr."}, {"text": "Dogs bark."})
    write("b.jsonl", {"id": "x", "text": "Cats purr."})
    (tmp_path / "c.md").write_text("Owls hoot.")
    ids = [f"{tmp_path}/a.jsonl:x", f"{tmp_path}/a.jsonl:2", f"{tmp_path}/b.jsonl:x", f"{tmp_path}/c.md"]
    split = partial(RecursiveSplitter().lazy_split_files, tmp_path)
    chunks = list(split())
    assert [chunk.metadata["source_id"] for chunk in chunks] == ids
    assert len({chunk.id for chunk in chunks}) == 4
    nodes = llamaindex_advchunk.RecursiveNodeParser().get_nodes_from_files(tmp_path)
    assert [node.ref_doc_id for node in nodes] == ids

    records, store = InMemoryRecordManager("n"), InMemoryVectorStore(DefaultEmbeddings())
    records.create_schema()
    options = {"cleanup": "full", "source_id_key": "source_id", "key_encoder": record_key}
    assert index(split(), records, store, **options)["num_added"] == 4
    assert index(split(), records, store, **options)["num_skipped"] == 4
    write("b.jsonl", {"id": "w", "text": "Bees hum."}, {"id": "x", "text": "Cats purr."})  # a line above moves a record
    assert list(split())[-2].metadata["source_id"] == ids[2]
    result = index(split(), records, store, **options)  # the source of the record has another line
    assert [result[name] for name in ("num_added", "num_deleted", "num_skipped")] == [2, 1, 3]
