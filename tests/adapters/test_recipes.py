"""The recipes of the guide "Documents that change", over random histories: the index is like a new one after each
step."""

import ast
import os
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import StorageContext, load_index_from_storage
from llama_index.core.ingestion import DocstoreStrategy
from llama_index.core.vector_stores import SimpleVectorStore
from pydantic import PrivateAttr

from advchunk.models.static import StaticEmbedder
from llamaindex_advchunk import DefaultEmbedding
from test_readme import FENCE, ROOT

GUIDE = ROOT / "docs" / "guides" / "documents-that-change.md"
PARAGRAPHS = (
    "Captain Ahab hunts Moby Dick with Mr Starbuck on every sea.",
    "Mr Starbuck fears Moby Dick and warns Captain Ahab each night.",
    "Judge Judy fined Emil Egan and then heard Dora Dunn in court.",
    "Emil Egan sued Dora Dunn while Judge Judy was away on leave.",
    "# A heading\n\nDora Dunn paid Emil Egan in full for the green tea.",
    "Boil the water.",
)


@cache
def code_of_guide():
    """Return the code of the guide without its calls, in which only statements that set something up are left."""
    source = "".join(block["code"] for block in FENCE.finditer(GUIDE.read_text("utf-8")) if block["kind"] == "python")
    tree = ast.parse(source.replace("max_tokens=100", "max_tokens=14"))
    tree.body = [statement for statement in tree.body if not is_shown(statement)]
    return compile(tree, GUIDE, "exec")


def is_shown(statement):
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    return isinstance(called, ast.Name) or getattr(called, "attr", "") == "persist"


@contextmanager
def inside(folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


class Recipe:
    """A recipe of the guide in a folder of its own; a subclass says which, and what outlives the process."""

    update: str

    def __init__(self, folder, before=None):
        self.folder = folder
        self.shown = ModuleType("shown")
        sys.modules["shown"] = self.shown
        with inside(folder):
            exec(code_of_guide(), self.shown.__dict__)
            self.open(before)

    def open(self, before):
        """Take over what the former process has left, if there was one."""

    def save(self):
        """Leave to the next process what is in memory."""

    def restarted(self):
        with inside(self.folder):
            self.save()
        return type(self)(self.folder, self)

    def follow(self, texts, changed, removed):
        with inside(self.folder):
            getattr(self.shown, self.update)(texts)


class Notes(Recipe):
    update = "update_notes"

    def contents(self):
        with inside(self.folder), self.shown.notes._snapshot() as now:
            chunks, keys = [*now.chunks], [*now.keys]
            rows = [row for document in now.vectors.documents().values() for row in document.rows]
        entries = {
            chunk.id: (key, chunk.text, chunk.spans, chunk.metadata) for key, chunk in zip(keys, chunks, strict=True)
        }
        vectors = np.concatenate(rows) if rows else ()
        return {name: (entry, vector) for (name, entry), vector in zip(entries.items(), vectors, strict=True)}


class Store(Recipe):
    update, store = "update_store", "store"

    def open(self, before):
        if before is not None:
            setattr(self.shown, self.store, InMemoryVectorStore.load("store.json", self.shown.embeddings))

    def save(self):
        getattr(self.shown, self.store).dump("store.json")

    def contents(self):
        entries = getattr(self.shown, self.store).store
        return {key: ((entry["text"], entry["metadata"]), entry["vector"]) for key, entry in entries.items()}


class PartOfStore(Store):
    """Passes only documents that have changed."""

    def follow(self, texts, changed, removed):
        with inside(self.folder):
            self.shown.update_some(changed, removed)


class Corpus(Store):
    update, store = "update_corpus_store", "corpus_store"


class Nodes(SimpleVectorStore):
    """A vector store with the nodes, in which none may be twice, as on a server."""

    stores_text: bool = True
    _nodes: dict = PrivateAttr(default_factory=dict)

    def add(self, nodes, **_):
        assert self._nodes.keys().isdisjoint(node.node_id for node in nodes)
        assert len({node.node_id for node in nodes}) == len(nodes)
        self._nodes |= {node.node_id: node for node in nodes}
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id, **_):
        self._nodes = {name: node for name, node in self._nodes.items() if node.ref_doc_id != ref_doc_id}

    def delete_nodes(self, node_ids=None, filters=None, **_):
        self._nodes = {name: node for name, node in self._nodes.items() if name not in set(node_ids)}

    def contents(self):
        return {
            name: (node.model_copy(update={"embedding": None}).to_dict(), node.embedding)
            for name, node in self._nodes.items()
        }


class Pipeline(Recipe):
    update = "update_pipeline"
    disable_cache = True

    def open(self, before):
        self.shown.pipeline.vector_store = before.shown.pipeline.vector_store if before else Nodes()
        self.shown.pipeline.disable_cache = self.disable_cache
        if before is not None:
            self.shown.pipeline.load("pipeline")

    def save(self):
        self.shown.pipeline.persist("pipeline")

    def contents(self):
        return self.shown.pipeline.vector_store.contents()


class CachedPipeline(Pipeline):
    disable_cache = False


class PartOfPipeline(Pipeline):
    """Passes only documents that have changed."""

    def open(self, before):
        super().open(before)
        self.shown.pipeline.docstore_strategy = DocstoreStrategy.UPSERTS

    def follow(self, texts, changed, removed):
        super().follow(changed, changed, removed)
        for name in removed:
            self.shown.pipeline.docstore.delete_document(name)
            self.shown.pipeline.vector_store.delete(name)


