"""Values out of range are refused with the rule that they break."""

from dataclasses import replace

import numpy as np

from advchunk import Chunk, ConfigurationError, RecursiveChunker, Span, chunk_files
from advchunk.retrieval import (
    ChunkPositions,
    Hit,
    PassageCutter,
    Ranking,
    Retriever,
    Search,
    SparseWords,
    StoredRetriever,
    VectorIndex,
    WindowScoring,
    assemble_passages,
    combine,
    fuse,
    rerank_by_neighbors,
)
from advchunk.text.counters import WORDS

CHUNKS = RecursiveChunker().chunk("Tea.")
ONE = Ranking(np.array([0]), np.array([1.0]))
ALONE = ChunkPositions(np.zeros(1, dtype=int), np.zeros(1))


def rerank(**parameters):
    return rerank_by_neighbors(ONE, ALONE, **parameters)


def search(**options):
    return Retriever({"a": CHUNKS}, **options)


def sparse(**parameters):
    return SparseWords(**{"mean": 40, **parameters})


def cut(question="tea", hits=(), budget=10, **options):
    return PassageCutter().cut(question, hits, budget, **options)


CASES = [
    (lambda: PassageCutter(around=-1), "around must be finite and >= 0, got -1"),
    (lambda: PassageCutter(hit_weight=float("nan")), "hit_weight must be a finite number, got nan"),
    (lambda: PassageCutter(min_tokens=1.5), "min_tokens must be a whole number, got 1.5"),
    (lambda: PassageCutter(max_passages=0), "max_passages must be a whole number >= 1 or None, got 0"),
    (lambda: PassageCutter(language=3), "language must be a string or None, got 3"),
    (lambda: PassageCutter(scoring=0), "scoring must be WindowScoring, got 0"),
    (lambda: cut(budget=0), "budget must be a whole number >= 1, got 0"),
    (lambda: cut(order="best"), "order must be one of"),
    (lambda: cut(hits=[Hit(CHUNKS[0], "a", float("nan"))]), "scores of hits must be finite"),
    (
        lambda: cut(hits=[Hit(CHUNKS[0], "a", 1.0, row_scores=(0.5,))]),
        "a hit must have a score for each of its chunk's row_",
    ),
    (lambda: cut(hits=[Hit(replace(CHUNKS[0], row_spans=None), "a", 1.0)]), "row_spans must be a collection of Span"),
    (lambda: cut(None), "question must be a string, got None"),
    (lambda: assemble_passages([], 0, WORDS), "budget must be >= 1, got 0"),
    (lambda: assemble_passages([], 5, WORDS, order="x"), "order must be one of"),
    (lambda: WindowScoring(lengths=()), "lengths must be > 0, at least one"),
    (lambda: WindowScoring(lengths=(-1, 40)), "lengths must be > 0, at least one"),
    (lambda: WindowScoring(k1=-1), "k1 must be >= 0, and b between 0 and 1"),
    (lambda: WindowScoring(b=2.0), "k1 must be >= 0, and b between 0 and 1"),
    (lambda: WindowScoring(temperature=0), "temperature and reach must be > 0"),
    (lambda: WindowScoring(reach=0), "temperature and reach must be > 0"),
    (lambda: WindowScoring(depth=0), "depth must be a whole number >= 1"),
    (lambda: WindowScoring(weight=-1), "weight must be >= 0"),
    (lambda: rerank(temperature=0), "temperature must be > 0"),
    (lambda: rerank(reach=float("inf")), "reach must be a finite number, got inf"),
    (lambda: rerank(weight=-1), "weight must be finite and >= 0"),
    (lambda: rerank(depth=0), "depth must be >= 1"),
    (lambda: rerank_by_neighbors(Ranking(np.array([1]), np.ones(1)), ALONE), "must be of the 1 chunks with positions"),
    (lambda: fuse([]), "rankings must not be empty"),
    (lambda: fuse([ONE], [1.0, 2.0]), "weights must be 1 finite numbers >= 0"),
    (lambda: fuse([ONE], [-1.0]), "weights must be 1 finite numbers >= 0"),
    (lambda: fuse([ONE], method="max"), "method must be one of"),
    (lambda: fuse([ONE], depth=0), "depth must be >= 1"),
    (lambda: Ranking.from_scores(np.ones(3), 0), "depth must be >= 1"),
    (lambda: Ranking.from_hits([0, 1, 2], [0.9, 0.1, 0.5]), "the scores of hits, best first, must not rise"),
    (lambda: Ranking.from_hits([0, 1, 2], [0.9, float("nan"), 0.1]), "scores must be a collection of finite numbers"),
    (lambda: Ranking.from_hits([0, 1, 2], [0.9, 0.1]), "scores must be 3 finite numbers"),
    (lambda: combine(None, None, Search()), "a ranking by vectors or by words must be given"),
    (lambda: VectorIndex([np.ones((1, 2)), np.ones((1, 3))]), "rows must be (m, d) for each chunk"),
    (lambda: VectorIndex([np.ones((0, 2))]), "rows must be (m, d) for each chunk"),
    (lambda: VectorIndex([np.ones(2)]), "rows must be (m, d) for each chunk"),
    (lambda: VectorIndex([np.full((1, 2), np.nan)]), "rows must be finite"),
    (lambda: VectorIndex([np.ones((1, 2))]).search(np.ones(3)), "must have the 2 dimensions of the rows"),
    (lambda: search(mode="words"), "mode must be one of"),
    (lambda: search(lexical_weight=-1), "lexical_weight must be finite and >= 0"),
    (lambda: search(levels="up"), "levels must be one of"),
    (lambda: search(answer="medium"), "answer must be one of"),
    (lambda: search(section_weight=-1), "section_weight must be finite and >= 0"),
    (lambda: search(merge=1), "merge must be between 0 and 1"),
    (lambda: search().search("tea", answer="medium"), "answer must be one of"),
    (lambda: search().search("tea", 0), "k must be a whole number >= 1"),
    (lambda: search().search(None), "query must be a string"),
    (lambda: search().add(("a", 1), CHUNKS), "document must be a string, got ('a', 1)"),
    (lambda: search().remove(["a"]), "documents must be a collection of strings"),
    (lambda: search().remove(5), "documents must be a collection of strings"),
    (
        lambda: search().add_many({"b": [Chunk("Tea.", (Span(0, 4),), 1), 3]}),
        "must be a mapping of strings to a collection of Chunk",
    ),
    (lambda: Retriever([]), "chunks must be a mapping of strings to a collection of Chunk or None, got []"),
    (lambda: StoredRetriever("https://u:secret@x.org/i"), "path must name a file, got 'https://***@x.org/i'"),
    (lambda: [*chunk_files("http://u:secret@x.org/i")], "not a URL, got 'http://***@x.org/i'"),
    (lambda: sparse(mean=0), "mean must be a number of terms > 0, got 0"),
    (lambda: sparse(mean=float("nan")), "mean must be a number of terms > 0, got nan"),
    (lambda: sparse(mean="40"), "mean must be a number of terms > 0, got '40'"),
    (lambda: sparse(mean=True), "mean must be a number of terms > 0, got True"),
    (lambda: sparse(rarity="qdrant"), "rarity must be one of ('texts', 'store'), got 'qdrant'"),
    (lambda: sparse(dimensions=0), "dimensions must be a whole number from 1 to 2^32, got 0"),
    (lambda: sparse(dimensions=2**32 + 1), "dimensions must be a whole number from 1 to 2^32"),
    (lambda: sparse().embed("tea"), "texts must be a collection of texts, got 'tea'"),
    (lambda: sparse().add("tea"), "texts must be a collection of texts, got 'tea'"),
    (lambda: SparseWords.of("tea"), "texts must be a collection of texts, got 'tea'"),
    (lambda: sparse().embed_query("tea"), "texts must be added first, or the store weight terms: rarity='store'"),
]


def test_wrong_values_are_refused():
    accepted = []
    for call, rule in CASES:
        try:
            call()
            accepted.append(rule)
        except ConfigurationError as error:
            accepted += [(rule, str(error))] if rule not in str(error) else []
    assert accepted == []
