"""Score what a chunker does, against texts whose segments are known.

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
from advchunk.evaluation.synthetic import synthetic

__all__ = [
    "BoundaryScores",
    "Segmented",
    "boundary_scores",
    "even_split",
    "no_boundary",
    "pk",
    "random_cuts",
    "read_choi",
    "read_folder",
    "synthetic",
    "window_diff",
]
