"""Context-aware summaries: say in one sentence what each chunk says, and what its reader needs from the document."""

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from advchunk.engine import ChatRequest, Plan
from advchunk.enrich.base import Enricher, Estimate, check_placeholders, default_prompt
from advchunk.enrich.document_context import DocumentContext
from advchunk.errors import is_integer, require, require_answer
from advchunk.models.prompts import TEXT, fill_prompt, get_property, object_schema, single_line
from advchunk.records import Chunk

_NOTES, _SUMMARY = object_schema(needs=TEXT, says=TEXT), object_schema(summary=TEXT)
_NOTES_TOKENS, _SUMMARY_TOKENS = 768, 256  # maximum of an answer
_WORDS_PER_TOKEN: Final = 0.7


class SummaryPrompts(NamedTuple):
    """The prompts of the two stages of `Summaries`."""

    survey: str = default_prompt("survey")
    condense: str = default_prompt("condense")
    version: str = "summaries-2"


@dataclass(kw_only=True)
class Summaries(Enricher):
    r"""Add a context-aware summary of one sentence to each chunk's ``context``, in two stages.

    First the model sees the document and the chunk, and says what the chunk lacks and what it says. Then it condenses
    this to one sentence. The sentence follows titles and headings in ``context``, so it is embedded and searched with
    the text and counts in ``tokens``; it is also in ``metadata["summary"]``. The text does not change.

    The prompt of the first stage has the whole document if it fits into ``max_context``. Otherwise it has the outline
    of its headings, and half of the rest each for its beginning, with its names, and the text near the chunk.

    A sentence of more than ``summary_tokens`` is asked for again. If ``max_tokens`` leaves no room for it, it is left
    out, with a warning, and ``metadata["summary_status"]`` is "over max_tokens".

    Parameters
    ----------
    summary_tokens : maximum tokens of the sentence, 8..256.
    prompts : prompts of the two stages, and their version.

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking: Learning text segmentation and semantic completion via logical perception",
    two-stage context-aware summary generation. The prompts, and what they show, are ours.

    Examples
    --------
    >>> from advchunk import RecursiveChunker
    >>> def llm(prompt):
    ...     if "<needs>" in prompt:
    ...         return '{"summary": "How courts rule, from a text on cats and courts."}'
    ...     return '{"needs": "The text is on cats and courts.", "says": "Courts rule on law."}'
    >>> text = "Cats nap all day. Courts rule on law."
    >>> chunks = RecursiveChunker(max_tokens=6).chunk(text)
    >>> Summaries(llm=llm).enrich(text, chunks)[1].embed_text
    'How courts rule, from a text on cats and courts.\n\nCourts rule on law.'
    >>> Summaries(llm=llm).estimate([(text, chunks)]).requests
    4
    """

    writes: ClassVar[str] = "summary"
    summary_tokens: int = 64
    prompts: SummaryPrompts = field(default=SummaryPrompts(), repr=False)

    def check(self) -> None:
        """Raise `ConfigurationError` if a parameter is invalid."""
        valid = is_integer(self.summary_tokens, 8) and self.summary_tokens <= _SUMMARY_TOKENS
        require(valid, f"summary_tokens must be a whole number in 8..{_SUMMARY_TOKENS}", self.summary_tokens)
        check_placeholders(self.prompts, SummaryPrompts, survey=("document", "passage"), condense=("needs", "says"))

    def plan(self, chunk: Chunk, context: DocumentContext) -> Plan[Chunk]:
        """Ask what a chunk lacks and says, then for one sentence."""
        survey = self.fill_in_document(self.prompts.survey, chunk, context, _NOTES_TOKENS)
        needs, says = yield from self.ask(survey, _NOTES, _parse_notes, _NOTES_TOKENS)
        condense = self._condense(needs or "nothing", says)
        summary = yield from self.ask(condense, _SUMMARY, self._parse_summary, _SUMMARY_TOKENS)
        if self.has_room(chunk, summary):
            return self.add_context(chunk, summary)
        return self.add_context(chunk, "", self.warn_of_size(chunk))

    def later(self, request: ChatRequest, chunk: Chunk) -> Estimate:  # noqa: ARG002
        """Return the cost of the second stage for a request of the first, with the longest notes."""
        if request.schema != json.dumps(_NOTES):
            return Estimate()
        return Estimate(1, self.counter(self._condense("", "")) + _NOTES_TOKENS, 0, _SUMMARY_TOKENS)

    def _condense(self, needs: str, says: str) -> str:
        words = str(int(self.summary_tokens * _WORDS_PER_TOKEN))
        return fill_prompt(self.prompts.condense, needs=needs, says=says, words=words)

    def _parse_summary(self, answer: Any) -> str:
        summary = single_line(get_property(answer, "summary", str))
        tokens = self.counter(summary)
        rule = f"a summary must have 1..{self.summary_tokens} tokens"
        require_answer(0 < tokens <= self.summary_tokens, f"{rule}, got {tokens}: {summary[:80]!r}")
        return summary


def _parse_notes(answer: Any) -> tuple[str, str]:
    needs, says = (single_line(get_property(answer, name, str)) for name in ("needs", "says"))
    require_answer(says != "", "an answer must have 'says', a text that is not empty")
    return needs, says
