"""Contextual retrieval: say where each chunk belongs in its document."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from advchunk.engine import ChatRequest, Plan
from advchunk.enrich.base import Enricher, check_placeholders, default_prompt
from advchunk.enrich.document_context import DocumentContext
from advchunk.errors import is_integer, require, require_answer
from advchunk.models.chat import usable_answer
from advchunk.models.prompts import fill_prompt, single_line
from advchunk.records import Chunk
from advchunk.text.sentences import sentences

_WORDS_PER_TOKEN: Final = 0.7
_MAX_LAYERS: Final = 8  # around an answer
_SPARE: Final = 2  # times context_tokens that an answer may have, so that a longer one is told from a complete one
# Models begin their answers with a line that ends in a colon, or with words such as these.
_PREAMBLE = re.compile(
    r"\A[^\n]{1,160}[:：][*_]*[ \t]*\n\s*(?![-*•\d])"  # unless a list follows
    r"|\A[*_#\s]*(?:(?:sure|certainly|of course|okay|ok)\b[^\n:]{0,160}[:!.]\s*)?"
    r"(?:here(?:'s|’s| is| are)\b[^\n:]{1,160}:|(?:short |succinct |brief )?(?:context|answer)\s*:)[*_]*\s*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TAGGED = re.compile(r"\A<(\w+)>(.*)</\1>\s*\Z", re.DOTALL)
_STOP = re.compile(r"[.!?…。！？।؟][\"'”’»」)\]]*\Z")  # the end of a sentence, not of a part of a long one
_QUOTES: Final = ('""', "''", "“”", "„“", "«»", "»«", "「」", "『』", "``", "**", "__")


class ContextPrompts(NamedTuple):
    """The prompt of `ContextualEnricher`."""

    situate: str = default_prompt("situate")
    version: str = "context-1"


@dataclass(kw_only=True)
class ContextualEnricher(Enricher):
    r"""Add a sentence or two about the place of each chunk in its document to the chunk's ``context``.

    The sentences follow titles and headings in ``context``, so they are embedded and searched with the text and count
    in ``tokens``; they are also in ``metadata["added_context"]``. The text does not change.

    Without a model, they are the document's own words: title and headings, the caption of the chunk's table or figure,
    and the document's first sentence, as far as the chunk lacks them.

    With a model, one request for each chunk shows the beginning of the document, the headings above the chunk, what the
    chunks before and after it say, and the chunk. So the tokens of all prompts grow in proportion to the document, and,
    with a ``cache``, after an edit only the edited chunk and its neighbors are asked about, or all if the edit is in
    the beginning. What models put around an answer, such as quotes and "Here is the context:", is removed.

    A chunk without a usable answer gets the document's own words, and ``metadata["added_context_status"]`` is such as
    "failed: BadModelOutput". Without room in ``max_tokens`` for all sentences, it is "shortened" or "over max_tokens".

    Parameters
    ----------
    llm : as in `Enricher`; None takes the document's own words.
    context_tokens : maximum tokens of the sentences, >= 8.
    beginning_tokens : maximum tokens of the beginning of the document in a prompt, >= 0.
    neighbor_tokens : maximum tokens of each of the two neighbors in a prompt, >= 0.
    attempts : as in `Enricher`; by default a chunk is asked about once.
    prompts : the prompt and its version. What comes before ``{beginning}`` and the beginning itself are the prefix.

    References
    ----------
    Anthropic 2024, "Introducing contextual retrieval", which shows the whole document in each prompt. The prompt here,
    what it shows, and the document's own words are ours.

    Examples
    --------
    >>> from advchunk import RecursiveChunker
    >>> text = "# Cats and courts\n\nA text on cats and courts.\n\nCats nap all day.\n\nCourts rule on law."
    >>> chunks = RecursiveChunker(max_tokens=8).chunk(text)
    >>> ContextualEnricher().enrich(text, chunks)[-1].embed_text
    'Cats and courts\nA text on cats and courts.\n\nCourts rule on law.'
    >>> enricher = ContextualEnricher(llm=lambda prompt: "How courts rule, from a text on cats and courts.")
    >>> enricher.enrich(text, chunks)[-1].embed_text
    'How courts rule, from a text on cats and courts.\n\nCourts rule on law.'
    >>> enricher.estimate([(text, chunks)]).requests == len(chunks)
    True
    """

    writes: ClassVar[str] = "added_context"
    requires_model: ClassVar[bool] = False
    outcome: ClassVar[str] = "has its document's own words as context"
    context_tokens: int = 100
    beginning_tokens: int = 400
    neighbor_tokens: int = 150
    attempts: int = 1
    prompts: ContextPrompts = field(default=ContextPrompts(), repr=False)

    def check(self) -> None:
        """Raise `ConfigurationError` if a parameter is invalid."""
        for name, minimum in {"context_tokens": 8, "beginning_tokens": 0, "neighbor_tokens": 0}.items():
            value = getattr(self, name)
            require(is_integer(value, minimum), f"{name} must be a whole number >= {minimum}", value)
        check_placeholders(self.prompts, ContextPrompts, situate=("passage",))

    def plan(self, chunk: Chunk, context: DocumentContext) -> Plan[Chunk]:
        """Ask for the sentences, or take the document's own words."""
        if not self.asks:
            return self.without_answer(chunk, context)
        request = self._request(chunk, context)
        if self.counter(request.messages[0][1]) + request.max_tokens > self.max_context:
            msg = f"the prompt for a chunk of {chunk.tokens} tokens must fit in max_context={self.max_context}"
            raise ValueError(msg)
        answer = yield from usable_answer(self.chat, request, self._parse, self.attempts)
        if not (kept := leading_sentences(answer, self._room(chunk))):
            return self.without_answer(chunk, context, self.warn_of_size(chunk))
        return self.add_context(chunk, kept, None if kept == answer else "shortened")

    def _request(self, chunk: Chunk, context: DocumentContext) -> ChatRequest:
        beginning = context.beginning(self.beginning_tokens)
        before, after = context.neighbors(chunk, self.neighbor_tokens, len(beginning))
        words, place = str(int(self.context_tokens * _WORDS_PER_TOKEN)), context.place(chunk)
        texts = {"beginning": beginning, "before": before, "passage": chunk.text, "after": after}
        prompt = fill_prompt(self.prompts.situate, words=words, place=place, **texts)
        return self.request(prompt, None, _SPARE * self.context_tokens)

    def _parse(self, answer: str) -> str:
        """Return the sentences in an answer that have at most ``context_tokens``."""
        plain = unwrapped_sentences(answer)
        kept = leading_sentences(plain, lambda text: self.counter(text) <= self.context_tokens)
        rule = f"an answer must be one or two sentences of at most {self.context_tokens} tokens"
        require_answer(kept != "", f"{rule}, got {plain[:80]!r}")
        return kept

    def without_answer(self, chunk: Chunk, context: DocumentContext, status: str | None = None) -> Chunk:
        """Return a chunk with as much of the document's own words as it lacks and has room for."""
        lines, room, text = list[str](), self._room(chunk), single_line(f"{self.titles(chunk)} {chunk.text}")
        for line in context.own_words(chunk):
            if line and line not in text and room("\n".join([*lines, line])):
                lines.append(line)
        return self.add_context(chunk, "\n".join(lines), status)

    def _room(self, chunk: Chunk) -> Callable[[str], bool]:
        """Return a function that tells whether a text can be added to a chunk."""
        return lambda added: self.counter(added) <= self.context_tokens and self.has_room(chunk, added)