class Index(Recipe):
    update, index = "update_index", "nodes_index"

    def open(self, before):
        if before is not None:
            storage = StorageContext.from_defaults(persist_dir="index")
            setattr(self.shown, self.index, load_index_from_storage(storage, embed_model=DefaultEmbedding()))

    def save(self):
        getattr(self.shown, self.index).storage_context.persist("index")

    def contents(self):
        index = getattr(self.shown, self.index)
        vectors, nodes = index.vector_store.data.embedding_dict, index.docstore.docs
        assert vectors.keys() == nodes.keys() == {*index.index_struct.nodes_dict.values()}
        in_documents = {name for info in index.docstore.get_all_ref_doc_info().values() for name in info.node_ids}
        assert in_documents == {name for name, node in nodes.items() if node.ref_doc_id}
        return {name: (node.to_dict(), vectors[name]) for name, node in nodes.items()}


class IndexWithText(Index):
    """Over a vector store that has the nodes, too."""

    def open(self, before):
        storage = before.storage if before else StorageContext.from_defaults(vector_store=Nodes())
        self.storage = storage
        index = self.shown.VectorStoreIndex([], storage_context=storage, embed_model=DefaultEmbedding())
        setattr(self.shown, self.index, index)

    def save(self):
        pass

    def contents(self):
        stored, nodes = self.storage.vector_store.contents(), self.storage.docstore.docs
        assert {name: entry for name, (entry, _) in stored.items()} == {name: n.to_dict() for name, n in nodes.items()}
        return stored


class CorpusIndex(Index):
    update, index = "update_corpus_index", "corpus_index"


RECIPES = [
    Notes,
    Store,
    PartOfStore,
    Corpus,
    Pipeline,
    CachedPipeline,
    PartOfPipeline,
    Index,
    IndexWithText,
    CorpusIndex,
]

names, places = st.sampled_from(["a.md", "b.md", "c.md"]), st.integers(0, 4)
steps = st.one_of(
    st.tuples(st.just("insert"), names, places, st.sampled_from(PARAGRAPHS)),
    st.tuples(st.just("insert"), names, st.just(0), st.sampled_from(PARAGRAPHS)),
    st.tuples(st.just("drop"), names, places),
    st.tuples(st.just("move"), names, names),
    st.tuples(st.just("rename"), names, names),
    st.tuples(st.sampled_from(["remove", "empty", "restart", "fail", "nothing"]), names),
)
histories = st.tuples(
    st.dictionaries(names, st.lists(st.sampled_from(PARAGRAPHS), max_size=5)), st.lists(steps, min_size=1, max_size=5)
)


def changed_by(step, documents):
    """Return documents, each a list of paragraphs by its name, after a step."""
    documents = {name: [*paragraphs] for name, paragraphs in documents.items()}
    kind, name, *rest = step
    if kind == "insert":
        documents.setdefault(name, []).insert(*rest)
    elif kind == "empty":
        documents[name] = []
    elif name in documents and kind == "drop":
        del documents[name][rest[0] : rest[0] + 1]
    elif name in documents and kind == "move":
        moved = documents[name][:2]
        del documents[name][:2]
        documents.setdefault(rest[0], []).extend(moved)
    elif name in documents and kind == "rename":
        documents[rest[0]] = documents.pop(name)
    elif kind == "remove":
        documents.pop(name, None)
    return documents


class Recorder:
    """Counts the calls of the embedded default by text, and lets one fail."""

    def __init__(self, monkeypatch):
        self.texts, self.fails = Counter(), False
        embed = StaticEmbedder.embed

        def recorded(embedder, texts):
            if self.fails and texts:
                self.fails = False
                msg = "the model is away"
                raise ConnectionError(msg)
            self.texts.update(set(texts))
            return embed(embedder, texts)

        monkeypatch.setattr(StaticEmbedder, "embed", recorded)


def same(contents, expected):
    assert {key: entry for key, (entry, _) in contents.items()} == {key: entry for key, (entry, _) in expected.items()}
    for key, (_, vector) in contents.items():
        np.testing.assert_allclose(vector, expected[key][1], atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*sunset:DeprecationWarning")
@pytest.mark.parametrize("kind", RECIPES, ids=lambda kind: kind.__name__)
@settings(max_examples=8)
@example(history=({}, [("insert", "a.md", 0, PARAGRAPHS[0]), ("drop", "a.md", 0), ("restart", "a.md")]))
@given(history=histories)
def test_an_index_follows_its_documents(kind, history):
    documents, steps = history
    with pytest.MonkeyPatch.context() as monkeypatch, TemporaryDirectory() as folder:
        recorder, new, before = Recorder(monkeypatch), count(), {}
        recipe = kind(make(folder, next(new)))
        for step in [("nothing", ""), *steps]:
            documents = changed_by(step, documents)
            texts = {name: "\n\n".join(paragraphs) for name, paragraphs in documents.items()}
            changed = {name: text for name, text in texts.items() if before.get(name) != text}
            if step[0] == "restart":
                recipe = recipe.restarted()
            if step[0] == "fail":
                recorder.fails = True
                with suppress(ConnectionError):
                    recipe.follow(texts, changed, before.keys() - texts.keys())
                recorder.fails = False
            recipe.follow(texts, changed, before.keys() - texts.keys())
            assert max(recorder.texts.values(), default=1) == 1  # no text is embedded again
            embedded = recorder.texts.copy()
            anew = kind(make(folder, next(new)))
            anew.follow(texts, texts, ())
            assert set(recorder.texts) <= set(embedded)  # and those of a new index have been
            recorder.texts = embedded
            same(recipe.contents(), anew.contents())
            before = texts


def make(folder, number):
    path = Path(folder) / str(number)
    path.mkdir()
    return path
