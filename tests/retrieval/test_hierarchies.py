"""Sections score with the chunks in them, take their place, or give way to them."""

from statistics import pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ChunkTree, ConfigurationError, Document, GraphRAGChunker, HierarchicalChunker, RecursiveChunker
from advchunk.evaluation import EvaluationTask, Question, Reference, candidate, evaluate, searches_of
from advchunk.records import Span
from advchunk.retrieval import ChunkHierarchy, LexicalIndex, PartedIndex, Ranking, Retriever, Search, add_sections
from advchunk.retrieval.hierarchies import expand_downward, merge_upward, merge_within, without_parts

GUIDE = """# Tea

Green tea is steamed. The leaves stand for two minutes. Water must not boil. Sencha is a kind of it.

# Rum

Rum is made of cane. The barrels stand for twelve years. Sailors had it daily. A captain kept the key.

# Boats

Boats are built of oak. The ribs come first. Tar closes the gaps. A mast is set at last.
"""
LEVELS = HierarchicalChunker(levels=["section", "sentence"])


def guide():
    return {"guide.md": LEVELS.chunk(GUIDE)}


def texts(hits):
    return [hit.chunk.text.strip() for hit in hits]


@st.composite
def forests(draw):
    """Return the parents of chunks, each after its parent."""
    count = draw(st.integers(1, 12))
    return np.array([draw(st.integers(-1, i - 1)) for i in range(count)])


@st.composite
def rankings(draw, numbers):
    chosen = draw(st.lists(st.sampled_from(numbers), unique=True)) if numbers else []
    scores = sorted(draw(st.lists(st.integers(0, 20), min_size=len(chosen), max_size=len(chosen))), reverse=True)
    return Ranking(np.array(chosen, dtype=np.int64), np.array(scores, dtype=float), draw(st.sampled_from([None, 0.0])))


def ancestors(parents, chunk):
    return [] if parents[chunk] < 0 else [int(parents[chunk]), *ancestors(parents, int(parents[chunk]))]


def slow_z(ranking, depth):
    """The standardized scores of the docstring of `fuse`, chunk by chunk."""
    scores = ranking.scores.tolist()[:depth]
    padded = scores + [0.0] * ((depth - len(scores)) if ranking.floor is not None else 0)
    if not scores:
        return {}
    spread = pstdev(padded)
    values = [(score - padded[-1]) / spread if spread else 1.0 for score in scores]
    return dict(zip(ranking.chunks.tolist(), values, strict=False))


@given(st.data(), forests(), st.integers(1, 8), st.sampled_from([0.0, 0.6, 2.0]), st.booleans())
def test_the_sum_equals_its_formula(data, parents, depth, weight, hits_only):
    hierarchy = ChunkHierarchy(parents)
    leaf_numbers, *section_numbers = [np.flatnonzero(part).tolist() for part in hierarchy.parts]
    leaves = data.draw(rankings(leaf_numbers))
    sections = [data.draw(rankings(numbers)) for numbers in section_numbers]
    own, above = slow_z(leaves, depth), {}
    for ranking in sections:
        above |= slow_z(ranking, depth)
    expected = {}
    for leaf in leaf_numbers:
        support = weight * sum(above.get(section, 0.0) for section in ancestors(parents, leaf))
        if leaf in own or (support > 0 and not hits_only):
            expected[leaf] = own.get(leaf, 0.0) + support
    result = add_sections(leaves, sections, hierarchy, weight, hits_only=hits_only, depth=depth)
    assert dict(zip(result.chunks.tolist(), result.scores.tolist(), strict=True)) == pytest.approx(expected)
    assert np.all(np.diff(result.scores) <= 0)


@given(st.data(), forests(), st.sampled_from([0.3, 0.5, 0.9]))
def test_merging_equals_its_rule(data, parents, share):
    hierarchy = ChunkHierarchy(parents)
    ranking = data.draw(rankings(np.flatnonzero(hierarchy.leaves).tolist()))
    sizes = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(parents), max_size=len(parents))))
    retrieved = {chunk: int(sizes[chunk]) for chunk in ranking.chunks.tolist()}

    def amount(chunk):
        below = [other for other in range(len(parents)) if parents[other] == chunk]
        total = retrieved.get(chunk, 0) if not below else sum(map(amount, below))
        return int(sizes[chunk]) if below and total > share * sizes[chunk] > 0 else total

    full = {
        chunk
        for chunk in np.flatnonzero(~hierarchy.leaves).tolist()
        if sum(amount(other) for other in range(len(parents)) if parents[other] == chunk) > share * sizes[chunk] > 0
    }
    expected = []
    for chunk in ranking.chunks.tolist():
        for number in [*reversed([a for a in ancestors(parents, chunk) if a in full]), chunk]:
            expected += [number] if number not in expected else []
    merged = merge_upward(ranking, hierarchy, sizes, share)
    assert merged.chunks.tolist() == expected
    assert np.all(np.diff(merged.scores) <= 0)
    within = merge_within(ranking, hierarchy, sizes, share, np.ones(len(parents), dtype=int), 3)
    first = merge_upward(ranking.first(3), hierarchy, sizes, share).chunks.tolist()
    assert within.chunks.tolist() == [*first, *(c for c in ranking.chunks.tolist()[3:] if c not in first)]


