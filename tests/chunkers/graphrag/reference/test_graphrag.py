"""GraphRAG's communities against those of microsoft's graphrag, and its parts against slow, readable twins."""

import json
from collections import Counter
from itertools import combinations
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.chunkers.graphrag.central_sentences import Sentence, summarize
from advchunk.chunkers.graphrag.communities import (
    SEED,
    Community,
    build_tree,
    detect_hierarchy,
    leiden_version,
    place_leaves,
)
from advchunk.chunkers.graphrag.extraction import relate
from advchunk.chunkers.graphrag.graph import Mention, build_graph
from advchunk.records import Span
from advchunk.text.counters import WORDS

GOLDEN = json.loads((Path(__file__).parents[3] / "data" / "golden_graphrag.json").read_text())
NAMES = st.sampled_from("abcdefghij")
EDGES = st.lists(st.tuples(NAMES, NAMES, st.sampled_from([0.5, 1.0, 2.0])).filter(lambda e: e[0] != e[1]), max_size=25)


@pytest.mark.parametrize("run", [run for run in GOLDEN["runs"].get(leiden_version(), []) if not run[1][1]], ids=str)
def test_communities_are_those_of_microsofts_graphrag(run):
    name, (max_size, _, seed), expected = run
    edges = GOLDEN["edges"][name]
    result = detect_hierarchy(edges, max_size, seed=seed)
    assert [[level, number, parent, list(names)] for level, number, parent, names in result] == expected
    backwards = [(b, a, weight) for a, b, weight in edges]
    if name != "repeated":
        assert detect_hierarchy(backwards[::-1], max_size, seed=seed) == result


@given(EDGES)
def test_communities_divide_their_parents_and_lose_no_entity_with_an_edge(edges):
    result = detect_hierarchy(edges, 2)
    by_number = {community.number: community for community in result}
    assert len(by_number) == len(result)
    tops = [name for community in result if community.level == 0 for name in community.members]
    assert sorted(tops) == sorted({name for a, b, _ in edges for name in (a, b)})
    for community in result:
        if community.parent >= 0:
            assert by_number[community.parent].level == community.level - 1
            assert set(community.members) <= set(by_number[community.parent].members)


SENTENCES = st.lists(st.lists(NAMES, max_size=4), max_size=6)


@given(st.lists(SENTENCES, max_size=4), st.integers(1, 3), st.sampled_from(["association", "sum"]))
def test_weights_are_their_formulas(leaves, least, weighting):
    def spans(sentences):
        return [(Span(i, i + 1), [Mention(name, i, i + 1) for name in names]) for i, names in enumerate(sentences)]

    extractions = {str(i): (10 * i, relate(spans(sentences))) for i, sentences in enumerate(leaves)}
    graph = build_graph(extractions, min_mentions=least, weighting=weighting)
    every = [names for sentences in leaves for names in sentences]
    frequency = Counter(name for names in every for name in names)
    frequency = {name: n for name, n in frequency.items() if n >= least}
    together = Counter(pair for names in every for pair in combinations(sorted(set(names) & frequency.keys()), 2))

    def weight(a, b):
        if weighting == "sum":
            return together[a, b]
        return together[a, b] / sqrt(frequency[a] * frequency[b])

    expected = {pair: weight(*pair) for pair in together}
    assert {pair: edge.weight for pair, edge in graph.edges.items()} == pytest.approx(
        {pair: value for pair, value in expected.items() if value > 0}
    )
    assert {name: len(entity.places) for name, entity in graph.entities.items()} == frequency
    for (a, b), edge in graph.edges.items():
        places = [(place.leaf, place.span.start - 10 * int(place.leaf)) for place in edge.places]
        assert places == [(str(i), j) for i, leaf in enumerate(leaves) for j, s in enumerate(leaf) if {a, b} <= {*s}]


@given(SENTENCES.filter(bool), st.integers(1, 8))
def test_a_summary_is_chosen_greedily(rows, most):
    strengths = dict(zip("abcdefghij", [3.0, 1.0, 2.5, 0.0, 4.0, 1.5, 2.0, 0.5, 1.25, 3.5], strict=True))
    sentences = [
        Sentence("d", Span(9 * i, 9 * i + 5), " ".join(["w"] * (1 + i % 3)), frozenset(s)) for i, s in enumerate(rows)
    ]
    chosen, covered = [], set()
    candidates = set(range(len(rows)))
    while candidates:
        worth = {i: sum(strengths[name] for name in set(rows[i]) - covered) for i in candidates}
        best = min(worth, key=lambda i: (-worth[i], i))
        if not worth[best]:
            break
        candidates.remove(best)
        if sum(1 + i % 3 for i in [*chosen, best]) <= most:
            chosen.append(best)
            covered |= set(rows[best])
        elif chosen:
            break
    summary = summarize(sentences, strengths, {name: name for name in strengths}, most, WORDS)
    if chosen:
        assert [span.start // 9 for _, span in summary.sources] == sorted(chosen)
    assert WORDS(summary.text) <= most


@given(EDGES, st.lists(st.dictionaries(NAMES, st.integers(1, 3), max_size=4), min_size=1, max_size=12))
def test_a_tree_has_all_leaves_below_the_communities_of_most_of_their_mentions(edges, leaves):
    communities = detect_hierarchy(edges, 2)
    places = place_leaves(communities, leaves)
    tree = build_tree(communities, leaves, places)
    parents = {leaf: i for i, node in enumerate(tree) for leaf in node.leaves}
    assert sorted(parents) == list(range(len(leaves)))
    kids = Counter(node.parent for node in tree[1:])
    for i, node in enumerate(tree):
        assert (node.parent is None) == (i == 0)
        if i:
            assert node.parent < i
            assert node.depth == tree[node.parent].depth + 1
            assert kids[i] + len(node.leaves) > 1

    def smallest(mentions, inside=-1):
        parts = [community for community in communities if community.parent == inside]
        votes = {part.number: sum(mentions.get(name, 0) for name in part.members) for part in parts}
        best = min(votes, key=lambda number: (-votes[number], number), default=None)
        return inside if best is None or not votes[best] else smallest(mentions, best)

    assert places == [smallest(mentions) for mentions in leaves]
    members = {community.number: set(community.members) for community in communities}
    for i, node in enumerate(tree):
        assert set(node.members) <= {name for leaf in node.below for name in leaves[leaf]}
        assert node.below == tuple(sorted([*node.leaves, *(j for n in tree if n.parent == i for j in n.below)]))
    for leaf, number in enumerate(places):
        if number >= 0 and parents[leaf]:
            assert members[number] & leaves[leaf].keys() <= set(tree[parents[leaf]].members)


def test_seed_is_microsofts():
    assert SEED == 0xDEADBEEF
    assert detect_hierarchy([]) == []
    assert detect_hierarchy([("a", "b", 1)]) == [Community(0, 0, -1, ("a", "b"))]
