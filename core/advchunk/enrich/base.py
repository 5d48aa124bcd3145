"""What every enricher is: a chat model, prompts, a plan for one chunk, and the ways to run it over many."""

from __future__ import annotations

import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

from advchunk.engine import ChatRequest, Complete, Job, Plan, completed
from advchunk.engine.runner import Failure, OnError, OnFailure, Progress, Results, Runner
from advchunk.enrich.surroundings import Surroundings, shielded
from advchunk.errors import BadModelOutput, ConfigurationError, require
from advchunk.models.cache import with_cache
from advchunk.models.chat import Chat, is_integer, is_number
from advchunk.models.counters import as_counter
from advchunk.models.endpoint import chat_model
from advchunk.models.identity import identity
from advchunk.models.prompts import fill_prompt
from advchunk.readers import formats
from advchunk.readers.formats import Markup
from advchunk.records import Chunk, Document
from advchunk.text.counters import Counter

T = TypeVar("T")
Pairs: TypeAlias = Iterable[tuple[str | Document, Sequence[Chunk]]]

_log = logging.getLogger("advchunk")


@dataclass(frozen=True, slots=True)
class ChunkFailure(Failure):
    """A chunk that could not be enriched: the index of its document, the source, the error, and the chunk."""

    chunk: Chunk

    outcome = "is left unchanged"

    @property
    def place(self) -> str:
        """The failed chunk, for messages."""
        return f"chunk {self.chunk.index} of {Failure.place.fget(self)}"  # type: ignore[attr-defined]  # slots break super()


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk in its document."""

    chunk: Chunk
    around: Surroundings


@dataclass(kw_only=True)
class Enricher(ABC):
    """Asks a chat model about each chunk and its document, for chunks of any chunker. It keeps nothing between calls.

    ``text``, spans and ids stay what they are. Vectors of before are dropped, for they are not those of what is embedded now.

    A chunk whose answers are no good stays as it was, and so does no other. Its metadata say so (``summary_status`` or
    ``rewritten_status``), and the reason goes to the log. What a document says to the model can spoil what is written
    to its own chunks, and nothing else.

    With a ``cache``, what was answered once is not asked again: a run that was broken off goes on where it was. An answer that is
    no good is kept like any other; more ``attempts`` ask for another.

    Parameters
    ----------
    llm : the base URL of an endpoint that speaks OpenAI's protocol, or anything `models.chat.as_chat` takes. There is no
        default. It says how many calls there are at a time.
    llm_model : the name of the model at the endpoint, where ``llm`` is its base URL.
    cache : keeps answers between runs: the path of a file, the URL of a Redis, a ``dict``, or a `cache.Store`.
    tokenizer : what counts tokens (see `models.counters.as_counter`): give the chunker's.
    max_tokens : tokens that no chunk exceeds with what is written to it, >= 1: give the chunker's; None is unlimited.
    max_context : tokens that the model reads and writes in a call, >= 2048, counted as those of chunks are: stay well below
        what it can take. A document that does not fit is shown in a window around the chunk, under an outline of its
        headings. One that fits stands before the chunk, so that an endpoint that keeps prefixes reads it once.
    temperature : of what the model draws, >= 0. A model of a framework and a function keep their own.
    seed : of what the model draws, >= 0, where the endpoint heeds it.
    attempts : how often it is asked for an answer that can be read, >= 1; each time with the next ``seed``.
    timeout : seconds that a chunk may take, > 0; None is unlimited. A call that is not awaited cannot be interrupted: it
        goes on unheard in a thread of its own, and is repeated there.
    markup : how a document that comes without a layout is read: as the chunker did (`readers.formats`).
    """

    writes: ClassVar[str]  # the key of its result in metadata
    version: ClassVar[int] = 1  # raise it when the same answers give other chunks

    llm: Any = field(default=None, repr=False)
    llm_model: str = "Qwen/Qwen2.5-7B-Instruct"
    cache: Any = field(default=None, repr=False)
    tokenizer: Any = field(default=None, repr=False)
    max_tokens: int | None = None
    max_context: int = 16_384
    temperature: float = 0.1
    seed: int = 0
    attempts: int = 2
    timeout: float | None = None
    markup: Markup = "markdown"
    prompts: Any = field(repr=False)

    def __post_init__(self) -> None:
        require(isinstance(self.llm_model, str), "llm_model must be text", self.llm_model)
        _ = self.chat, self.counter  # raise on what is none
        least = {"max_tokens": 1, "max_context": 2048, "seed": 0, "attempts": 1}
        for name, most in least.items():
            value = getattr(self, name)
            right = (value is None and name == "max_tokens") or is_integer(value, most)
            require(right, f"{name} must be a whole number >= {most}", value)
        require(is_number(self.temperature), "temperature must be >= 0", self.temperature)
        right = self.timeout is None or (is_number(self.timeout) and self.timeout > 0)
        require(right, "timeout must be > 0 seconds or None", self.timeout)
        require(self.markup in get_args(Markup), f"markup must be one of {', '.join(get_args(Markup))}", self.markup)
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Raise `ConfigurationError` on a value that breaks a rule."""

    @abstractmethod
    def plan(self, passage: Passage) -> Plan[Chunk]:
        """Yield asks, be sent answers, return the chunk with what was found."""

    # Entry points.

    def enrich(
        self,
        document: str | Document,
        chunks: Sequence[Chunk],
        *,
        on_error: OnError = "skip",
        progress: Progress = None,
    ) -> list[Chunk]:
        """Return the enriched chunks of a document (see `enrich_many`)."""
        return self.enrich_many([(document, chunks)], on_error=on_error, progress=progress)[0]

    async def aenrich(
        self,
        document: str | Document,
        chunks: Sequence[Chunk],
        *,
        on_error: OnError = "skip",
        progress: Progress = None,
    ) -> list[Chunk]:
        """Await `enrich`."""
        return (await self.aenrich_many([(document, chunks)], on_error=on_error, progress=progress))[0]

    def enrich_many(
        self, pairs: Pairs, *, on_error: OnError | Literal["collect"] = "skip", progress: Progress = None
    ) -> Results:
        """Return the enriched chunks of each document; the model is called for the chunks of all documents together.

        Parameters
        ----------
        pairs : documents with their chunks, such as ``zip(documents, chunker.stream(documents))``. Spans must index the
            document's text: if a chunker reads a format, give what its ``read`` returns.
        on_error : how to handle a chunk that fails, and stays as it is: "skip" it, with a warning in the log; "raise";
            "collect" it in the result's ``failures``; or a callable that takes each `ChunkFailure`. An error of the call
            itself is always raised.
        progress : called with the number of chunks done; True shows a progress bar.
        """
        return self._runner.run(pairs, on_error, progress)

    async def aenrich_many(
        self,
        pairs: Pairs,
        *,
        on_error: OnError | Literal["collect"] = "skip",
        progress: Progress = None,
        concurrency: int | None = None,
    ) -> Results:
        """Await `enrich_many`, with at most ``concurrency`` (>= 1) calls at a time; None leaves it to the model."""
        return await self._runner.arun(pairs, on_error, progress, concurrency)

    def stream(self, pairs: Pairs, *, on_error: OnError = "skip") -> Iterator[list[Chunk]]:
        """Yield the chunks of each document as soon as they are ready, in constant memory."""
        return self._runner.stream(pairs, on_error)

    def astream(
        self, pairs: Pairs, *, on_error: OnError = "skip", concurrency: int | None = None
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`."""
        return self._runner.astream(pairs, on_error, concurrency)

    @property
    def _runner(self) -> Runner[tuple[str | Document, Sequence[Chunk]], Chunk | None]:
        return Runner(self._jobs, _collect, unit="chunk", counts=lambda chunk: chunk is not None)

    def _jobs(self, pairs: Pairs, on_failure: OnFailure) -> Iterator[Job[Chunk | None]]:
        """Return the jobs of enriching each chunk, and after those of a document one that returns None."""
        self.load()
        return self._document_jobs(pairs, on_failure)

    def _document_jobs(self, pairs: Pairs, on_failure: OnFailure) -> Iterator[Job[Chunk | None]]:
        for index, pair in enumerate(pairs):
            require(_is_pair(pair), "pairs must be of a document and its chunks", pair)
            source, chunks = pair
            document = source if isinstance(source, Document) else Document(source)
            for chunk in chunks:
                text = "".join(document.text[slice(*span)] for span in chunk.spans)
                rule = f"the spans of chunk {chunk.index} must give its text in document {index}"
                require(not chunk.spans or text == chunk.text, rule, text)
            around = Surroundings(self._laid_out(document), chunks, self.counter)
            for chunk in chunks:
                if chunk.spans and chunk.text.strip():
                    yield self._job(index, Passage(chunk, around), on_failure)
                else:  # context alone
                    yield Job(completed(chunk))
            yield Job(completed(None))

    def _job(self, index: int, passage: Passage, on_failure: OnFailure) -> Job[Chunk | None]:
        chunk = passage.chunk

        def recover(error: Exception) -> Job[Chunk | None]:
            if isinstance(error, (ConfigurationError, ImportError)):
                raise error  # other chunks would fail alike
            on_failure(ChunkFailure(index, passage.around.document.source, error, chunk))
            status = {f"{self.writes}_status": f"failed: {type(error).__name__}"}
            return Job(completed(replace(chunk, metadata={**chunk.metadata, **status})))

        return Job(self.plan(passage), self.timeout, recover)

    def _laid_out(self, document: Document) -> Document:
        if document.blocks is not None:
            return document
        return formats.read(document, self.markup)

    # What subclasses use.

    def load(self) -> None:
        """Load the client of an endpoint, so that its absence is one error, and not one of each chunk."""
        self._asked.load()

    @property
    def chat(self) -> Any:
        """The chat model that is asked."""
        return with_cache(self._asked, self.cache)

    @property
    def _asked(self) -> Chat:
        return chat_model(self.llm, self.llm_model)

    @property
    def counter(self) -> Counter:
        """What counts tokens."""
        return as_counter(self.tokenizer)

    def shown(self, prompt: str, passage: Passage, answer: int, **said: str) -> str:
        """Fill a prompt with a chunk and what of its document leaves room for an answer of so many tokens."""
        said |= {"place": passage.around.place(passage.chunk), "passage": shielded(passage.chunk.text)}
        room = self.max_context - answer - self.counter(fill_prompt(prompt, outline="", document="", **said))
        if room <= 0:
            msg = f"a chunk of {passage.chunk.tokens} tokens leaves nothing of max_context {self.max_context} for its document"
            raise ValueError(msg)
        return fill_prompt(prompt, **said, **passage.around.shown(passage.chunk, room)._asdict())

    def asked(self, prompt: str, schema: str, read: Callable[[Any], T], answer: int) -> Plan[T]:
        """Ask until an answer can be read.

        Parameters
        ----------
        read : returns what an answer in JSON says, or raises `BadModelOutput`.
        answer : tokens of it, at most.
        """
        attempt = 0
        while True:
            request = ChatRequest(
                (("user", prompt),), schema, answer, self.temperature, self.seed + attempt, self.prompts.version
            )
            attempt += 1
            try:
                (said,) = yield Complete((request,), self.chat)
                return read(json.loads(said))
            except BadModelOutput:
                if attempt == self.attempts:
                    raise

    def fingerprint(self) -> str:
        """Return 16 hex digits that change whenever what is written may."""
        resources = {
            "llm": self._asked.identity or identity(self.llm),
            "tokenizer": identity(self.tokenizer),
            "cache": "",
            "timeout": None,
        }
        said = {f.name: resources.get(f.name, getattr(self, f.name)) for f in fields(self)}
        return hashlib.sha256(json.dumps([self.writes, self.version, said]).encode()).hexdigest()[:16]


def schema(**properties: Mapping[str, Any]) -> str:
    """Return the JSON Schema of an object with these properties, as JSON."""
    return json.dumps(an_object(**properties))


def an_object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these properties, all of them required."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


TEXT: Mapping[str, Any] = {"type": "string"}


def said_in(answer: Any, name: str, kind: type[T]) -> T:
    """Return a property of an answer; raise `BadModelOutput` if it is none, or of another type."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, kind):
        msg = f"an answer must have {name!r}, a {kind.__name__}, got {str(answer)[:80]!r}"
        raise BadModelOutput(msg)
    return value


def check_places(prompts: Any, kind: type, **places: Sequence[str]) -> None:
    """Raise `ConfigurationError` unless each prompt has the places in it that are filled in."""
    require(isinstance(prompts, kind), f"prompts must be {kind.__name__}", prompts)
    for name, wanted in places.items():
        prompt = getattr(prompts, name)
        whole = isinstance(prompt, str) and all(f"{{{place}}}" in prompt for place in wanted)
        require(whole, f"the prompt {name!r} must have {', '.join(f'{{{place}}}' for place in wanted)} in it", prompt)


def _is_pair(pair: Any) -> bool:
    known = isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], (str, Document))
    return known and isinstance(pair[1], Sequence) and all(isinstance(chunk, Chunk) for chunk in pair[1])


def _collect() -> Callable[[Chunk | None], Iterable[list[Chunk]]]:
    """Return a function that takes chunks one by one, and returns those of a document at its end, which is None."""
    chunks: list[Chunk] = []

    def collect(chunk: Chunk | None) -> Iterable[list[Chunk]]:
        nonlocal chunks
        if chunk is not None:
            chunks.append(chunk)
            return ()
        document, chunks = chunks, []
        return [document]

    return collect
