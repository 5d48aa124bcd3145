"""Questions by a language model, and their answers by the places of its quotes."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from advchunk.engine import ChatRequest, Complete, Job, Plan, completed, drive
from advchunk.errors import first_line, require
from advchunk.evaluation.data.builders.built import Built, check_names
from advchunk.evaluation.data.builders.prompts import PROMPT, PROMPT_VERSION
from advchunk.evaluation.data.questions import Question, Reference, quote_span
from advchunk.models.chat import as_chat
from advchunk.models.prompts import fill_prompt
from advchunk.records import Document, Span
from advchunk.text import sentences

_log = logging.getLogger("advchunk")

_PASSAGE = 1500  # characters that a language model is shown at least
_RUN = 6  # words in a row that a question may not have in common with its answer


def asked_by(
    llm: Any,
    documents: Sequence[Document],
    number: int = 100,
    *,
    seed: int = 0,
    prompt: str = PROMPT,
    language: str = "en",
) -> Built:
    """Have a language model ask questions, each of one passage, and quote what answers it.

    Nothing of the model's but the question is kept: answers are the places of its quotes in the passage. A question is
    dropped, and counted, if its call ``failed``; if the reply is ``unreadable``, or ``declined`` to ask; if a quote was ``not
    found`` in the passage, or there twice; if it ``leaks`` six words of its answer in a row, or all of a shorter one; and as a
    ``duplicate``. So a passage that gives the model orders can spoil no question but its own.

    Parameters
    ----------
    llm : anything `models.chat.as_chat` takes, such as an `OpenAIChat`, or a function of a prompt that returns the reply.
    number : of passages, one call each, >= 1; they are spread evenly over the text of all documents.
    seed : of the draws, >= 0.
    prompt : has the passage in place of ``{passage}``; `PROMPT` is version `PROMPT_VERSION`.
    language : code of the language, for sentences.

    Raises
    ------
    ConfigurationError : a prompt without ``{passage}``; documents without text, or without names of their own.

    >>> reply = '{"question": "When do felines rest?", "quotes": ["Cats sleep by day."]}'
    >>> asked_by(lambda prompt: reply, [Document("Cats sleep by day. They hunt at night.", "cats")]).questions
    (Question(text='When do felines rest?', references=(Reference(document='cats', span=Span(start=0, end=18)),)),)
    """
    require(number >= 1, "number must be >= 1", number)
    require("{passage}" in prompt, "prompt must have {passage} in it", prompt)
    check_names(documents)
    passages = list(_passages(documents, number, seed, language))
    require(bool(passages), "documents must have text", len(documents))
    dropped, kept, known = Counter[str](), list[Question](), set[Any]()
    told = [fill_prompt(prompt, passage=documents[i].text[slice(*span)].strip()) for i, span in passages]
    for (i, span), reply in zip(passages, _replies(llm, told), strict=True):
        question = _read(reply, documents[i], span)
        if isinstance(question, str):
            dropped[question] += 1
            continue
        marks = {tuple(_plain(question.text)), question.references}
        if marks & known:
            dropped["duplicate"] += 1
        else:
            kept.append(question)
        known |= marks
    return Built(tuple(documents), tuple(kept), dropped=dict(dropped))


def _passages(documents: Sequence[Document], number: int, seed: int, language: str) -> Iterator[tuple[int, Span]]:
    """Yield runs of whole sentences, one from each of so many equal parts of all text that has the room for it."""
    draw, sized = np.random.default_rng(seed), list[tuple[int, Span]]()
    for place, document in enumerate(documents):
        edges = sentences.sentences(document.text, language).edges
        last = int(np.searchsorted(edges, max(len(document.text) - _PASSAGE, 0), "right")) - 1
        starts = edges[: last + 1]
        ends = edges[np.minimum(np.searchsorted(edges, starts + _PASSAGE), len(edges) - 1)]
        spans = zip(starts.tolist(), np.minimum(ends, starts + 2 * _PASSAGE).tolist(), strict=True)
        sized += [(place, Span(*span)) for span in spans if document.text[slice(*span)].strip()]
    for part in np.array_split(np.arange(len(sized)), min(number, max(len(sized), 1))):
        if len(part):
            yield sized[int(draw.choice(part))]


def _replies(llm: Any, prompts: Sequence[str]) -> Iterator[str | None]:
    """Yield the reply to each prompt, None where the call failed."""
    chat = as_chat(llm)

    def plan(prompt: str) -> Plan[str | None]:
        (reply,) = yield Complete((ChatRequest((("user", prompt),), version=f"question {PROMPT_VERSION}"),), chat)
        return str(reply)

    def failed(error: Exception) -> Job[str | None]:
        _log.warning("no question asked: %s: %s", type(error).__name__, first_line(error))
        return Job(completed(None))

    return drive(Job(plan(prompt), recover=failed) for prompt in prompts)


def _read(reply: Any, document: Document, passage: Span) -> Question | str:
    """Return the question of a reply, or why there is none."""
    if not isinstance(reply, str):
        return "failed" if reply is None else "unreadable"
    # Models like to put a fence around what they were asked for, and thoughts, whose start a template may have said.
    reply = reply.rpartition("</think>")[2]
    try:
        said = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])
    except (ValueError, RecursionError):  # a number of thousands of digits is no JSONDecodeError
        said = None
    match said:
        case {"question": str(text), "quotes": list(quotes)} if all(isinstance(quote, str) for quote in quotes):
            pass
        case _:
            return "unreadable"
    if not text.strip() or not quotes:
        return "declined"
    shown = document.text[slice(*passage)]
    spans = [quote_span(quote, shown) for quote in quotes]
    if None in spans:
        return "not found"
    if any(_leaks(text, quote) for quote in quotes):
        return "leaks"
    at = sorted({Span(span.start + passage.start, span.end + passage.start) for span in spans if span})
    return Question(" ".join(text.split()), tuple(Reference(document.source, span) for span in at))


def _leaks(question: str, quote: str) -> bool:
    asked, answer = _plain(question), _plain(quote)
    run = min(_RUN, len(answer))
    runs = {tuple(answer[i : i + run]) for i in range(len(answer) - run + 1)}
    return run > 0 and any(tuple(asked[i : i + run]) in runs for i in range(len(asked) - run + 1))


def _plain(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