def unwrapped_sentences(answer: str) -> str:
    """Return an answer's sentences as one line, without quotes, tags, and phrases that models put around them."""
    text = answer.strip()
    for _ in range(_MAX_LAYERS):
        text = _of_json(_FENCE.sub(r"\1", text))
        text = _TAGGED.sub(r"\2", _PREAMBLE.sub("", text)).strip()
        if any(text[:1] == opens and text[-1:] == closes and len(text) > 1 for opens, closes in _QUOTES):
            inner = text[1:-1].strip()
            text = text if text[0] in inner and text[-1] in inner else inner
    return single_line(text)


def _of_json(text: str) -> str:
    """Return the text that is all of a JSON object, else the text as it is."""
    with suppress(ValueError, RecursionError):
        values = list(json.loads(text).values()) if text.startswith("{") else []
        text = values[0].strip() if len(values) == 1 and isinstance(values[0], str) else text
    return text


def leading_sentences(text: str, fits: Callable[[str], bool]) -> str:
    """Return a text if it fits, else as many of its first sentences as do; "" if none does."""
    if fits(text):
        return text
    ends = sentences(text).edges.tolist()[1:-1]
    most = bisect_right(ends, False, key=lambda end: not fits(text[:end].rstrip()))
    kept = (text[:end].rstrip() for end in reversed(ends[:most]))
    return next((some for some in kept if _STOP.search(some) and fits(some)), "")