@given(forests())
def test_a_hierarchy_is_what_its_parents_say(parents):
    hierarchy = ChunkHierarchy(parents)
    count = len(parents)
    assert hierarchy.depths.tolist() == [len(ancestors(parents, chunk)) for chunk in range(count)]
    assert hierarchy.leaves.tolist() == [chunk not in parents for chunk in range(count)]
    assert [list(hierarchy.above(chunk)) for chunk in range(count)] == [ancestors(parents, c) for c in range(count)]
    assert sum(part.astype(int) for part in hierarchy.parts).tolist() == [1] * count
    assert hierarchy.is_flat == hierarchy.leaves.all()
    assert hierarchy.extended(2).parents.tolist() == [*parents.tolist(), -1, -1]
    ids = [str(chunk) for chunk in range(count)]
    same = ChunkHierarchy.of(ids, [None if parent < 0 else str(parent) for parent in parents])
    assert same.parents.tolist() == parents.tolist()
    assert hierarchy.among(np.zeros(count, dtype=bool)).is_flat


def test_a_chunk_above_itself_is_refused():
    with pytest.raises(ConfigurationError, match="a chunk must not be above itself"):
        ChunkHierarchy(np.array([1, 0, -1]))


def test_the_parts_of_an_index_are_as_indexes_of_their_own():
    words = ["Green tea.", "Tea and rum. Tea.", "Green tea. Tea and rum. Tea."]
    parts = [np.array([True, True, False]), np.array([False, False, True])]
    index = PartedIndex(LexicalIndex(words), parts)
    expected = [*LexicalIndex(words[:2]).scores("green rum"), *LexicalIndex(words[2:]).scores("green rum")]
    assert index.scores("green rum").tolist() == expected


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_a_section_helps_the_leaf_that_its_question_is_about(mode):
    question = "Rum of sailors and captains: how long do they stand?"  # what stands is said of tea and of barrels
    local, both, heavy = (
        texts(Retriever(guide(), mode=mode, neighbors=False, **how).search(question, 12))
        for how in ({"levels": "local"}, {}, {"section_weight": 3.0})
    )
    tea, rum = "The leaves stand for two minutes.", "The barrels stand for twelve years."
    assert heavy.index(rum) < heavy.index(tea)
    assert both.index(rum) < both.index(tea)
    assert all(
        "\n\n" not in text.removeprefix("# Rum\n\n").removeprefix("# Tea\n\n").removeprefix("# Boats\n\n")
        for text in local
    )


def test_long_answers_let_in_the_leaves_of_a_section():
    short, long = (
        texts(Retriever(guide(), mode="lexical", neighbors=False).search("Who drinks rum made of cane?", answer=answer))
        for answer in ("short", "long")
    )
    assert "A captain kept the key." not in short
    assert long[0] == short[0] == "# Rum\n\nRum is made of cane."
    assert {"The barrels stand for twelve years.", "A captain kept the key."} <= set(long[:4])


def test_sections_are_returned_whole_or_divided_to_fit():
    chunks = guide()["guide.md"]
    sections = [chunk.text.strip() for chunk in ChunkTree(chunks).roots()]
    retriever = Retriever(guide(), levels="global")
    assert texts(retriever.search("Who kept the key of the rum?", 2))[0] == sections[1]
    assert set(texts(retriever.search("Who kept the key of the rum?", 3))) == set(sections)
    (whole, *_) = retriever.passages("Who kept the key of the rum?", 40)
    assert sections[1] in whole.text
    parts = retriever.passages("Who kept the key of the rum?", 12)
    assert parts[0].text.strip() in sections[1]
    assert any("A captain kept the key." in passage.text for passage in parts)
    assert sum(passage.tokens for passage in parts) <= 12


