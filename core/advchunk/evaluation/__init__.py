"""Score chunkers by their boundaries against true segments, and by retrieval against known answers.

>>> from advchunk.evaluation import even_split, pk, synthetic
>>> text = synthetic(1, segments=4)
>>> pk(text.cuts, text.cuts), pk(text.cuts, even_split(len(text.units), 4)) > 0
(0.0, True)
"""

from advchunk.lazy import by_module, lazy_names

_NAMES = by_module({  # __init__.pyi lists the same names for type checkers
    ".comparison.baselines": "baselines",
    ".comparison.candidates": "Candidate SizeMatched candidate external named_searches searches_of size_matched with_vectors",
    ".comparison.comparisons": "compare compare_by_kind",
    ".comparison.harness": "Result evaluate",
    ".comparison.recommend": "recommend",
    ".comparison.tables": "as_markdown",
    ".comparison.task": "EvaluationTask",
    ".data.dataset": "Dataset",
    ".data.held_out": "held_out_questions",
    ".data.llm_questions": "generate_questions",
    ".data.questions": "Question Reference read_corpus read_questions write_questions",
    ".data.section_boundaries": "section_boundaries",
    ".data.segmented_text": "SegmentedText read_choi read_folder",
    ".data.synthetic": "synthetic",
    ".metrics.boundaries": "boundary_scores even_split pk window_diff",
})  # fmt: skip
_MOVED = by_module({
    ".comparison.baselines": "auto_merging parent_documents sentence_windows",
    ".comparison.candidates": "brittleness_notes even_split_candidate match_size",
    ".comparison.comparisons": "Comparison",
    ".comparison.harness": "EvaluationResults FailedCandidate run",
    ".comparison.recommendation": "Option Recommendation",
    ".comparison.tables": "as_csv",
    ".data.llm_questions": "QUESTION_PROMPT QUESTION_PROMPT_VERSION",
    ".data.questions": "find_quote",
    ".metrics.boundaries": "BoundaryScores no_boundary random_cuts",
    ".metrics.metering": "RunCost TokenPrices",
    ".metrics.retrieval": "Overlaps RetrievalScores at_budget at_k find_overlaps precision_omega rank redundancy similarities",
    ".metrics.statistics": "Difference Interval holm mean_interval paired_difference",
    "advchunk.chunkers.biomedical.claims": "Claim numeric_claims",
})  # fmt: skip
_GONE = {"token_scale": "scores count characters, and budgets count tokens"} | dict.fromkeys(
    ["Effect", "ItemScores", "Sensitivity", "Variation", "answer_scorer", "boundary_scorer", "sensitivity", "variations"],
    "sensitivity to parameters is measured by benchmarks/robustness.py in the repository",
)  # fmt: skip

__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES, _MOVED, _GONE)
