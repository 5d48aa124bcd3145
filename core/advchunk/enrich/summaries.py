"""One sentence for each chunk that says where in its document it belongs, and what it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from advchunk.engine import Plan
from advchunk.enrich.base import TEXT, Enricher, Passage, check_places, said_in, schema
from advchunk.enrich.prompts import SummaryPrompts
from advchunk.enrich.surroundings import flat, shielded
from advchunk.errors import BadModelOutput, require
from advchunk.models.chat import is_integer
from advchunk.models.prompts import fill_prompt
from advchunk.records import Chunk, with_context
from advchunk.text import tiling

_NOTES, _SENTENCE = schema(needs=TEXT, says=TEXT), schema(summary=TEXT)
_NOTES_TOKENS, _SENTENCE_TOKENS = 768, 256  # of answers, at most
_WORDS = 0.7  # of a token


@dataclass(kw_only=True)
class Summaries(Enricher):
    r"""Write a context-aware summary of one sentence into each chunk's ``context``.

    Two stages: the model reads the chunk with its document, and notes what the chunk says and what its reader needs to
    know; then it condenses the notes to a sentence. That goes to ``context``, after titles and headings, so it is embedded
    with the text and counted in ``tokens``; and to ``metadata["summary"]``.

    Within ``max_tokens`` it is the summary that gives way, never the text, nor titles and headings: it is cut off behind a
    word, or dropped where less than half of it would remain. ``metadata["summary_status"]`` then is "shortened" or
    "dropped".

    Parameters
    ----------
    summary_tokens : of the sentence, at most, >= 8.
    prompts : what is asked in the two stages, and its version.

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
    prompts: Any = field(default=SummaryPrompts(), repr=False)

    def check(self) -> None:
        """Raise `ConfigurationError` on a value that breaks a rule."""
        require(is_integer(self.summary_tokens, 8), "summary_tokens must be a whole number >= 8", self.summary_tokens)
        check_places(self.prompts, SummaryPrompts, survey=("document", "passage"), condense=("needs", "says"))

    def plan(self, passage: Passage) -> Plan[Chunk]:
        """Ask for notes, have them condensed."""
        survey = self.shown(self.prompts.survey, passage, _NOTES_TOKENS)
        needs, says = yield from self.asked(survey, _NOTES, _notes, _NOTES_TOKENS)
        words = str(int(self.summary_tokens * _WORDS))
        condense = fill_prompt(self.prompts.condense, needs=needs or "nothing", says=says, words=words)
        sentence = yield from self.asked(condense, _SENTENCE, _sentence, _SENTENCE_TOKENS)
        return self._written(passage.chunk, sentence)

    def _written(self, chunk: Chunk, sentence: str) -> Chunk:
        metadata = {key: value for key, value in chunk.metadata.items() if key not in ("summary", "summary_status")}
        titles = chunk.context.removesuffix(chunk.metadata.get("summary", "")).rstrip("\n")  # if it is written anew

        def fits(summary: str) -> bool:
            whole = with_context(_joined(titles, summary), chunk.text)
            return self.counter(summary) <= self.summary_tokens and (
                self.max_tokens is None or self.counter(whole) <= self.max_tokens
            )

        summary = shortened(sentence, fits)
        metadata |= {"summary": summary} if summary else {}
        if summary != sentence:
            metadata["summary_status"] = "shortened" if summary else "dropped"
        context = _joined(titles, summary)
        return replace(
            chunk, context=context, tokens=self.counter(with_context(context, chunk.text)), metadata=metadata,
            vector=None, rows=None, row_spans=(), row_texts=(),
        )  # fmt: skip


def shortened(sentence: str, fits: Callable[[str], bool]) -> str:
    """Return a sentence, or as much of it as fits, cut off behind a word; nothing where that is less than half.

    >>> shortened("Of cats and of courts.", lambda text: len(text) <= 16)
    'Of cats and of…'
    """
    if fits(sentence):
        return sentence
    ends = tiling.graphemes(sentence).edges.tolist()
    fit, too_far = 0, len(ends) - 1
    while too_far - fit > 1:
        probe = (fit + too_far) // 2
        fit, too_far = (probe, too_far) if fits(_cut(sentence, ends[probe])) else (fit, probe)
    cut = _cut(sentence, ends[fit])
    return cut if fit and 2 * len(cut) > len(sentence) else ""


def _cut(sentence: str, end: int) -> str:
    """Return a sentence up to the last word that ends at ``end``, where words have spaces between them."""
    head, _, part = sentence[:end].rpartition(" ")
    whole = sentence[end : end + 1] in ("", " ")
    return f"{(sentence[:end] if whole or not head or len(part) > end // 2 else head).rstrip(' ,;:')}…"


def _joined(titles: str, summary: str) -> str:
    return "\n".join(filter(None, (titles, summary)))


def _notes(answer: Any) -> tuple[str, str]:
    needs, says = flat(said_in(answer, "needs", str)), flat(said_in(answer, "says", str))
    if not says:
        msg = "notes on a chunk must say something"
        raise BadModelOutput(msg)
    return shielded(needs), shielded(says)


def _sentence(answer: Any) -> str:
    sentence = flat(said_in(answer, "summary", str))
    if not sentence:
        msg = "a summary must be a sentence, got none"
        raise BadModelOutput(msg)
    return sentence
