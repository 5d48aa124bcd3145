"""Ways of search as parts of candidates: what is ranked, what is shared, what is stored, and who wins where."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from advchunk import Chunk, Span
from advchunk.building.positions import ChunkPositions
from advchunk.cli import main
from advchunk.evaluation import Candidate, baselines, candidate, compare, evaluate, searches_of, size_matched
from advchunk.evaluation.comparison import harness
from advchunk.evaluation.comparison.comparisons import leaders
from advchunk.evaluation.comparison.harness import Result, run
from advchunk.evaluation.comparison.index import ChunkIndex
from advchunk.evaluation.metrics.metering import RunCost
from advchunk.models.static import default_embedder
from advchunk.retrieval.lexical_index import LexicalIndex
from advchunk.retrieval.rankings import Ranking
from advchunk.retrieval.search import SEARCHES, Search, combine

pytestmark = pytest.mark.slow

BY_RANK = Search("hybrid", fusion="reciprocal", lexical_weight=1.0)


def unit(row):
    row = row.astype(float)
    return row / np.linalg.norm(row)


def plainly_ranked(index, search):
    """Return the ranking of each question, one chunk at a time."""
    lexical = LexicalIndex(chunk.embed_text for chunk in index.chunks)
    positions = ChunkPositions.of(index.chunks, index.documents)
    embed, rankings = default_embedder().embed, []
    rows_of = [embed([chunk.embed_text]) if chunk.rows is None else chunk.rows for chunk in index.chunks]
    for question, vector in zip(index.task.questions, index.task.question_vectors, strict=True):
        words = lexical.scores(question.text).tolist()
        cosines = [max(round(float(unit(row) @ unit(vector)), 9) for row in rows) for rows in rows_of]
        by_vectors, by_words = (
            sorted(range(len(scores)), key=lambda i, scores=scores: (-scores[i], i)) for scores in (cosines, words)
        )
        dense = Ranking(np.array(by_vectors[:100]), np.array([cosines[i] for i in by_vectors[:100]]))
        common = [i for i in by_words if words[i] > 0][:100]
        by_bm25 = Ranking(np.array(common, int), np.array([words[i] for i in common]), floor=0.0)
        first = combine(
            None if search.mode == "lexical" else dense, None if search.mode == "dense" else by_bm25, search, positions
        ).chunks.tolist()
        rest = by_words if search.mode == "lexical" else by_vectors
        rankings.append(first + [i for i in rest if i not in first])
    return rankings


@pytest.mark.parametrize("vectors", ["none", "units"])
def test_chunks_are_ranked_as_a_plain_loop_ranks_them(task, vectors):
    made = candidate("optimal-semantic", max_tokens=20, vectors=vectors)
    groups = made.cut(task.documents)
    chunks = [chunk for group in groups for chunk in group]
    assert len(chunks) > 120
    names = [document.source for document, group in zip(task.documents, groups, strict=True) for _ in group]
    for search in (*SEARCHES, BY_RANK):
        index = ChunkIndex(chunks, names, np.array([chunk.tokens for chunk in chunks]), task)
        order, cost = index.rank(search)
        assert order.tolist() == plainly_ranked(index, search), search.label
        assert cost.calls == (0 if search.mode == "lexical" or vectors == "units" else 1)


def test_chunks_of_another_splitter_have_places(task):
    def halves(documents):
        return [
            [Chunk(d.text[a:b], (Span(a, b),), 0) for a, b in ((0, len(d.text) // 2), (len(d.text) // 2, len(d.text)))]
            for d in documents
        ]

    shared = harness.ChunkedTask.of(Candidate("halves", halves, "external"), task)
    middles = shared.index.positions.middles.tolist()
    assert all(second > 2 * first > 0 for first, second in zip(middles[::2], middles[1::2], strict=True))


def by_line(documents):
    chunks = []
    for document in documents:
        places, start = [], 0
        for line in document.text.split("\n\n"):
            places.append(Span(start, start + len(line)))
            start += len(line) + 2
        chunks.append([Chunk(document.text[slice(*span)], (span,), 8, i) for i, span in enumerate(places)])
    return chunks


def test_chunks_and_vectors_are_made_once_for_all_searches(task):
    cuts, asked = [], []

    def cut(documents):
        cuts.append(len(documents))
        return by_line(documents)

    class Model:
        model_name = "counted"

        def embed(self, texts):
            asked.extend(texts)
            return default_embedder().embed(texts)

    own = replace(task, embedder=Model())
    _ = own.question_vectors, own.sentence_vectors
    asked.clear()
    results = evaluate(searches_of(Candidate("lines", cut, "external"), SEARCHES), own)
    assert cuts == [3]
    assert len(asked) == len(set(asked)) == len(results[0].tokens)
    lexical, hybrid = results[2].indexing_cost, results[4].indexing_cost
    assert (lexical.calls, hybrid.calls) == (0, 1)
    assert len({result.chunking_cost.wall_seconds for result in results}) == 1
    assert [result.label for result in results] == ["lines", *(f"lines, {search.label}" for search in SEARCHES[1:])]
    matched = evaluate(searches_of(size_matched("recursive", 30), SEARCHES), task)
    alone = [run(item, task) for item in searches_of(size_matched("recursive", 30), SEARCHES)]
    for together, single in zip(matched, alone, strict=True):
        assert together.recall.tolist() == single.recall.tolist()
        assert (together.label, together.size_matched) == (single.label, True)


def test_stored_results_are_told_apart_by_their_search(task, tmp_path):
    ran = []
    made = candidate("recursive", max_tokens=30)
    same_label = [replace(made, search=search) for search in (Search(), Search("lexical"), BY_RANK)]
    for item in (*same_label, *same_label):
        evaluate([item], task, store=tmp_path, progress=ran.append)
    assert len(ran) == len(list(tmp_path.iterdir())) == 3
    again = evaluate([same_label[1]], task, store=tmp_path)[0]
    assert again.search == "lexical"
    assert again.recall.tolist() == run(same_label[1], task).recall.tolist()
    weighted = replace(made, search=Search("hybrid", lexical_weight=0.5))
    evaluate([weighted], task, store=tmp_path, progress=ran.append)
    assert len(ran) == 4


def test_what_cannot_be_chunked_fails_in_all_searches(task):
    def fail(_):
        raise ZeroDivisionError

    results = evaluate(searches_of(Candidate("bad", fail, "external"), SEARCHES[:3]), task)
    assert [failure.label for failure in results.failures] == ["bad", "bad, dense, neighbors", "bad, lexical"]
    assert {failure.reason for failure in results.failures} == {"ZeroDivisionError: "}


def scored(label, values):
    fields = {"recall": np.array(values)}, np.ones(3), {}, 1.0, 1.0, None, None, None, None, None
    return Result(label, "stable", {}, *fields, RunCost(), RunCost())


def test_no_winner_is_named_among_ties():
    rng = np.random.default_rng(0)
    base = rng.random(200)
    results = [scored("a", base), scored("b", base + rng.normal(0, 0.01, 200)), scored("low", base - 0.5)]
    rows = compare(results, "low")
    assert {row.result.label for row in leaders(rows)} == {"a", "b"}
    assert [row.result.label for row in leaders(compare([scored("a", base), scored("low", base - 0.5)], "low"))] == [
        "a"
    ]
    assert len(leaders(compare(results[:1], "a"))) == 1


def test_the_baselines_are_of_one_size_but_for_the_windows(task):
    results = {result.label: result for result in evaluate(baselines(40), task)}
    assert list(results) == [
        "vectors", "BM25", "vectors and BM25, fused by rank", "parent documents", "sentence windows", "auto-merging",
    ]  # fmt: skip
    assert {label for label, result in results.items() if result.off_target} <= {"sentence windows"}
    assert all(result.group == "baseline" for result in results.values())
    assert results["sentence windows"].redundancy > 5
    assert results["BM25"].search == "lexical"
    sizes = [results[name].tokens.tolist() for name in ("vectors", "BM25", "parent documents")]
    assert sizes[0] == sizes[1] == sizes[2]


def evaluated(folder, *args):
    command = ["evaluate", "--data", str(folder), "--mean", "40", "--budget", "100", *args]
    done = CliRunner().invoke(main, [*command, "--chunkers", "optimal-semantic"])
    assert done.exit_code == 0, done.output
    table = done.stdout.partition("\n\n| retrieval |")[0]
    return [
        line.split(" | ")[0].strip("| ").partition(" (mean")[0]
        for line in table.splitlines()
        if " | baseline | " in line or " | stable | " in line
    ]


def test_every_comparison_has_its_controls(folder):
    labels = evaluated(folder, "--vectors", "units")
    assert {"optimal-semantic, units", "recursive, units", "recursive", "recursive, lexical"} <= set(labels)
    assert len(labels) == len(set(labels))
    labels = evaluated(folder, "--search", "hybrid+neighbors")
    assert {"optimal-semantic, hybrid, neighbors", "recursive, hybrid, neighbors", "recursive, lexical"} <= set(labels)
    labels = evaluated(folder, "--search", "all", "--vectors", "units")
    for search in SEARCHES[1:]:
        assert f"recursive, {search.label}" in labels
    assert "optimal-semantic, lexical" in labels
    assert "optimal-semantic, units, lexical" not in labels  # words need no vectors