def test_a_section_takes_the_place_of_most_of_its_leaves():
    retriever = Retriever(guide(), mode="lexical", merge=0.5)
    question = "Sencha, leaves and boiling water of green tea; tar"
    plain = texts(Retriever(guide(), mode="lexical").search(question, 4))
    merged = texts(retriever.search(question, 4))
    section = ChunkTree(guide()["guide.md"]).roots()[0].text.strip()
    assert sum(text in section for text in plain) > 2
    assert merged[0] == section
    assert not any(text in section for text in merged[1:])
    (passage, *_) = retriever.passages(question, 60)
    assert section in passage.text
    assert sum(p.tokens for p in retriever.passages(question, 20)) <= 20  # into which the section does not fit


def test_flat_chunks_are_searched_as_before():
    chunks = {"guide.md": RecursiveChunker(max_tokens=12).chunk(GUIDE)}
    expected = Retriever(chunks).search("Who kept the key?")
    for how in ({"levels": "local"}, {"levels": "global"}, {"answer": "long"}, {"merge": 0.2}):
        assert Retriever(chunks, **how).search("Who kept the key?") == expected


def test_settings_are_saved(tmp_path):
    settings = {"levels": "global", "answer": "long", "section_weight": 0.7, "merge": 0.4}
    retriever = Retriever(guide(), **settings)
    retriever.save(tmp_path / "index")
    loaded = Retriever.load(tmp_path / "index")
    assert loaded.settings == Search("hybrid", neighbors=True, **settings)
    assert loaded.search("the key") == retriever.search("the key")


def test_communities_of_a_corpus_come_first_and_their_documents_fill_the_budget():
    sea = "Captain Ahab hunts Moby Dick. Captain Ahab sails with Mr Starbuck. Mr Starbuck fears Moby Dick."
    law = "Judge Judy fined Emil Egan. Emil Egan sued Dora Dunn. Judge Judy heard Dora Dunn."
    documents = [Document(sea, "sea"), Document(law, "law")]
    lists = GraphRAGChunker(max_tokens=16, summary_tokens=16).chunk_many(documents)
    chunks = dict(zip(["sea", "law"], lists, strict=True))
    every = [chunk for group in lists for chunk in group]
    retriever = Retriever(chunks, levels="global", texts={"sea": sea, "law": law})
    best, *_ = retriever.search("What did Judge Judy do?", 2)
    assert best.chunk.metadata["granularity"] == "section"
    assert "Judge Judy" in best.chunk.metadata["community"]
    below = [chunk for chunk in every if chunk.parent == best.chunk.index]
    passages = retriever.passages("What did Judge Judy do?", 32)
    assert {passage.document for passage in passages[:1]} == {"law"}
    assert {chunk.text for chunk in below} & {hit.chunk.text for passage in passages for hit in passage.hits}
    leaves = Retriever(chunks).search("What did Judge Judy do?", 20)
    assert all(hit.chunk.spans for hit in leaves)


def test_levels_are_candidates_of_a_comparison():
    answer = "A captain kept the key."
    start = GUIDE.index(answer)
    question = Question("Who kept the key of the rum?", (Reference("guide.md", Span(start, start + len(answer))),))
    task = EvaluationTask((Document(GUIDE, "guide.md"),), (question, question), budget=20)
    own = candidate("hierarchical", "levels", levels=["section", "sentence"])
    ways = [
        Search("hybrid", levels=levels, merge=merge) for levels in ("both", "local", "global") for merge in (None, 0.3)
    ]
    results = evaluate(searches_of(own, ways), task)
    assert not results.failures
    recalls = {result.search: float(result.recall.mean()) for result in results}
    assert recalls["hybrid"] == recalls["hybrid, local"] == 1
    assert list(recalls) == [search.label for search in ways]


def test_sections_give_way_to_their_leaves_in_order():
    hierarchy = ChunkHierarchy(np.array([-1, 0, 0, -1]))
    sections, leaves = Ranking(np.array([3, 0]), np.array([2.0, 1.0])), Ranking(np.array([2]), np.array([1.0]))
    expanded = expand_downward(sections, hierarchy, leaves)
    assert expanded.chunks.tolist() == [3, 0, 2, 1]
    assert without_parts(expanded, hierarchy).chunks.tolist() == [3, 0]


def test_labels_name_what_differs():
    every = Search("hybrid", neighbors=True, levels="global", answer="long", section_weight=2, merge=0.5)
    assert every.label == "hybrid, neighbors, global, long, sections 2, merged over 0.5"
    assert Search(levels="both", answer="short", section_weight=None, merge=None).label == "dense"
