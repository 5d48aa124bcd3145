"""How each algorithm is tested and measured: one entry per algorithm, for the tests and the benchmarks."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

Parameters: TypeAlias = Mapping[str, Any]
_NONE: Mapping[str, Any] = MappingProxyType({})


def _none(longest: int) -> Parameters:  # noqa: ARG001
    return _NONE


class Algorithm(NamedTuple):
    """The entry of an algorithm.

    Parameters
    ----------
    planted : parameters that separate the two topics in `tests/planted.py`; None if the algorithm cuts by something
        other than topics, and need not find any.
    levels : number of levels of its chunks, each of which tiles the text.
    corpus : True if the documents of a call are one tree: its leaves are the chunks of documents and tile the texts,
        the others are summaries without spans, and ``index`` and ``parent`` number all chunks of the call.
    models : a stand-in for each model that the chunker needs, as "module:object" in `tests/`.
    verbatim : parameters under which chunks are verbatim parts of any text.
    shifts : for an experimental chunker: parameters that find where topics of made-up words change, given the number
        of sentences of the longest segment.
    quality : configurations for `quality.py`, by label; "K" is the true number of segments.
    """

    planted: Parameters | None = _NONE
    levels: int = 1
    corpus: bool = False
    models: Mapping[str, str] = _NONE
    verbatim: Parameters = _NONE
    shifts: Callable[[int], Parameters] = _none
    quality: Mapping[str, Parameters] = _NONE


def _sections(longest: int) -> Parameters:  # noqa: ARG001 - the sizes of segments do not matter
    from advchunk import OptimalSemanticChunker

    return {"max_tokens": 20_000, "inner": OptimalSemanticChunker(penalty=1.0)}


class _Algorithms(dict[str, Algorithm]):
    """The entries by name; a chunker without one is tested with its defaults."""

    def __missing__(self, name: str) -> Algorithm:
        return Algorithm()


ALGORITHMS = _Algorithms(
    {
        "texttiling": Algorithm(
            planted={"preset": "fine"},
            shifts=lambda longest: {"preset": "fine", "spacing": 0, "block_size": max(longest // 4, 1)},
            quality={
                "texttiling, default": {},
                "texttiling, hearst": {"preset": "hearst"},
                "texttiling, fine": {"preset": "fine"},
                "texttiling, coarse": {"preset": "coarse"},
            },
        ),
        "c99": Algorithm(
            planted={"min_segment_length": 0},
            shifts=lambda longest: {"min_segment_length": 0, "n_segments": None if longest > 3 else 6},
            quality={
                "c99, default": {},
                "c99, no minimum size": {"min_segment_length": 0},
                "c99, glasgow": {"min_segment_length": 0, "stop_words": "glasgow"},
                "c99, coarse": {"preset": "coarse"},
                "c99, K known": {"min_segment_length": 0, "n_segments": "K"},
            },
        ),
        "bayesseg": Algorithm(
            planted={"min_segment_tokens": 0},
            shifts=lambda _: {"min_segment_tokens": 0},
            quality={
                "bayesseg, default": {},
                "bayesseg, no minimum size": {"min_segment_tokens": 0},
                "bayesseg, long": {"min_segment_tokens": 0, "preset": "long"},
                "bayesseg, K known": {"min_segment_tokens": 0, "n_segments": "K"},
                "bayesseg, as published": {
                    "min_segment_tokens": 0,
                    "segment_cost": 0.0,
                    "prior_strength": 0.2,
                    "stop_words": "glasgow",
                },
                "utiyama-isahara": {"min_segment_tokens": 0, "likelihood": "utiyama-isahara"},
                # The longer stop list of the originals. It was not chosen by these figures: on 3-11 the short one is
                # better.
                "utiyama-isahara, glasgow": {
                    "min_segment_tokens": 0,
                    "likelihood": "utiyama-isahara",
                    "stop_words": "glasgow",
                },
                "utiyama-isahara, glasgow, K known": {
                    "min_segment_tokens": 0,
                    "likelihood": "utiyama-isahara",
                    "stop_words": "glasgow",
                    "n_segments": "K",
                },
            },
        ),
        "lda-topic": Algorithm(
            planted={"preset": "depth", "num_topics": 2},
            shifts=lambda longest: {"preset": "depth", "block_size": max(longest // 3, 2)},
            quality={
                "lda-topic, default": {},
                "lda-topic, depth": {"preset": "depth"},
                "lda-topic, topictiling": {"preset": "topictiling"},
                "lda-topic, coarse": {"preset": "coarse"},
            },
        ),
        "semantic-cluster": Algorithm(
            planted={"n_clusters": 2},
            shifts=lambda _: {"connectivity": "chain", "n_clusters": 6, "min_cluster_size": 1},
            quality={
                "semantic-cluster, default": {},
                "semantic-cluster, chain": {"preset": "chain"},
                "semantic-cluster, coarse": {"preset": "coarse"},
                "semantic-cluster, hdbscan": {"method": "hdbscan"},
            },
        ),
        "graph-partition": Algorithm(
            planted={"preset": "neighbors"},
            shifts=lambda longest: {"preset": "neighbors"} if longest > 3 else {"threshold": 0.45},
            quality={
                "graph-partition, default": {},
                "graph-partition, neighbors": {"preset": "neighbors"},
                "graph-partition, coarse": {"preset": "coarse"},
                "graph-partition, neighbors, leiden": {"preset": "neighbors", "method": "leiden"},
            },
        ),
        "optimal-semantic": Algorithm(
            quality={
                "optimal-semantic": {"max_tokens": 100_000},
                "optimal-semantic, independent": {"max_tokens": 100_000, "evidence": "independent"},
                "optimal-semantic, K known": {"max_tokens": 100_000, "n_segments": "K"},
            },
        ),
        "discourse": Algorithm(
            planted={"target_tokens": 40},
            shifts=lambda longest: {"max_tokens": 20_000, "target_tokens": 33 * longest},
            quality={"discourse": {"max_tokens": 4000, "target_tokens": 320}},
        ),
        "semantic-threshold": Algorithm(
            planted={"buffer_size": 0, "breakpoint_threshold_amount": 91.0}, quality={"semantic-threshold": {}}
        ),
        "universal-semantic": Algorithm(
            planted={"min_chunk_size": 20, "threshold_percentile": 10.0},
            quality={"universal-semantic": {}, "universal-semantic, relative": {"preset": "relative"}},
        ),
        "sliding-window": Algorithm(planted={"max_tokens": 45}),
        "recursive": Algorithm(planted={"max_tokens": 45}),
        "auto": Algorithm(planted={"max_tokens": 45}),
        "hierarchical": Algorithm(
            planted={"max_tokens": 45, "levels": ["section", "recursive", "recursive"]}, levels=3
        ),
        "graphrag": Algorithm(planted={"max_tokens": 45}, corpus=True),
        "mst-semantic": Algorithm(planted={"granularity": "sentence", "n_segments": 2}),
        "perplexity": Algorithm(planted={"combine": False}, models={"lm": "lm:Words"}),
        "margin-sampling": Algorithm(planted={"window": None, "combine": False}, models={"lm": "lm:Words"}),
        "biomedical-abstract": Algorithm(
            planted={"max_tokens": 45, "min_tokens": 45, "overlap_tokens": 0},
            verbatim={"normalize": False, "include_context": False},
        ),
        "grobid-section": Algorithm(verbatim={"markup": "markdown"}, shifts=_sections),
        "layout-aware": Algorithm(
            verbatim={"markup": "markdown", "split_tables": True, "hard_stops": "section"}, shifts=_sections
        ),
        "llm-chaptering": Algorithm(
            models={"llm": "chats:Editor"},
            shifts=lambda longest: {"support_width": 1, "support": 60.0} if longest <= 3 else {},
        ),
    }
)
