"""Wrong arguments of public calls: each is refused with the rule and the value, or means something; nothing raw is raised."""

import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path

import numpy as np
import pytest

import advchunk
from advchunk import ChunkTree, ConfigurationError, Document, MissingExtra, RecursiveChunker, Span
from advchunk import evaluation as ev
from advchunk.cli.viewer import View
from advchunk.errors import check_fields, checked
from advchunk.retrieval import (
    Hit,
    LexicalIndex,
    PassageCutter,
    Retriever,
    Search,
    StoredRetriever,
    WindowScoring,
    add_vectors,
    assemble_passages,
    fuse,
)

pytestmark = pytest.mark.slow

TEXT = "Boil the water. Add green tea. Wait two minutes. Pour it. Cats nap all day. Dogs bark."


def hostile(*names):
    """Return a value whose methods of these names raise."""
    return type("Hostile", (), dict.fromkeys(names, lambda *_: 1 / 0))()


VALUES = (
    None, True, 3, 0, -1, 10**18, 1.5, math.nan, math.inf, "", "ab", "\ud800", b"ab", [], ["ab"], [None], {}, {"x": 1},
    (1, 2), object(), str, np.zeros((2, 2)), np.array([3]), np.array("a"), np.array([]), np.float32(1.5), np.int64(3),
    bytearray(b"ab"), "a\0b", Path("a\0b"), "a" * 5000, 10**400, Decimal("sNaN"), HTTPStatus.OK, {1: 2},
    [np.zeros(2)], {"a": np.zeros(2)}, {"a": {"b": object()}}, hostile("__eq__", "__hash__"), hostile("__bool__", "__len__"),
    hostile("__repr__", "__str__"), hostile("__iter__"), [hostile("__repr__", "__eq__")],
)  # fmt: skip
REFUSALS = (ConfigurationError, MissingExtra, OSError)
CHUNKER = RecursiveChunker(max_tokens=8)
CHUNKS = list(CHUNKER.chunk(Document(TEXT, "a")))
DOCUMENT = Document(TEXT, "a.md")
LONG = Document(" ".join(f"The cat number {i} sleeps through most of the long bright day." for i in range(9)), "l")
QUESTION = ev.Question("How long?", (ev.Reference("a.md", Span(0, 10)),))
SAMPLE = ev.synthetic(1, segments=3)
SIZED = ev.candidate("recursive", max_tokens=8)
HITS = [Hit(chunk, "a", 1.0) for chunk in CHUNKS[:3]]
PAIR = {"reference": [0, 2, 4], "hypothesis": [0, 1, 4]}
WINDOWS = {**PAIR, "k": 1, "weights": [1] * 4, "convention": "nltk"}
MADE = {"document": "b", "chunks": CHUNKS, "text": TEXT}
MANY = {"chunks": {"b": CHUNKS}, "texts": {"b": TEXT}}


@cache
def task():
    return ev.EvaluationTask((DOCUMENT,), (QUESTION, QUESTION), budget=20, budgets=(20,))


@cache
def results():
    return ev.evaluate([SIZED, ev.candidate("recursive", "b", max_tokens=20)], task())


def memory():
    return Retriever({"a": CHUNKS}, mode="lexical", texts={"a": TEXT})


def stored():
    index = StoredRetriever("kept.index", mode="lexical")
    index.add("a", CHUNKS, text=TEXT)
    return index


