# ruff: isort: skip_file
from advchunk.evaluation.comparison.baselines import baselines as baselines
from advchunk.evaluation.comparison.candidates import (
    Candidate as Candidate,
    SizeMatched as SizeMatched,
    candidate as candidate,
    external as external,
    named_searches as named_searches,
    searches_of as searches_of,
    size_matched as size_matched,
    with_vectors as with_vectors,
)
from advchunk.evaluation.comparison.comparisons import compare as compare, compare_by_kind as compare_by_kind
from advchunk.evaluation.comparison.harness import Result as Result, evaluate as evaluate
from advchunk.evaluation.comparison.recommend import recommend as recommend
from advchunk.evaluation.comparison.tables import as_markdown as as_markdown
from advchunk.evaluation.comparison.task import EvaluationTask as EvaluationTask
from advchunk.evaluation.data.dataset import Dataset as Dataset
from advchunk.evaluation.data.held_out import held_out_questions as held_out_questions
from advchunk.evaluation.data.llm_questions import generate_questions as generate_questions
from advchunk.evaluation.data.questions import (
    Question as Question,
    Reference as Reference,
    read_corpus as read_corpus,
    read_questions as read_questions,
    write_questions as write_questions,
)
from advchunk.evaluation.data.section_boundaries import section_boundaries as section_boundaries
from advchunk.evaluation.data.segmented_text import (
    SegmentedText as SegmentedText,
    read_choi as read_choi,
    read_folder as read_folder,
)
from advchunk.evaluation.data.synthetic import synthetic as synthetic
from advchunk.evaluation.metrics.boundaries import (
    boundary_scores as boundary_scores,
    even_split as even_split,
    pk as pk,
    window_diff as window_diff,
)
