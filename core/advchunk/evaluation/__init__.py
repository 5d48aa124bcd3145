"""Score chunkers by their boundaries against true segments, and by retrieval against known answers.

>>> from advchunk.evaluation import even_split, pk, synthetic
>>> text = synthetic(1, segments=4)
>>> pk(text.cuts, text.cuts), pk(text.cuts, even_split(len(text.units), 4)) > 0
(0.0, True)
"""

from advchunk.biomedical.claims import Claim, numeric_claims
from advchunk.evaluation.comparison.baselines import auto_merging, baselines, parent_documents, sentence_windows
from advchunk.evaluation.comparison.candidates import (
    Candidate,
    SizeMatched,
    candidate,
    even_split_candidate,
    external,
    match_size,
    named_searches,
    searches_of,
    size_matched,
    with_vectors,
)
from advchunk.evaluation.comparison.comparisons import Comparison, compare, compare_by_kind
from advchunk.evaluation.comparison.harness import EvaluationResults, FailedCandidate, Result, evaluate, run
from advchunk.evaluation.comparison.recommend import Option, Recommendation, recommend
from advchunk.evaluation.comparison.robustness import (
    Effect,
    ItemScores,
    Sensitivity,
    Variation,
    answer_scorer,
    boundary_scorer,
    brittleness_notes,
    sensitivity,
    variations,
)
from advchunk.evaluation.comparison.tables import as_csv, as_markdown
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.data.dataset import Dataset
from advchunk.evaluation.data.held_out import held_out_questions
from advchunk.evaluation.data.llm_questions import QUESTION_PROMPT, QUESTION_PROMPT_VERSION, generate_questions
from advchunk.evaluation.data.questions import (
    Question,
    Reference,
    find_quote,
    read_corpus,
    read_questions,
    write_questions,
)
from advchunk.evaluation.data.section_boundaries import section_boundaries
from advchunk.evaluation.data.segmented_text import SegmentedText, read_choi, read_folder
from advchunk.evaluation.data.synthetic import synthetic
from advchunk.evaluation.metrics.boundaries import (
    BoundaryScores,
    boundary_scores,
    even_split,
    no_boundary,
    pk,
    random_cuts,
    window_diff,
)
from advchunk.evaluation.metrics.metering import RunCost, TokenPrices
from advchunk.evaluation.metrics.retrieval import (
    Overlaps,
    RetrievalScores,
    at_budget,
    at_k,
    find_overlaps,
    precision_omega,
    rank,
    redundancy,
    similarities,
    token_scale,
)
from advchunk.evaluation.metrics.statistics import Difference, Interval, holm, mean_interval, paired_difference
from advchunk.registry import Registration

__all__ = [
    "QUESTION_PROMPT", "QUESTION_PROMPT_VERSION", "BoundaryScores", "Candidate", "Claim", "Comparison", "Dataset",
    "Difference", "Effect", "EvaluationResults", "EvaluationTask", "FailedCandidate", "Interval", "ItemScores", "Option", "Overlaps", "Question",
    "Recommendation", "Reference", "Result", "RetrievalScores", "RunCost", "SegmentedText", "Sensitivity",
    "SizeMatched", "TokenPrices", "Variation", "answer_scorer", "as_csv", "as_markdown", "at_budget", "at_k", "auto_merging", "baselines",
    "boundary_scorer", "boundary_scores", "brittleness_notes", "candidate", "compare", "compare_by_kind",
    "evaluate", "even_split", "even_split_candidate", "external", "find_overlaps", "find_quote",
    "generate_questions", "held_out_questions", "holm", "match_size", "mean_interval", "named_searches", "no_boundary",
    "numeric_claims", "paired_difference", "parent_documents", "pk", "precision_omega", "random_cuts", "rank", "read_choi",
    "read_corpus", "read_folder", "read_questions", "recommend", "redundancy", "run", "searches_of", "section_boundaries",
    "sensitivity", "sentence_windows", "similarities", "size_matched", "synthetic", "token_scale", "variations", "window_diff", "with_vectors", "write_questions",
]  # fmt: skip

REGISTRATIONS = (
    Registration(
        kind="command",
        name="evaluate",
        path="advchunk.evaluation.commands:evaluate_command",
        summary="compare chunkers",
    ),
    Registration(
        kind="command",
        name="recommend",
        path="advchunk.evaluation.commands:recommend_command",
        summary="choose a chunker",
    ),
    Registration(
        kind="command",
        name="questions",
        path="advchunk.evaluation.commands:questions_command",
        summary="write questions on documents",
    ),
)
