import asyncio
import logging
import threading
import time

import numpy as np
import pytest

import advchunk
from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.chunkers.catalog import cuts_by_embeddings
from algorithms import ALGORITHMS
from servers import LONG
from stand_ins import STAND_INS

TEXT = (
    "# Cats\n\nCats purr. Cats nap in the sun all day. Cats eat fish and purr.\n\n"
    "## Naps\n\nCats nap. Naps are long.\n\n# Law\n\nJudges sit in court. Courts rule on law. Courts hear appeals."
)
DOCUMENTS = [TEXT, "", "Short.", Document(TEXT, id="named"), " \n", "One. Two. Three.", TEXT]


class Model:
    """Embeds a text by its letters; notes its calls; refuses texts with a word in them; may be slow."""

    model_name = "letters"

    def __init__(self, batch_size=None, refuses="\0", seconds=0.0):
        self.batch_size, self.refuses, self.seconds, self.calls = batch_size, refuses, seconds, []

    def embed(self, texts):
        self.calls.append(list(texts))
        time.sleep(self.seconds)
        if any(self.refuses in text for text in texts):
            msg = f"cannot embed {self.refuses}"
            raise RuntimeError(msg)
        return [[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts]


def build(name, **params):
    if cuts_by_embeddings(name):
        params.setdefault("embedder", Model())
    return advchunk.create(
        name, experimental=True, **{"max_tokens": 20, "overlap_tokens": 0, **STAND_INS.get(name, {}), **params}
    )


async def listed(stream):
    return [chunks async for chunks in stream]


# A corpus needs all of its documents, and its summaries have no place in one: `tests/chunkers/test_graphrag.py`.
by_document = pytest.mark.parametrize("name", [name for name in advchunk.names() if not ALGORITHMS[name].corpus])
with_model = pytest.mark.parametrize("name", [name for name in advchunk.names() if cuts_by_embeddings(name)])


@by_document
def test_documents_are_taken_as_they_are_needed(name):
    taken = 0

    def documents():
        nonlocal taken
        while taken < 3000:
            taken += 1
            yield f"Cat {taken} purrs.\n\nLaw {taken} rules."

    chunker = build(name, **({"embedder": Model(batch_size=8)} if cuts_by_embeddings(name) else {}))
    stream = chunker.stream(documents())
    assert taken == 0
    assert len([next(stream) for _ in range(5)]) == 5
    assert taken <= 30


@with_model
@pytest.mark.parametrize("awaited", [False, True])
def test_bad_document_does_not_affect_others(name, awaited, caplog):
    def run(**params):
        chunker = build(name, embedder=Model(refuses="Dogs"), fallback=None)
        documents = [TEXT, Document("Dogs bark.\n\nDogs bite.", id="bad"), None, "One. Two.\n\nThree."]
        return (
            asyncio.run(chunker.achunk_many(documents, **params))
            if awaited
            else chunker.chunk_many(documents, **params)
        )

    collected = run(on_error="collect")
    assert [len(chunks) > 0 for chunks in collected] == [True, False, False, True]
    assert sorted((f.index, f.source, type(f.error)) for f in collected.failures) == [
        (1, "bad", RuntimeError),
        (2, "", ConfigurationError),
    ]
    seen = []
    assert list(run(on_error=seen.append)) == list(collected)
    assert sorted(failure.index for failure in seen) == [1, 2]
    with caplog.at_level(logging.WARNING, "advchunk"):
        skipped = run(on_error="skip")
    assert list(skipped) == list(collected)
    assert skipped.failures == []
    assert "document 1 ('bad') skipped: RuntimeError: cannot embed Dogs" in caplog.text
    with pytest.raises((RuntimeError, ConfigurationError)):
        run()


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda chunker: chunker.chunk(7), "text must be a str"),
        (lambda chunker: chunker.chunk_many("text"), "documents must be an iterable"),
        (lambda chunker: chunker.chunk_many(Document("text")), "documents must be an iterable"),
        (lambda chunker: chunker.chunk_many(["text"], on_error="ignore"), "on_error must be"),
        (lambda chunker: asyncio.run(chunker.achunk_many(["text"], concurrency=0)), "concurrency must be .* got 0"),
        (lambda chunker: asyncio.run(listed(chunker.astream(["text"], concurrency=0))), "concurrency must be .* got 0"),
    ],
)
def test_wrong_calls_are_refused(call, rule):
    with pytest.raises(ConfigurationError, match=rule):
        call(RecursiveChunker())


@pytest.mark.parametrize("awaited", [False, True])
def test_progress_is_reported(awaited, capsys):
    chunker, done = RecursiveChunker(), []
    run = (lambda **params: asyncio.run(chunker.achunk_many(DOCUMENTS, **params))) if awaited else (
        lambda **params: chunker.chunk_many(DOCUMENTS, **params)
    )  # fmt: skip
    run(progress=done.append)
    assert done == [1, 2, 3, 4, 5, 6, 7]
    assert capsys.readouterr().err == ""
    run(progress=True)
    assert "7/7" in capsys.readouterr().err


@by_document
def test_add_scores_records_the_reason_of_each_cut(name):
    chunker = build(name, add_scores=True)
    chunks = chunker.chunk(TEXT)
    cuts = {cut.offset: cut for cut in chunker.explain(TEXT).cuts}
    assert len(chunks) > 1
    for chunk in chunks:
        assert ("cut" in chunk.metadata) == (chunk.end < len(TEXT))
        if chunk.end < len(TEXT):
            assert chunk.metadata["cut"] == cuts[chunk.end].reason
            score = cuts[chunk.end].score
            assert chunk.metadata.get("cut_score") == (None if score is None else round(score, 4))
    assert all("cut" not in chunk.metadata for chunk in build(name).chunk(TEXT))


@pytest.mark.slow
@pytest.mark.parametrize("awaited", [False, True])
def test_hanging_document_does_not_affect_others(awaited):
    released = threading.Event()

    class Hangs:
        model_name = "hangs"

        def embed(self, texts):
            if any("hang" in text for text in texts):
                released.wait(LONG)
            return np.ones((len(texts), 2))

    documents = [f"Fact {i}. It {'hang' if i == 1 else 'rain'}s." for i in range(3)]
    chunker = advchunk.UniversalSemanticChunker(
        embedder=Hangs(), timeout=0.5, fallback=advchunk.RecursiveChunker(max_tokens=3000)
    )
    results = asyncio.run(chunker.achunk_many(documents)) if awaited else chunker.chunk_many(documents)
    assert [chunks[0].metadata.get("chunker") for chunks in results] == [None, "recursive", None]
    released.set()
