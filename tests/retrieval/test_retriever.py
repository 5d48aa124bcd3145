import asyncio
from dataclasses import replace

import numpy as np
import pytest

from advchunk import ConfigurationError, RecursiveChunker, UniversalSemanticChunker
from advchunk.retrieval import Retriever

TEXTS = {
    "tea.txt": "Green tea is made of leaves. It is drunk hot. The leaves stand for two minutes. Then they are taken out.",
    "ships.txt": "Sailors drank rum. The captain kept the barrels. He opened them on Sundays. Nobody else had the key.",
    "law.txt": "Judges sit in court. They read the files. Appeals take a year. The file number is K-77.",
}
MODES = ["dense", "lexical", "hybrid"]


def chunks(**parameters):
    chunker = RecursiveChunker(max_tokens=10, **parameters)
    return {name: chunker.chunk(text) for name, text in TEXTS.items()}


@pytest.mark.parametrize("mode", MODES)
def test_a_planted_answer_is_found(mode):
    retriever = Retriever(chunks(), mode=mode, neighbors=False)
    assert retriever.search("Which file number?")[0].chunk.text == "The file number is K-77."
    assert retriever.search("Which file number?")[0].document == "law.txt"


def test_the_answer_beside_the_hit_is_found_by_neighbors():
    question = "Who kept the barrels of the sailors' rum, and when did the captain open them?"
    plain, neighbors = (Retriever(chunks(), mode="lexical", neighbors=value) for value in (False, True))
    assert "Nobody else had the key." not in [hit.chunk.text.strip() for hit in plain.search(question)]
    assert "Nobody else had the key." in [hit.chunk.text.strip() for hit in neighbors.search(question, 4)]


@pytest.mark.parametrize("mode", MODES)
def test_async_equals_sync(mode):
    retriever = Retriever(chunks(), mode=mode)
    assert asyncio.run(retriever.asearch("hot tea", 3)) == retriever.search("hot tea", 3)
    assert asyncio.run(retriever.apassages("hot tea", 30)) == retriever.passages("hot tea", 30)


@pytest.mark.parametrize("mode", MODES)
def test_editing_and_removing_documents_equals_a_new_retriever(mode):
    retriever = Retriever(chunks(), mode=mode)
    retriever.search("rum")
    edited = RecursiveChunker(max_tokens=10).chunk("Sailors drink tea now. Rum is forbidden.")
    retriever.add("ships.txt", edited)
    retriever.remove("law.txt")
    retriever.remove("none.txt")
    expected = Retriever({"tea.txt": chunks()["tea.txt"], "ships.txt": edited}, mode=mode)
    assert retriever.documents == expected.documents == ["tea.txt", "ships.txt"]
    for question in ("rum", "hot tea", "file number"):
        assert retriever.search(question) == expected.search(question)


@pytest.mark.parametrize("mode", MODES)
def test_saved_and_loaded(mode, tmp_path):
    retriever = Retriever(chunks(add_scores=True), mode=mode, neighbors=False, lexical_weight=3.0)
    retriever.save(tmp_path)
    loaded = Retriever.load(tmp_path)
    assert (loaded.mode, loaded.neighbors, loaded.lexical_weight) == (mode, False, 3.0)
    for question in ("rum", "hot tea", "file number"):
        assert loaded.search(question) == retriever.search(question)
    loaded.add("new.txt", RecursiveChunker().chunk("Coffee."))
    assert loaded.search("coffee", 1)[0].document == "new.txt"


def test_an_index_of_another_embedder_or_damaged_is_refused(tmp_path):
    class Other:
        model_name = "other"

        def embed(self, texts):
            return np.ones((len(texts), 256))

    Retriever(chunks()).save(tmp_path)
    with pytest.raises(ConfigurationError, match=r"embedder must be .*, as when the index was made, got 'other'"):
        Retriever.load(tmp_path, embedder=Other())
    (tmp_path / "chunks.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="all files must be of one index"):
        Retriever.load(tmp_path)
    with pytest.raises(ConfigurationError, match=r"Retriever\.save saved"):
        Retriever.load(tmp_path / "none")


def test_metadata_that_is_not_json_is_refused(tmp_path):
    (chunk,) = RecursiveChunker().chunk("Tea.")
    with pytest.raises(ConfigurationError, match="metadata must be JSON to be saved"):
        Retriever({"a": [replace(chunk, metadata={"when": object()})]}).save(tmp_path)


def test_vectors_of_chunks_are_kept_and_the_others_embedded():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return [[float(len(text)), 1.0] for text in texts]

    with_rows = UniversalSemanticChunker(max_tokens=20, embedder=embed, vectors="units").chunk(TEXTS["tea.txt"])
    asked.clear()
    plain = RecursiveChunker(max_tokens=10).chunk(TEXTS["law.txt"])
    Retriever({"tea.txt": with_rows, "law.txt": plain}, embedder=embed)
    assert asked == [chunk.embed_text for chunk in plain]


def test_a_lexical_retriever_calls_no_model():
    retriever = Retriever(chunks(), embedder=lambda _: pytest.fail("it was called"), mode="lexical", tokenizer="words")
    assert retriever.passages("rum", 10)[0].document == "ships.txt"


def test_an_empty_retriever_finds_nothing():
    assert Retriever().search("tea") == []
    assert Retriever({"a": []}).passages("tea") == []


@pytest.mark.parametrize(
    ("options", "rule"),
    [({"mode": "words"}, "mode must be one of"), ({"lexical_weight": -1}, "lexical_weight must be >= 0")],
)
def test_bad_options_are_refused(options, rule):
    with pytest.raises(ConfigurationError, match=rule):
        Retriever(chunks(), **options)
    with pytest.raises(ConfigurationError, match="k must be >= 1"):
        Retriever(chunks()).search("tea", 0)
