"""The contract of experimental chunkers: they are gated, and a stable chunker replaces them where they fail."""

import asyncio
import logging
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from advchunk import (
    ConfigurationError,
    Document,
    NotConverged,
    OptimalSemanticChunker,
    RecursiveChunker,
    create,
    describe,
    names,
    settings,
)
from advchunk.chunkers import catalog
from advchunk.chunkers.catalog import cuts_by_embeddings, required_model
from advchunk.evaluation import boundary_scores, candidate, synthetic
from algorithms import ALGORITHMS
from front_ends import classes, every_chunker, leaves
from servers import LONG
from stand_ins import STAND_INS

FINDERS = [
    name for name in names("experimental") if not ALGORITHMS[name].corpus and ALGORITHMS[name].planted is not None
]
TEXT = "Cats purr. Cats nap all day.\n\nJudges sit in court. Courts rule on law.\n\n" * 4


@pytest.fixture(params=names("experimental"))
def name(request):
    return request.param


@pytest.fixture
def failing(name, monkeypatch):
    """Return a function that builds a chunker which runs ``act`` for each document."""

    def build(act, **params):
        def decide(*_):
            return act()
            yield

        monkeypatch.setattr(catalog.chunker_class(name), "decide", decide)
        return create(name, experimental=True, **{**STAND_INS.get(name, {}), **params})

    return build


def of_documents(pieces):
    """Return the metadata of the chunks of documents, without that of summaries of a corpus."""
    return [piece.metadata for piece in pieces if "sources" not in piece.metadata]


def give_up():
    msg = "17 rounds, and no end"
    raise NotConverged(msg)


def test_it_is_gated_and_described_as_experimental(name, monkeypatch):
    monkeypatch.delenv("ADVCHUNK_EXPERIMENTAL", raising=False)
    with pytest.raises(ConfigurationError, match=f"{name} is experimental: pass experimental=True"):
        create(name)
    description = describe(name)
    assert description["experimental"] is True
    assert description["group"] == "experimental"
    assert any("any release" in warning for warning in description["warnings"])
    assert any("optimal-semantic" in warning for warning in description["warnings"])
    assert description["source"]


def test_comparisons_are_no_door_beside_the_gate(name, monkeypatch):
    monkeypatch.setenv("ADVCHUNK_EXPERIMENTAL", "0")
    models = STAND_INS.get(name, {})
    with pytest.raises(ConfigurationError, match=f"{name} is experimental"):
        candidate(name, **models)
    assert candidate(name, experimental=True, **models).group == "experimental"
    monkeypatch.delenv("ADVCHUNK_EXPERIMENTAL")
    assert candidate(name, **models).group == "experimental"


@pytest.mark.parametrize("value", ["false", "no", "True", "", 0, 1, 1.0, object(), np.True_])
def test_the_gate_takes_only_true_and_false(value):
    for name in ("texttiling", "recursive", "auto"):
        with pytest.raises(ConfigurationError, match="experimental must be True or False or None, got"):
            create(name, experimental=value)
    with pytest.raises(ConfigurationError, match="experimental must be True or False, got"):
        settings(experimental=value)


CLOSED = "texttiling is experimental"
WRONG = "ADVCHUNK_EXPERIMENTAL must be 1, true, yes or on, or else 0, false, no or off, got"
SPELLINGS = [
    *((spelling, "") for spelling in ("1", "true", "Yes", "ON", " TRUE ")),
    *((spelling, CLOSED) for spelling in ("0", "false", "No", "OFF", "", " ")),
    *((spelling, WRONG) for spelling in ("2", "enabled", "y e s", "None")),
]


@pytest.mark.parametrize(("spelling", "error"), SPELLINGS)
def test_the_switch_opens_the_gate_in_the_usual_spellings_of_true(spelling, error, monkeypatch):
    monkeypatch.setenv("ADVCHUNK_EXPERIMENTAL", spelling)
    assert create("recursive").algorithm == "recursive"
    assert create("texttiling", experimental=True).algorithm == "texttiling"
    with pytest.raises(ConfigurationError, match=error) if error else nullcontext():
        create("texttiling")
    with pytest.raises(ConfigurationError, match=CLOSED):
        create("texttiling", experimental=False)


@every_chunker
def test_the_first_line_of_a_docstring_says_whether_a_class_is_experimental(name):
    for documented in (catalog.params_of(catalog.chunker_class(name)), *classes(name)):
        summary, _, rest = documented.__doc__.partition("\n")
        assert summary.endswith(" Experimental.") is (name in names("experimental")), documented
        assert " Experimental." not in rest, documented
    assert ("may change in any release" in describe(name)["documentation"]) is describe(name)["experimental"]


def test_the_gate_does_not_affect_stable_chunkers(monkeypatch):
    monkeypatch.delenv("ADVCHUNK_EXPERIMENTAL", raising=False)
    stable = [name for name in names("stable") if required_model(name) is None]
    before = [[chunk.id for chunk in create(name).chunk(TEXT)] for name in stable]
    monkeypatch.setenv("ADVCHUNK_EXPERIMENTAL", "1")
    assert [[chunk.id for chunk in create(name).chunk(TEXT)] for name in stable] == before
    warnings = [warning for name in names("stable") for warning in describe(name)["warnings"]]
    assert not any("experimental" in warning for warning in warnings)


