"""The benchmark of size makes copies that are other texts of the same shape, goes on where it was, and asks what it
built."""

import json

import numpy as np
import pytest
import scale as script

from advchunk.retrieval import StoredRetriever

TEXTS = {
    "a.md": "The ferry to the island leaves at nine. Sailors drink rum in Harbor Street. " * 9,
    "b.md": "Green leaves are steamed. The captain kept seven barrels and opened them on Sundays. " * 9,
}
QUESTIONS = [
    {"question": "When does the ferry leave?", "references": [{"document": "a.md", "start": 0, "end": 39}]},
    {"question": "Who kept barrels?", "references": [{"document": "b.md", "start": 26, "end": 84}]},
]


@pytest.fixture
def sets(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SETS", ("one",))
    folder = tmp_path / "data" / "one"
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return script.read_sets(tmp_path / "data")


def test_copies_are_other_texts_of_the_same_shape(sets):
    corpus = script.Corpus(sets[0])
    assert corpus.copy(0) is corpus.groups
    for number in (1, 2):
        copies = corpus.copy(number)
        for (name, group), (own_name, own_group) in zip(corpus.groups.items(), copies.items(), strict=True):
            assert own_name == f"{number}/{name}"
            for chunk, own in zip(group, own_group, strict=True):
                assert own.spans == chunk.spans
                assert [len(word) for word in own.text.split()] == [len(word) for word in chunk.text.split()]
                assert own.text != chunk.text
                assert [word for word in own.text.split() if len(word) < 4] == [
                    word for word in chunk.text.split() if len(word) < 4
                ]
        counts = [np.unique(" ".join(c.text for g in own.values() for c in g).split(), return_counts=True)[1]
                  for own in (corpus.groups, copies)]  # fmt: skip
        assert sorted(counts[0]) == sorted(counts[1])
    assert str(corpus.copy(1).values()) != str(corpus.copy(2).values()).replace("2/", "1/")


def test_a_build_goes_on_and_is_asked(sets, tmp_path):
    documents, questions = sets
    corpus = script.Corpus(documents)
    numbers = (1, 3 * len(corpus), 3 * len(corpus))
    sizes = [script.build_file(corpus, tmp_path, chunks)["chunks"] for chunks in numbers]
    assert sizes == [len(corpus), 3 * len(corpus), 3 * len(corpus)]
    assert len(StoredRetriever(tmp_path / "chunks.index").documents) == 3 * len(TEXTS)
    results = {}
    for store in ("file", "memory"):
        with script.client(store, tmp_path, sizes[-1], documents) as asked:
            results[store] = script.ask(asked, questions)
    assert results["file"].hits == results["memory"].hits
    together = script.summary(
        script.ask_in_processes("file", tmp_path, questions, clients=2), truth=results["memory"].hits
    )
    assert together["recall_of_hits_and_passages"] == [100.0, 100.0]
    assert (together["clients"], together["questions"], together["share_of_right_hits"]) == (2, 2, 100.0)
    assert together["clock_ms_50_99"]["whole"][0] > 0
