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
from advchunk.evaluation.harness import Candidate, Outcome, Trial, candidate, evaluate, matched, peer
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
from advchunk.evaluation.standings import Standing, as_csv, as_markdown, compare
from advchunk.evaluation.statistics import Difference, Interval, holm, mean_interval, paired_difference
from advchunk.evaluation.synthetic import synthetic

__all__ = [
    "BoundaryScores",
    "Candidate",
    "Difference",
    "Interval",
    "Outcome",
    "Overlaps",
    "Question",
    "Reference",
    "RetrievalScores",
    "Segmented",
    "Standing",
    "Trial",
    "as_csv",
    "as_markdown",
    "at_budget",
    "at_k",
    "boundary_scores",
    "candidate",
    "compare",
    "evaluate",
    "even_split",
    "find_quote",
    "holm",
    "matched",
    "mean_interval",
    "no_boundary",
    "overlaps",
    "paired_difference",
    "peer",
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
