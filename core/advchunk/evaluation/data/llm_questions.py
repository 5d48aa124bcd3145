"""Questions written by a language model, with answers located by its quotes."""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Final

import numpy as np

from advchunk.engine import ChatRequest, Complete, Job, Plan, completed, drive
from advchunk.errors import first_line, require
from advchunk.evaluation.data.dataset import Dataset, check_sources
from advchunk.evaluation.data.questions import Question, Reference, quote_span
from advchunk.models.chat import as_chat
from advchunk.models.prompts import fill_prompt, unescape
from advchunk.records import Document, Span
from advchunk.text import sentences
from advchunk.text.detection import AUTO

QUESTION_PROMPT_VERSION: Final = 2
QUESTION_PROMPT: Final = (files("advchunk.evaluation.data") / "question_prompt.txt").read_text(encoding="utf-8")

_log = logging.getLogger("advchunk")

_PASSAGE = 1500  # minimum characters shown to the model
_RUN = 6  # words in a row that a question must not share with its answer


def generate_questions(
    llm: Any,
    documents: Sequence[Document],
    number: int = 100,
    *,
    seed: int = 0,
    prompt: str = QUESTION_PROMPT,
    language: str = AUTO,
) -> Dataset:
    """Have a language model write a question about each sampled passage and quote the answer.

    Only the question is the model's: answers are the spans of its quotes in the passage. A question is dropped, and
    counted, if its call ``failed``; if the reply is ``unreadable``, or ``declined`` to ask; if a quote was
    ``not found`` in the passage, or found twice; if it ``leaks`` six words of its answer in a row, or all of a shorter one;
    and as a ``duplicate``. So instructions in a passage can affect only its own question. Raises `ConfigurationError`
    for a prompt without ``{passage}``; documents without text, or without unique names.

    Parameters
    ----------
    llm : anything `models.chat.as_chat` accepts, such as an `OpenAIChat`, or a function from a prompt to its reply.
    number : of passages, one call each, >= 1; they are spread evenly over the text of all documents.
    prompt : template with ``{passage}``; `QUESTION_PROMPT` is version `QUESTION_PROMPT_VERSION`.

    >>> reply = '{"question": "When do felines rest?", "quotes": ["Cats sleep by day."]}'
    >>> generate_questions(lambda prompt: reply, [Document("Cats sleep by day. They hunt at night.", "cats")]).questions
    (Question(text='When do felines rest?', references=(Reference(document='cats', span=Span(start=0, end=18)),)),)
    """
    require(number >= 1, "number must be >= 1", number)
    require("{passage}" in prompt, "prompt must contain {passage}", prompt)
    check_sources(documents)
    passages = list(_passages(documents, number, seed, language))
    require(bool(passages), "documents must have text", len(documents))
    dropped, kept, seen = Counter[str](), list[Question](), set[Any]()
    prompts = [fill_prompt(prompt, passage=documents[i].text[slice(*span)].strip()) for i, span in passages]
    for (i, span), reply in zip(passages, _replies(llm, prompts), strict=True):
        question = _parse_reply(reply, documents[i], span)
        if isinstance(question, str):
            dropped[question] += 1
            continue
        keys = {tuple(_words(question.text)), question.references}
        if keys & seen:
            dropped["duplicate"] += 1
        else:
            kept.append(question)
        seen |= keys
    return Dataset(tuple(documents), tuple(kept), dropped=dict(dropped))


def _passages(documents: Sequence[Document], number: int, seed: int, language: str) -> Iterator[tuple[int, Span]]:
    """Yield a random run of whole sentences from each of ``number`` equal parts of the text."""
    rng, runs = np.random.default_rng(seed), list[tuple[int, Span]]()
    for i, document in enumerate(documents):
        edges = sentences.sentences(document.text, language).edges
        last = int(np.searchsorted(edges, max(len(document.text) - _PASSAGE, 0), "right")) - 1
        starts = edges[: last + 1]
        ends = edges[np.minimum(np.searchsorted(edges, starts + _PASSAGE), len(edges) - 1)]
        spans = zip(starts.tolist(), np.minimum(ends, starts + 2 * _PASSAGE).tolist(), strict=True)
        runs += [(i, Span(*span)) for span in spans if document.text[slice(*span)].strip()]
    for part in np.array_split(np.arange(len(runs)), min(number, max(len(runs), 1))):
        if len(part):
            yield runs[int(rng.choice(part))]


def _replies(llm: Any, prompts: Sequence[str]) -> Iterator[str | None]:
    chat = as_chat(llm)

    def plan(prompt: str) -> Plan[str | None]:
        request = ChatRequest((("user", prompt),), version=f"question {QUESTION_PROMPT_VERSION}")
        (reply,) = yield Complete((request,), chat)
        return str(reply)

    def failed(error: Exception) -> Job[str | None]:
        _log.warning("question failed: %s: %s", type(error).__name__, first_line(error))
        return Job(completed(None))

    return drive(Job(plan(prompt), recover=failed) for prompt in prompts)


def _parse_reply(reply: Any, document: Document, passage: Span) -> Question | str:
    if not isinstance(reply, str):
        return "failed" if reply is None else "unreadable"
    # Models put code fences around JSON, and thoughts before it, whose opening tag may be part of a chat template.
    reply = reply.rpartition("</think>")[2]
    try:
        data = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])
    except (ValueError, RecursionError):  # ValueError: numbers of thousands of digits
        data = None
    match data:
        case {"question": str(text), "quotes": list(quotes)} if all(isinstance(quote, str) for quote in quotes):
            shown = document.text[slice(*passage)]
            spans = [quote_span(unescape(quote, shown), shown) for quote in quotes]
        case _:
            return "unreadable"
    if not text.strip() or not quotes:
        return "declined"
    if None in spans:
        return "not found"
    if any(_leaks(text, quote) for quote in quotes):
        return "leaks"
    moved = sorted({Span(span.start + passage.start, span.end + passage.start) for span in spans if span})
    return Question(" ".join(text.split()), tuple(Reference(document.source, span) for span in moved))


def _leaks(question: str, quote: str) -> bool:
    asked, answer = _words(question), _words(quote)
    run = min(_RUN, len(answer))
    runs = {tuple(answer[i : i + run]) for i in range(len(answer) - run + 1)}
    return run > 0 and any(tuple(asked[i : i + run]) in runs for i in range(len(asked) - run + 1))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
