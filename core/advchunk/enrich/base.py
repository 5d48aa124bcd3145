"""The base class of the enrichers: a chat model, prompts, a plan for a chunk, and methods that run it over many."""

import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from os.path import commonprefix
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from advchunk.engine import ChatRequest, Job, Plan, completed
from advchunk.engine.plans import Done, advance
from advchunk.engine.runner import Failure, OnError, OnErrors, OnFailure, Progress, Results, Runner
from advchunk.enrich.document_context import DocumentContext
from advchunk.errors import ConfigurationError, first_line, is_integer, is_number, require
from advchunk.models.cache import Cached, CacheLike, with_cache
from advchunk.models.chat import Budget, Chat, ChatModelLike, usable_answer
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.endpoint import chat_model
from advchunk.models.identity import identity
from advchunk.models.prompts import fill_prompt
from advchunk.readers import formats
from advchunk.readers.formats import check_markup
from advchunk.records import Chunk, Document, remove_written, with_context, write_metadata, written_metadata
from advchunk.text.counters import Counter

_T = TypeVar("_T")

_log = logging.getLogger("advchunk")
Source: TypeAlias = str | Document
Pairs: TypeAlias = Iterable[tuple[Source, Sequence[Chunk]]]


@dataclass(frozen=True, slots=True)
class ChunkFailure(Failure):
    """A chunk that could not be enriched, in its document, with the error and the outcome."""

    chunk: Chunk
    outcome: str = "is left unchanged"

    @property
    def place(self) -> str:
        """The failed chunk, for messages."""
        return f"chunk {self.chunk.index} of document {self.index} ({self.source!r})"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The requests of a call, without those whose answers are in the cache.

    Parameters
    ----------
    requests : number of requests.
    prompt_tokens : tokens of all prompts.
    prefix_tokens : tokens with which an earlier prompt of the same document begins, too. Endpoints with a prefix cache
        process them once, and many charge less for them; some only if the prefix is long, such as 1,024 tokens.
    completion_tokens : maximum tokens of all answers.

    >>> Estimate(10, 9_000, 3_600, 2_000).cost(0.5, 2.0, cached=0.05)
    0.00688
    """

    requests: int = 0
    prompt_tokens: int = 0
    prefix_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Self) -> Self:
        """Return the requests and tokens of two estimates together."""
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def cost(self, prompt: float, completion: float, *, cached: float | None = None) -> float:
        """Return the maximum cost at the prices of a million tokens; None for ``cached`` is the price of prompts."""
        prices = (prompt, completion, prompt if cached is None else cached)
        require(all(map(is_number, prices)), "prices must be numbers >= 0", prices)
        tokens = (self.prompt_tokens - self.prefix_tokens, self.completion_tokens, self.prefix_tokens)
        return sum(price * number for price, number in zip(prices, tokens, strict=True)) / 1e6


@dataclass(kw_only=True)
class Enricher(ABC):
    """Enrich the chunks of any chunker by asking a chat model about each chunk in its document.

    ``text``, spans and ids do not change. If the text to embed changes, vectors are dropped. A chunk whose answers are
    unusable gets a status in its metadata, such as ``rewritten_status``, and the first reason of each kind is logged;
    other chunks are not affected. Instructions in a document can affect that document's chunks only.

    With a ``cache``, no request is sent again once its answer could be used: an interrupted run resumes where it
    stopped, and the next run asks again about the chunks that failed.

    Parameters
    ----------
    llm : URL of an OpenAI-compatible endpoint, or any model of `models.chat.as_chat`, which sets the concurrency.
    llm_model : name of the model at the endpoint if ``llm`` is a URL.
    budget : limit on the cost of all calls of this enricher, whatever the model (`models.chat.Budget`); None keeps the
        model's own. Chunks that are over it fail with `BudgetExceeded`; what was answered is kept.
    cache : cache of answers: the path of a file, the URL of a Redis, a ``dict``, or a `cache.Store`.
    tokenizer : token counter (see `models.counters.as_counter`); pass the chunker's.
    max_tokens : maximum tokens of a chunk with its enrichment, >= 1; pass the chunker's. None is unlimited.
    max_context : maximum tokens of a prompt and its answer, >= 2048, by ``tokenizer``; well below the model's limit.
    temperature : sampling temperature, 0..2. Framework models and functions use their own.
    seed : sampling seed, >= 0, if the endpoint supports seeds.
    attempts : maximum number of requests until an answer can be parsed, >= 1; each uses the next ``seed``.
    timeout : seconds per chunk, > 0; None is unlimited. A synchronous call goes on in a thread; its result is dropped.
    markup : format of documents without a layout (`readers.formats`); pass the chunker's.
    """

    writes: ClassVar[str]  # metadata key of the result
    requires_model: ClassVar[bool] = True
    outcome: ClassVar[str] = "is left unchanged"  # of a chunk that fails, for messages
    version: ClassVar[int] = 1  # increase it when the same answers produce different chunks

    llm: ChatModelLike | str | None = field(default=None, repr=False)
    llm_model: str = "Qwen/Qwen2.5-7B-Instruct"
    budget: Budget | None = field(default=None, repr=False)
    cache: CacheLike = field(default=None, repr=False)
    tokenizer: TokenizerLike = field(default=None, repr=False)
    max_tokens: int | None = None
    max_context: int = 16_384
    temperature: float = 0.1
    seed: int = 0
    attempts: int = 2
    timeout: float | None = None
    markup: str = "markdown"
    prompts: Any = field(repr=False)  # a named tuple of texts with {placeholders}, and their version, for the cache

    def __post_init__(self) -> None:
        for name in ("llm_model", "markup"):
            require(isinstance(value := getattr(self, name), str), f"{name} must be text", value)
        _ = self.asks and self.chat, self.counter  # raise if they are invalid
        for name, minimum in {"max_tokens": 1, "max_context": 2048, "seed": 0, "attempts": 1}.items():
            value = getattr(self, name)
            unlimited = value is None and name == "max_tokens"
            require(unlimited or is_integer(value, minimum), f"{name} must be a whole number >= {minimum}", value)
        require(is_number(self.temperature) and self.temperature <= 2, "temperature must be in 0..2", self.temperature)
        valid = self.timeout is None or (is_number(self.timeout) and self.timeout > 0)
        require(valid, "timeout must be > 0 seconds or None", self.timeout)
        check_markup(self.markup)
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Raise `ConfigurationError` if a parameter is invalid."""

    @abstractmethod
    def plan(self, chunk: Chunk, context: DocumentContext) -> Plan[Chunk]:
        """Yield requests, receive their answers, and return the enriched chunk."""

    def without_answer(self, chunk: Chunk, context: DocumentContext, status: str) -> Chunk:  # noqa: ARG002
        """Return the chunk that takes the place of one whose plan failed, with a status that says why."""
        return replace(chunk, metadata=write_metadata(chunk.metadata, {f"{self.writes}_status": status}))

    def enrich(
        self, document: Source, chunks: Sequence[Chunk], *, on_error: OnError = "skip", progress: Progress = None
    ) -> list[Chunk]:
        """Return the enriched chunks of a document (see `enrich_many`)."""
        return self.enrich_many([(document, chunks)], on_error=on_error, progress=progress)[0]

    async def aenrich(
        self, document: Source, chunks: Sequence[Chunk], *, on_error: OnError = "skip", progress: Progress = None
    ) -> list[Chunk]:
        """Await `enrich`."""
        return (await self.aenrich_many([(document, chunks)], on_error=on_error, progress=progress))[0]

    def enrich_many(self, pairs: Pairs, *, on_error: OnErrors = "skip", progress: Progress = None) -> Results:
        """Return the enriched chunks of each document; the model is called for the chunks of all documents together.

        Parameters
        ----------
        pairs : documents with their chunks, such as ``zip(documents, chunker.stream(documents))``. Spans must index the
            document's text: for a chunker that reads a format, pass what its ``read`` returns.
        on_error : how to handle a chunk that fails: "skip" it, with a warning in the log for the first of each kind of
            error; "raise"; "collect" it in the result's ``failures``; or a callable that takes each `ChunkFailure`.
        progress : called with the number of chunks done; True shows a progress bar.
        """
        return self._runner.run(pairs, _first_of_each(on_error), progress)

    async def aenrich_many(
        self, pairs: Pairs, *, on_error: OnErrors = "skip", progress: Progress = None, concurrency: int | None = None
    ) -> Results:
        """Await `enrich_many`, with at most ``concurrency`` (>= 1) calls at a time; None leaves it to the model."""
        return await self._runner.arun(pairs, _first_of_each(on_error), progress, concurrency)

    def stream(self, pairs: Pairs, *, on_error: OnError = "skip") -> Iterator[list[Chunk]]:
        """Yield the chunks of each document as soon as they are ready, in constant memory."""
        return self._runner.stream(pairs, _first_of_each(on_error))

    def astream(
        self, pairs: Pairs, *, on_error: OnError = "skip", concurrency: int | None = None
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`."""
        return self._runner.astream(pairs, _first_of_each(on_error), concurrency)

    def estimate(self, pairs: Pairs) -> Estimate:
        """Return at most the requests that `enrich_many` would send for documents with their chunks, and their tokens.

        Answers in the ``cache`` cost nothing. Tokens are counted by ``tokenizer``, without those of a chat template.
        Retries are not included. A request that depends on an answer that is not in the cache counts as the longest.

        >>> from advchunk import RecursiveChunker
        >>> from advchunk.enrich import ContextualEnricher
        >>> text = "Cats nap all day. Courts rule on law."
        >>> enricher = ContextualEnricher(llm=lambda prompt: "A text on cats and courts.", tokenizer="words")
        >>> enricher.estimate([(text, RecursiveChunker(max_tokens=6).chunk(text))]).completion_tokens
        400
        """
        total = Estimate()
        for chunks, context in self.in_context(pairs) if self.asks else ():
            pending = [(chunk, self._next_request(chunk, context)) for chunk in chunks if has_text(chunk)]
            asked = {request: chunk for chunk, request in pending if request is not None}  # equal ones are sent once
            prompts = [request.messages[0][1] for request in asked]
            count = cache(self.counter)  # most prefixes are the same
            prefixes = (commonprefix((prompts[0], prompt)) for prompt in prompts[1:])  # noqa: RUF071 - characters are compared
            answers = sum(request.max_tokens for request in asked)
            total += Estimate(len(prompts), sum(map(self.counter, prompts)), sum(map(count, prefixes)), answers)
            for request, chunk in asked.items():
                total += self.later(request, chunk)
        return total

    def later(self, request: ChatRequest, chunk: Chunk) -> Estimate:  # noqa: ARG002
        """Return at most the cost of the requests about a chunk that may follow the answer to one."""
        return Estimate()

    def _next_request(self, chunk: Chunk, context: DocumentContext) -> ChatRequest | None:
        """Return the first request of a chunk's plan whose answer is not in the cache; None if there is none."""
        plan, chat, answer = self.plan(chunk, context), self.chat, None
        with suppress(ValueError):  # the chunk leaves no room for a prompt, so nothing is asked
            while not isinstance(state := advance(plan, answer), Done):
                request: ChatRequest = state.items[0]
                if not isinstance(chat, Cached) or chat.missing("complete", [request]):
                    return request
                answer = chat.complete([request])
        return None

    @property
    def _runner(self) -> Runner[tuple[Source, Sequence[Chunk]], Chunk | None]:
        return Runner(self._jobs, _collect, unit="chunk", counts=lambda chunk: chunk is not None)

    def _jobs(self, pairs: Pairs, on_failure: OnFailure) -> Iterator[Job[Chunk | None]]:
        """Yield a job for each chunk and, after those of a document, a job that returns None."""
        self.load()
        for index, (chunks, context) in enumerate(self.in_context(pairs)):
            for chunk in chunks:
                yield self._job(index, chunk, context, on_failure) if has_text(chunk) else Job(completed(chunk))
            yield Job(completed(None))

    def in_context(self, pairs: Pairs) -> Iterator[tuple[Sequence[Chunk], DocumentContext]]:
        """Yield the chunks of each document with their surroundings."""
        for index, pair in enumerate(pairs):
            require(_is_pair(pair), "each pair must be a document and its chunks", pair)
            source, chunks = pair
            document = source if isinstance(source, Document) else Document(source)
            for chunk in chunks:
                text = "".join(document.text[slice(*span)] for span in chunk.spans)
                rule = f"the spans of chunk {chunk.index} must give its text in document {index}"
                require(not chunk.spans or text == chunk.text, rule, text)
            laid_out = formats.read(document, self.markup) if document.blocks is None else document
            yield chunks, DocumentContext(laid_out, chunks, self.counter)

    def _job(self, index: int, chunk: Chunk, context: DocumentContext, on_failure: OnFailure) -> Job[Chunk | None]:
        def recover(error: Exception) -> Job[Chunk | None]:
            if isinstance(error, (ConfigurationError, ImportError)):
                raise error  # other chunks would fail the same way
            on_failure(ChunkFailure(index, context.document.source, error, chunk, self.outcome))
            return Job(completed(self.without_answer(chunk, context, f"failed: {type(error).__name__}")))

        return Job(self.plan(chunk, context), self.timeout, recover)

    def load(self) -> None:
        """Load the client of an endpoint, and check the cache: an error here is one instead of one per chunk."""
        if self.asks:
            self._uncached_chat.load()
            _ = self.chat

    @property
    def asks(self) -> bool:
        """True if the enricher asks a model."""
        return self.requires_model or self.llm is not None

    @property
    def chat(self) -> Any:
        """The chat model, behind the cache."""
        return with_cache(self._uncached_chat, self.cache)

    @cached_property
    def _uncached_chat(self) -> Chat:  # one for all chunks, as calls are merged, and limited, by model
        return chat_model(self.llm, self.llm_model, self.budget)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_uncached_chat"}

    @property
    def counter(self) -> Counter:
        """The token counter."""
        return as_counter(self.tokenizer)

    def fill_in_document(
        self, prompt: str, chunk: Chunk, context: DocumentContext, answer_tokens: int, **values: str
    ) -> str:
        """Fill in a prompt with a chunk and as much of its document as fits with an answer of ``answer_tokens``."""
        values |= {"place": context.place(chunk), "passage": chunk.text}
        empty = fill_prompt(prompt, outline="", document="", **values)
        available = self.max_context - answer_tokens - self.counter(empty)
        if available <= 0:
            msg = f"a chunk of {chunk.tokens} tokens leaves no room for its document in max_context={self.max_context}"
            raise ValueError(msg)
        return fill_prompt(prompt, **values, **context.excerpt(chunk, available))

    def request(self, prompt: str, schema: Mapping[str, Any] | None, max_tokens: int) -> ChatRequest:
        """Return the request for an answer of at most ``max_tokens``: JSON of a schema, or plain text."""
        form = None if schema is None else json.dumps(schema)
        return ChatRequest((("user", prompt),), form, max_tokens, self.temperature, self.seed, self.prompts.version)

    def ask(self, prompt: str, schema: Mapping[str, Any], parse: Callable[[Any], _T], max_tokens: int) -> Plan[_T]:
        """Ask for an answer of at most ``max_tokens`` until ``parse`` accepts it: it may raise `BadModelOutput`."""
        request = self.request(prompt, schema, max_tokens)
        return usable_answer(self.chat, request, lambda answer: parse(json.loads(answer)), self.attempts)

    def set_result(self, chunk: Chunk, result: str | None, status: str | None = None, **changes: Any) -> Chunk:
        """Return a chunk with a new result and status in its metadata, and other fields changed."""
        new = {self.writes: result, f"{self.writes}_status": status}
        written = {key: value for key, value in new.items() if value is not None}
        return replace(chunk, metadata=write_metadata(remove_written(chunk.metadata, new), written), **changes)

    def warn_of_size(self, chunk: Chunk) -> str:
        """Log that a chunk has no room for its result; return the status that says so."""
        _log.warning("chunk %d has no %s: over max_tokens", chunk.index, self.writes)
        return "over max_tokens"

    def titles(self, chunk: Chunk) -> str:
        """Return the context of a chunk without what an earlier call has added."""
        added = written_metadata(chunk.metadata).get(self.writes, "")
        return chunk.context.removesuffix(added).rstrip("\n") if added else chunk.context

    def has_room(self, chunk: Chunk, added: str) -> bool:
        """Return True if a text can be added to the context of a chunk, within ``max_tokens``."""
        whole = with_context(_join(self.titles(chunk), added), chunk.text)
        return self.max_tokens is None or self.counter(whole) <= self.max_tokens

    def add_context(self, chunk: Chunk, added: str, status: str | None = None) -> Chunk:
        """Return a chunk with a text in its context after titles and headings, and in its metadata."""
        context = _join(self.titles(chunk), added)
        changes = {"context": context, "tokens": self.counter(with_context(context, chunk.text))}
        if context != chunk.context:
            changes |= {"vector": None, "rows": None, "row_spans": (), "row_texts": ()}
        return self.set_result(chunk, added or None, status, **changes)

    def fingerprint(self) -> str:
        """Return 16 hex digits that change whenever the results may change."""
        llm = (self._uncached_chat.identity or identity(self.llm)) if self.asks else ""
        resources = {"llm": llm, "tokenizer": identity(self.tokenizer), "cache": "", "timeout": None, "budget": None}
        values = {f.name: resources.get(f.name, getattr(self, f.name)) for f in fields(self)}
        return hashlib.sha256(json.dumps([self.writes, self.version, values]).encode()).hexdigest()[:16]


def default_prompt(stage: str) -> str:
    """Return the default prompt of a stage; what all chunks of a document share comes first, for prefix caches."""
    return files("advchunk.enrich").joinpath("templates", f"{stage}.txt").read_text(encoding="utf-8")


def has_text(chunk: Chunk) -> bool:
    """Return False for a chunk of context alone, or of white space."""
    return bool(chunk.spans and chunk.text.strip())


def check_placeholders(prompts: Any, kind: type, **placeholders: Sequence[str]) -> None:
    """Raise `ConfigurationError` unless each prompt has its placeholders."""
    require(isinstance(prompts, kind), f"prompts must be {kind.__name__}", prompts)
    for name, required in placeholders.items():
        prompt, marks = getattr(prompts, name), [f"{{{placeholder}}}" for placeholder in required]
        is_complete = isinstance(prompt, str) and all(mark in prompt for mark in marks)
        require(is_complete, f"the prompt {name!r} must contain {', '.join(marks)}", prompt)


def _join(titles: str, added: str) -> str:
    return "\n".join(filter(None, (titles, added)))


def _first_of_each(on_error: Any) -> Any:
    """Return ``on_error``, with "skip" replaced by a handler that logs the first of each kind of error in a call."""
    if not isinstance(on_error, str) or on_error != "skip":
        return on_error
    met = set[type[Exception]]()

    def handle(failure: ChunkFailure) -> None:
        if (kind := type(failure.error)) not in met:
            met.add(kind)
            message = "%s %s: %s: %s; others that fail so are marked in their metadata alone"
            _log.warning(message, failure.place, failure.outcome, kind.__name__, first_line(failure.error))

    return handle


def _is_pair(pair: Any) -> bool:
    valid = isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], (str, Document))
    return valid and isinstance(pair[1], Sequence) and all(isinstance(chunk, Chunk) for chunk in pair[1])


def _collect() -> Callable[[Chunk | None], Iterable[list[Chunk]]]:
    """Return a function that takes chunks one by one, and yields those of a document at its end, which is None."""
    chunks: list[Chunk] = []

    def collect(chunk: Chunk | None) -> Iterable[list[Chunk]]:
        if chunk is not None:
            chunks.append(chunk)
            return
        yield chunks.copy()
        chunks.clear()

    return collect