def test_fallback_chunks_documents_that_do_not_converge(name, failing, caplog):
    params = {"max_tokens": 30, "min_tokens": 4, "include_context": True, "tokenizer": "words"}
    chunker = failing(give_up, **params)
    with caplog.at_level(logging.WARNING, "advchunk"):
        chunks = leaves(chunker.chunk(Document(TEXT, "diary")))
    expected = OptimalSemanticChunker(**params).chunk(Document(TEXT, "diary"))
    assert [chunk.spans for chunk in chunks] == [chunk.spans for chunk in expected]
    assert {chunk.metadata["chunker"] for chunk in chunks} == {"optimal-semantic"}
    assert {chunk.metadata["fallback_from"] for chunk in chunks} == {name}
    assert "'diary'" in caplog.text
    assert "NotConverged: 17 rounds, and no end" in caplog.text


def test_fallback_can_be_another_chunker_or_none(name, failing):
    chunks = leaves(failing(give_up, fallback=RecursiveChunker()).chunk(TEXT))
    assert {chunk.metadata["chunker"] for chunk in chunks} == {"recursive"}
    with pytest.raises(NotConverged):
        failing(give_up, fallback=None).chunk(TEXT)
    with pytest.raises(ConfigurationError, match="fallback must be a Chunker, 'auto' or None"):
        create(name, experimental=True, fallback="recursive")


def test_front_ends_have_the_fallback(name, failing):
    failing(give_up)
    (_, make_splitter, make_parser), params = classes(name), STAND_INS.get(name, {})
    documents = make_splitter(**params).create_documents([TEXT])
    assert {metadata["fallback_from"] for metadata in of_documents(documents)} == {name}
    parser = make_parser(**params)
    assert "".join(parser.split_text(TEXT)) == TEXT
    awaited = asyncio.run(parser.aget_nodes_from_documents([LlamaIndexDocument(text=TEXT, id_="a")]))
    assert {metadata["fallback_from"] for metadata in of_documents(awaited)} == {name}
    with pytest.raises(NotConverged):
        make_splitter(fallback=None, **params).create_documents([TEXT])
    with pytest.raises(NotConverged):
        make_parser(fallback=None, **params).split_text(TEXT)


def test_front_ends_have_the_timeout(name, failing):
    released = threading.Event()
    failing(lambda: released.wait(LONG))
    splitter, parser = (build(timeout=0.1, **STAND_INS.get(name, {})) for build in classes(name)[1:])
    awaited = asyncio.run(splitter.atransform_documents([LangChainDocument(TEXT)]))
    documents = [*splitter.create_documents([TEXT]), *awaited]
    nodes = parser.get_nodes_from_documents([LlamaIndexDocument(text=TEXT)])
    released.set()
    assert {metadata["fallback_from"] for metadata in of_documents((*documents, *nodes))} == {name}


def test_fallback_inherits_sizes_but_not_timeout(name):
    chunker = create(
        name, experimental=True, **STAND_INS.get(name, {}), timeout=9, max_tokens=77, min_tokens=5, language="de"
    )
    fallback = chunker.fallback_chunker()
    assert (fallback.timeout, fallback.max_tokens, fallback.min_tokens, fallback.language) == (None, 77, 5, "de")


@pytest.mark.parametrize("name", FINDERS)
@pytest.mark.parametrize("sentences", [(1, 3), (6, 12), (30, 60)], ids=["short", "usual", "long"])
def test_boundaries_are_at_topic_shifts(name, shifts, sentences):
    sample = synthetic(7, segments=6, sentences=sentences, overlap=0.0)
    chunker = create(name, experimental=True, **STAND_INS.get(name, {}), **shifts(max(sentences)))
    scores = boundary_scores(sample.cuts, chunker.segmentation(sample.units).cuts, tolerance=1)
    assert scores.recall >= 0.6, scores
    assert scores.precision >= 0.6, scores


@pytest.mark.parametrize("text", ["One sentence.", "Same again. " * 30, "1 2 3. 4 5 6. 7 8 9.", "?! ... --"])
def test_texts_without_topics_lose_nothing(name, text):
    chunks = create(name, experimental=True, fallback=None, **STAND_INS.get(name, {})).chunk(text)
    characters = sorted(i for chunk in chunks for span in chunk.spans for i in range(*span))
    assert characters == list(range(len(text)))


@pytest.mark.parametrize("bad", ["nan", "shape", "text"])
@pytest.mark.parametrize("name", [n for n in names("experimental") if cuts_by_embeddings(n)])
def test_invalid_vectors_are_rejected(name, bad):
    rows = {
        "nan": lambda texts: np.full((len(texts), 3), np.nan),
        "shape": lambda texts: np.ones((len(texts) + 1, 3)),
        "text": lambda texts: ["vector"] * len(texts),
    }[bad]
    with pytest.raises(ValueError, match="embedder"):
        create(name, experimental=True, embedder=rows, fallback=None, **STAND_INS.get(name, {})).chunk(TEXT)
