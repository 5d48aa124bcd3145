"""Make questions for documents that have none: from their sentences, from their headings, or by a language model."""

from advchunk.evaluation.builders.asking import asked_by
from advchunk.evaluation.builders.built import Built
from advchunk.evaluation.builders.headings import section_boundaries
from advchunk.evaluation.builders.sentences import held_out
from advchunk.evaluation.questions import write_questions
from advchunk.prompts.questions import PROMPT, PROMPT_VERSION

__all__ = ["PROMPT", "PROMPT_VERSION", "Built", "asked_by", "held_out", "section_boundaries", "write_questions"]
