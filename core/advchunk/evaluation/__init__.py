"""Score chunkers by their boundaries against true segments, and by retrieval against known answers.

>>> from advchunk.evaluation import even_split, pk, synthetic
>>> text = synthetic(1, segments=4)
>>> pk(text.cuts, text.cuts), pk(text.cuts, even_split(len(text.units), 4)) > 0
(0.0, True)
"""

from advchunk.registry import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".comparison.baselines": "baselines",
    ".comparison.candidates": "Candidate SizeMatched candidate external named_searches searches_of size_matched "
                              "with_vectors",
    ".comparison.comparisons": "compare",
    ".comparison.harness": "Result evaluate",
    ".comparison.recommend": "recommend",
    ".comparison.report": "as_markdown",
    ".comparison.task": "EvaluationTask",
    ".data.dataset": "Dataset held_out_questions section_boundaries",
    ".data.questions": "Question Reference read_corpus read_questions write_questions",
    ".data.segmented_text": "SegmentedText read_choi read_folder synthetic",
    ".metrics.boundaries": "boundary_scores even_split pk window_diff",
})  # fmt: skip
