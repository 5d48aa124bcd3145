"""Score chunkers: where they cut, beside known segments; what their chunks let one find, beside known answers.

>>> from advchunk.evaluation import even_split, pk
>>> from advchunk.evaluation import synthetic
>>> made = synthetic(1, segments=4)
>>> pk(made.cuts, made.cuts), pk(made.cuts, even_split(len(made.units), 4)) > 0
(0.0, True)
"""

from advchunk.chunkers.biomedical.claims import Claim, numeric_claims
from advchunk.evaluation.comparison.candidates import (
    Candidate,
    Matched,
    candidate,
    evenly,
    external,
    matched,
    size_matched,
)
from advchunk.evaluation.comparison.harness import Outcome, evaluate, run
from advchunk.evaluation.comparison.recommend import Option, Recommendation, recommend
from advchunk.evaluation.comparison.robustness import (
    Effect,
    Scores,
    Sensitivity,
    Variation,
    answer_measure,
    boundary_measure,
    notes,
    sensitivity,
    variations,
)
from advchunk.evaluation.comparison.standings import Standing, as_csv, as_markdown, compare, compare_each
from advchunk.evaluation.comparison.trial import Trial
from advchunk.evaluation.data.builders import (
    PROMPT,
    PROMPT_VERSION,
    Built,
    asked_by,
    held_out,
    section_boundaries,
    write_questions,
)
from advchunk.evaluation.data.datasets import Segmented, read_choi, read_folder
from advchunk.evaluation.data.questions import Question, Reference, find_quote, read_corpus, read_questions
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
from advchunk.evaluation.metrics.metering import Cost, Prices
from advchunk.evaluation.metrics.retrieval import (
    Overlaps,
    RetrievalScores,
    at_budget,
    at_k,
    overlaps,
    precision_omega,
    rank,
    redundancy,
    token_scale,
)
from advchunk.evaluation.metrics.statistics import Difference, Interval, holm, mean_interval, paired_difference

__all__ = [
    "PROMPT",
    "PROMPT_VERSION",
    "BoundaryScores",
    "Built",
    "Candidate",
    "Claim",
    "Cost",
    "Difference",
    "Effect",
    "Interval",
    "Matched",
    "Option",
    "Outcome",
    "Overlaps",
    "Prices",
    "Question",
    "Recommendation",
    "Reference",
    "RetrievalScores",
    "Scores",
    "Segmented",
    "Sensitivity",
    "Standing",
    "Trial",
    "Variation",
    "answer_measure",
    "as_csv",
    "as_markdown",
    "asked_by",
    "at_budget",
    "at_k",
    "boundary_measure",
    "boundary_scores",
    "candidate",
    "compare",
    "compare_each",
    "evaluate",
    "even_split",
    "evenly",
    "external",
    "find_quote",
    "held_out",
    "holm",
    "matched",
    "mean_interval",
    "no_boundary",
    "notes",
    "numeric_claims",
    "overlaps",
    "paired_difference",
    "pk",
    "precision_omega",
    "random_cuts",
    "rank",
    "read_choi",
    "read_corpus",
    "read_folder",
    "read_questions",
    "recommend",
    "redundancy",
    "run",
    "section_boundaries",
    "sensitivity",
    "size_matched",
    "synthetic",
    "token_scale",
    "variations",
    "window_diff",
    "write_questions",
]
