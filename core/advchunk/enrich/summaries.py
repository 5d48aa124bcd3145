"""Summarize in one sentence how each chunk fits into its document."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from advchunk.engine import Plan
from advchunk.enrich.base import Enricher, check_placeholders, get_line, get_property
from advchunk.enrich.document_context import DocumentContext
from advchunk.enrich.prompts import SummaryPrompts
from advchunk.errors import is_integer, require
from advchunk.models.prompts import TEXT, fill_prompt, object_schema, single_line
from advchunk.records import Chunk, with_context, written_metadata
from advchunk.text import tiling

_NOTES, _SUMMARY = object_schema(needs=TEXT, says=TEXT), object_schema(summary=TEXT)
_NOTES_TOKENS, _SUMMARY_TOKENS = 768, 256  # maximum of an answer
_WORDS_PER_TOKEN = 0.7


@dataclass(kw_only=True)
class Summaries(Enricher):
    r"""Write a context-aware summary of one sentence into each chunk's ``context``.

    In two stages the model takes notes on the content of the chunk and on the context that its reader needs, and condenses
    the notes to one sentence. The sentence is added to ``context`` after titles and headings, so it is embedded
    with the text and counted in ``tokens``, and to ``metadata["summary"]``.

    If the chunk would exceed ``max_tokens``, the summary is cut at a word boundary, or dropped if less than half of it would
    remain, with a warning; text, titles and headings are kept. ``metadata["summary_status"]`` is then "shortened" or
    "dropped".

    Parameters
    ----------
    summary_tokens : maximum tokens of the sentence, >= 8.
    prompts : prompts of the two stages, and their version.

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking: Learning text segmentation and semantic completion via logical perception", context-aware
    summary generation. The prompts are ours.

    Examples
    --------
    >>> from advchunk import RecursiveChunker
    >>> def llm(prompt):
    ...     if "<needs>" in prompt:
    ...         return '{"summary": "How courts rule, from a text on cats and courts."}'
    ...     return '{"needs": "A text on cats and courts.", "says": "How courts rule."}'
    >>> text = "Cats nap all day. Courts rule on law."
    >>> chunks = RecursiveChunker(max_tokens=6).chunk(text)
    >>> Summaries(llm=llm).enrich(text, chunks)[1].embed_text
    'How courts rule, from a text on cats and courts.\n\nCourts rule on law.'
    """

    writes: ClassVar[str] = "summary"
    summary_tokens: int = 64
    prompts: SummaryPrompts = field(default=SummaryPrompts(), repr=False)

    def check(self) -> None:
        """Raise `ConfigurationError` if a parameter is invalid."""
        require(is_integer(self.summary_tokens, 8), "summary_tokens must be a whole number >= 8", self.summary_tokens)
        check_placeholders(self.prompts, SummaryPrompts, survey=("document", "passage"), condense=("needs", "says"))

    def plan(self, chunk: Chunk, context: DocumentContext) -> Plan[Chunk]:
        """Ask for notes on a chunk, then for a summary of the notes."""
        survey = self.fill_in_document(self.prompts.survey, chunk, context, _NOTES_TOKENS)
        needs, says = yield from self.ask(survey, _NOTES, _parse_notes, _NOTES_TOKENS)
        words = str(int(self.summary_tokens * _WORDS_PER_TOKEN))
        condense = fill_prompt(self.prompts.condense, needs=needs or "nothing", says=says, words=words)
        summary = yield from self.ask(condense, _SUMMARY, lambda answer: get_line(answer, "summary"), _SUMMARY_TOKENS)
        return self._add_summary(chunk, summary)

    def _add_summary(self, chunk: Chunk, summary: str) -> Chunk:
        titles = chunk.context.removesuffix(written_metadata(chunk.metadata).get("summary", "")).rstrip(
            "\n"
        )  # without an old one

        def text_with(summary: str) -> tuple[str, str]:
            context = "\n".join(filter(None, (titles, summary)))
            return context, with_context(context, chunk.text)

        def fits(summary: str) -> bool:
            return self.counter(summary) <= self.summary_tokens and (
                self.max_tokens is None or self.counter(text_with(summary)[1]) <= self.max_tokens
            )

        short = shorten(summary, fits)
        context, embed_text = text_with(short)
        changes = {"context": context, "tokens": self.counter(embed_text), "vector": None, "rows": None}
        changes |= {"row_spans": (), "row_texts": ()}
        if not short:
            return self.drop_result(chunk, "dropped", **changes)
        return self.set_result(chunk, short, None if short == summary else "shortened", **changes)


def shorten(sentence: str, fits: Callable[[str], bool]) -> str:
    """Shorten a sentence to as many words as fit; return an empty string if less than half would remain.

    >>> shorten("Of cats and of courts.", lambda text: len(text) <= 16)
    'Of cats and of…'
    """
    if fits(sentence):
        return sentence
    ends = tiling.graphemes(sentence).edges.tolist()
    low, high = 0, len(ends) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(_cut_at_word(sentence, ends[middle])) else (low, middle)
    cut = _cut_at_word(sentence, ends[low])
    return cut if low and 2 * len(cut) > len(sentence) else ""


def _cut_at_word(sentence: str, end: int) -> str:
    """Cut a sentence after the last word that ends at or before ``end``, if its words are separated by spaces."""
    head, _, part = sentence[:end].rpartition(" ")
    at_word = sentence[end : end + 1] in ("", " ")
    return f"{(sentence[:end] if at_word or not head or len(part) > end // 2 else head).rstrip(' ,;:')}…"


def _parse_notes(answer: Any) -> tuple[str, str]:
    return single_line(get_property(answer, "needs", str)), get_line(answer, "says")