# The name of each call, a function that makes it, and arguments that are right.
CALLS = {
    "create": (advchunk.create, {"name": "recursive", "max_tokens": 8}),
    "describe": (advchunk.describe, {"name": "recursive"}),
    "names": (advchunk.names, {"group": "stable"}),
    "read_file": (advchunk.read_file, {"path": "a.md", "metadata": {"a": 1}, "encoding": "utf-8", "hidden": False}),
    "read_documents": (CHUNKER.read_documents, {"path": "a.md", "content": "all"}),
    "chunk": (CHUNKER.chunk, {"document": TEXT}),
    "chunk_many": (CHUNKER.chunk_many, {"documents": [TEXT], "on_error": "raise"}),
    "chunker": (RecursiveChunker, {"max_tokens": 8, "layout_weight": 1.0, "headings": "a", "fallback": None,
                                   "vectors": "none", "batch_size": 2, "language": "en"}),
    "Document": (lambda **k: CHUNKER.chunk(Document(**k)),
                 {"text": TEXT, "id": "a", "blocks": (), "metadata": {}, "offsets": None, "markup": "", "above": ()}),
    "Chunk": (lambda **k: Retriever({"a": [replace(CHUNKS[0], **k)]}, mode="lexical").passages("water", 20),
              {"text": CHUNKS[0].text, "spans": CHUNKS[0].spans, "tokens": 4, "index": 0, "id": "a", "context": "",
               "level": 0, "parent": None, "metadata": {}, "source_spans": ()}),
    "Hit": (lambda **k: PassageCutter().cut("water", [replace(HITS[0], **k)]), {"chunk": CHUNKS[0], "document": "a"}),
    "ChunkTree": (lambda chunks, chunk: ChunkTree(chunks).path(chunk), {"chunks": CHUNKS, "chunk": CHUNKS[0]}),
    "PassageCutter": (lambda **k: PassageCutter(**k).cut("water", HITS, 20),
                      {"min_tokens": 0, "max_passages": 2, "language": "en", "tokenizer": "words"}),
    "cut": (PassageCutter().cut, {"question": "water", "hits": HITS, "budget": 20, "texts": {"a": TEXT}, "order": "rank"}),
    "Retriever": (Retriever, {"chunks": {"a": CHUNKS}, "mode": "lexical", "texts": {"a": TEXT}, "language": "en"}),
    "StoredRetriever": (StoredRetriever, {"path": "new.index", "mode": "lexical", "language": "en"}),
    **{
        f"{name} of {of.__name__}": (lambda of=of, name=name, **k: getattr(of(), name)(**k), arguments)
        for of in (memory, stored)
        for name, arguments in {
            "add": MADE, "add_many": MANY, "search": {"query": "tea", "k": 3, "answer": "short", "highlights": False},
            "passages": {"query": "tea", "budget": 20, "order": "rank", "answer": "short", "whole_chunks": False},
        }.items()
    },
    "remove": (lambda document: memory().remove(document), {"document": "a"}),
    "save": (lambda path: memory().save(path), {"path": "saved.index"}),
    "change": (lambda **k: stored().change(**k), {**MANY, "removed": ["a"], "notes": {"n": 1}}),
    "Search": (Search, {"mode": "hybrid", "neighbors": True, "fusion": "standardized", "lexical_weight": 1.0,
                        "levels": "both", "answer": "short", "section_weight": 0.5, "merge": 0.5}),
    "add_vectors": (add_vectors, {"chunks_by_document": [CHUNKS], "kind": "plain", "documents": [DOCUMENT]}),
    "WindowScoring": (WindowScoring, {"lengths": (25.0,), "k1": 0.8, "b": 0.7, "temperature": 0.3, "depth": 300,
                                      "weight": 0.1, "reach": 200.0}),
    "LexicalIndex": (lambda query, depth=5: LexicalIndex(["a b"]).search(query, depth), {"query": "a", "depth": 5}),
    "fuse": (fuse, {"rankings": [LexicalIndex(["a b"]).search("a")], "weights": [1.0], "method": "standardized"}),
    "assemble_passages": (partial(assemble_passages, counter=len), {"hits": HITS, "budget": 20, "texts": {"a": TEXT}}),
    "chunk_files": (lambda **k: list(advchunk.chunk_files(**k)),
                    {"paths": "a.md", "metadata_key": "", "exclude": (), "done": (), "hidden": False}),
    "candidate": (ev.candidate, {"name": "recursive", "label": "x"}),
    "size_matched": (ev.size_matched, {"name": "recursive", "mean": 10, "label": "x"}),
    "external": (lambda **k: ev.external(**k).cut([DOCUMENT]), {"label": "x", "split": str.split, "fingerprint": ""}),
    "named_searches": (ev.named_searches, {"names": "dense"}),
    "searches_of": (ev.searches_of, {"candidate": SIZED, "searches": [Search()]}),
    "with_vectors": (lambda **k: ev.with_vectors(**k).cut([DOCUMENT]), {"candidate": SIZED, "kind": "units"}),
    "baselines": (ev.baselines, {"mean": 10}),
    "EvaluationTask": (ev.EvaluationTask, {"documents": (DOCUMENT,), "questions": (QUESTION,) * 2, "k": 2, "budget": 20,
                                           "budgets": (20,), "boundaries": {"a.md": (5,)}, "language": "en"}),
    "evaluate": (lambda **k: ev.evaluate(**{"task": task(), **k}), {"candidates": [SIZED], "store": None}),
    "compare": (lambda **k: ev.compare(**{"results": results(), **k}), {"baseline": "b", "metric": "recall"}),
    "as_markdown": (lambda **k: ev.as_markdown(**{"rows": ev.compare(results(), "b"), **k}),
                    {"metric": "recall", "notes": {"b": "x"}, "run_info": {"a": 1}, "failures": ()}),
    "recommend": (lambda **k: ev.recommend(**{"vectors": ("none",), "searches": (Search("lexical"),), **k}),
                  {"documents": [DOCUMENT], "questions": [QUESTION] * 2, "chunkers": ["recursive"], "sizes": (8,),
                   "language": "en", "metric": "recall", "budget": 20, "number": 5, "characters": 1000, "seed": 0}),
    "Question": (ev.Question, {"text": "Why?", "references": (ev.Reference("a", Span(0, 3)),)}),
    "held_out_questions": (ev.held_out_questions, {"documents": [LONG], "number": 4, "seed": 0, "language": "en"}),
    "section_boundaries": (ev.section_boundaries, {"documents": [Document("A.\n\n# B\n\nC.", "a")], "questions": []}),
    "read_corpus": (ev.read_corpus, {"folder": "."}),
    "read_questions": (ev.read_questions, {"path": "q.jsonl", "documents": [DOCUMENT]}),
    "write_questions": (ev.write_questions, {"path": "w.jsonl", "questions": [QUESTION], "documents": [DOCUMENT]}),
    "SegmentedText": (ev.SegmentedText, {"units": SAMPLE.units, "cuts": SAMPLE.cuts, "name": "x"}),
    "read_choi": (ev.read_choi, {"path": "a.ref", "encoding": "utf-8"}),
    "read_folder": (ev.read_folder, {"folder": ".", "pattern": "*.ref"}),
    "synthetic": (ev.synthetic, {"seed": 1, "segments": 3, "sentences": (3, 5), "words": (3, 5), "topics": 2,
                                 "vocabulary": 20, "overlap": 0.5, "noise": 0.0}),
    "boundary_scores": (ev.boundary_scores, {**PAIR, "tolerance": 1}),
    "even_split": (ev.even_split, {"n": 5, "segments": 2}),
    "pk": (ev.pk, WINDOWS),
    "window_diff": (ev.window_diff, WINDOWS),
    "View": (lambda **k: View(**k).html, {"explanations": CHUNKER.explain(TEXT), "title": "x", "height": 3,
                                          "question": "tea", "budget": 20, "cutter": PassageCutter()}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_refused_or_means_something(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(TEXT)
    (tmp_path / "a.ref").write_text("A b.\n==========\nC d.\n")
    reference = '{"document": "a.md", "quote": "Boil the water."}'
    (tmp_path / "q.jsonl").write_text(f'{{"question": "Why?", "references": [{reference}]}}\n')
    call, arguments = CALLS[name]
    call(**arguments)
    for parameter in arguments:
        for value in VALUES:
            try:
                call(**{**arguments, parameter: value})
            except REFUSALS:
                pass
            except Exception as error:
                error.add_note(f"{name}({parameter}={value!r})")
                raise


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"removed": "ab"}, "removed must be a collection of strings, got 'ab'"),
        ({"removed": [5]}, "removed must be a collection of strings, got [5]"),
        ({"chunks": []}, "chunks must be a mapping of strings to a collection of Chunk, got []"),
        ({"chunks": {5: CHUNKS}}, "chunks must be a mapping"),
    ],
)
def test_a_text_is_no_collection_of_names(arguments, rule, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = stored()
    index.add_many({"b": CHUNKS, "ab": CHUNKS})
    with pytest.raises(ConfigurationError, match=re.escape(rule)):
        index.change(**{"chunks": {}, **arguments})
    with pytest.raises(ConfigurationError, match="documents must be a collection of strings"):
        index.remove(5)
    assert index.documents == ["a", "b", "ab"]


def test_a_text_that_is_the_path_of_a_file_is_reported(tmp_path, caplog):
    (path := tmp_path / "a.md").write_text("# Tea", encoding="utf-8")
    RecursiveChunker().chunk_many([f"{path}x", "\u00e4" * 200 + ".md"])  # the second is too long for a name in bytes
    assert not caplog.text
    assert [chunk.text for chunk in RecursiveChunker().chunk(str(path))] == [str(path)]
    assert "is the path of a file" in caplog.text


def test_a_parameter_that_a_function_lacks_is_answered_with_those_it_has():
    with pytest.raises(TypeError, match=r"search: .* 'top_k'; its parameters are query, k, answer, highlights"):
        Retriever().search("tea", top_k=3)


def test_arguments_are_checked_by_annotations():
    @checked
    def call(text: str, numbers: "list[int]", *names: str, share: "float | None" = None, of: "Unknown" = 3):  # noqa: F821
        return text, numbers, names, share, of

    assert call("a", (1, 2), "b", share=0.5, of=None) == ("a", (1, 2), ("b",), 0.5, None)
    for arguments, rule in (
        ((b"a", []), "text must be a string"), (("a", "12"), "numbers must be a collection of whole numbers"),
        (("a", [True]), "numbers must be"), (("a", [], 5), "names must be a collection of strings"),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match=rule):
            call(*arguments)
    with pytest.raises(ConfigurationError, match="share must be a finite number or None, got nan"):
        call("a", [], share=math.nan)
    with pytest.raises(ConfigurationError, match="text must be a string, got 5"):
        check_fields(ev.Question(5, QUESTION.references))
