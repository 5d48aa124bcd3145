"""Score chunkers: where they cut, beside known segments; what their chunks let one find, beside known answers.

>>> from advchunk.evaluation import even_split, pk, synthetic
>>> made = synthetic(1, segments=4)
>>> pk(made.cuts, made.cuts), pk(made.cuts, even_split(len(made.units), 4)) > 0
(0.0, True)
"""

from advchunk.evaluation.boundaries import (
    BoundaryScores,
    boundary_scores,
    even_split,
    no_boundary,
    pk,
    random_cuts,
    window_diff,
)
from advchunk.evaluation.datasets import Segmented, read_choi, read_folder
from advchunk.evaluation.questions import Question, Reference, find_quote, read_corpus, read_questions
from advchunk.evaluation.retrieval import (
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
from advchunk.evaluation.statistics import Difference, Interval, holm, mean_interval, paired_difference
from advchunk.evaluation.synthetic import synthetic

__all__ = [
    "BoundaryScores",
    "Difference",
    "Interval",
    "Overlaps",
    "Question",
    "Reference",
    "RetrievalScores",
    "Segmented",
    "at_budget",
    "at_k",
    "boundary_scores",
    "even_split",
    "find_quote",
    "holm",
    "mean_interval",
    "no_boundary",
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
    "redundancy",
    "synthetic",
    "token_scale",
    "window_diff",
]
