"""Make questions for documents that have none: from their sentences, from their headings, or by a language model."""

from advchunk.evaluation.data.builders.asking import asked_by
from advchunk.evaluation.data.builders.built import Built
from advchunk.evaluation.data.builders.headings import section_boundaries
from advchunk.evaluation.data.builders.prompts import PROMPT, PROMPT_VERSION
from advchunk.evaluation.data.builders.sentences import held_out
from advchunk.evaluation.data.questions import write_questions

__all__ = ["PROMPT", "PROMPT_VERSION", "Built", "asked_by", "held_out", "section_boundaries", "write_questions"]
