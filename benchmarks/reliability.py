"""Test the promises on random texts, chunkers, front ends, formats and parameters. See RELIABILITY.md.

python benchmarks/reliability.py [--data DIR] [--runs N] [--seed N] [--only RUN] [--processes N]

Prints a table by chunker and each breach with its run. Exits with 1 if there is one. --only repeats one run of the same
seed and prints its case. --data adds real texts, in all files of DIR, in several forms. --write puts the table into
RELIABILITY.md.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import torture_texts
from promises import inexact, lost, over
from runner import argument_parser

from advchunk import Chunk, Chunker, ConfigurationError, Document, MissingExtra, NotConverged, create, names
from advchunk.chunkers.catalog import chunker_class, params_of
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.params import hints
from advchunk.errors import BadModelOutput
from advchunk.readers.noise import without_controls
from advchunk.records import remove_written, written_metadata
from advchunk.text.scripts import count_words
from algorithms import ALGORITHMS

PAGE = Path(__file__).with_name("RELIABILITY.md")
BREACHES = ("inexact", "lossy", "over", "unstable", "metadata", "unequal", "error")
REFUSED = "refused"  # documents that are not in the format they are read as; searches that do not converge
FRONT_ENDS = {"core": "Chunker", "langchain_advchunk": "Splitter", "llamaindex_advchunk": "NodeParser"}
LARGE = 8000  # characters of whole files, which are not chunked in the smallest sizes
SIZES = (1, 2, 3, 5, 8, 15, 30, 60, 100, 200, 400, 512, 2000)
FORMATS = {
    "html": ("html", "auto", "markdown"),
    ".xml": ("auto", "tei", "jats"),
    ".json": ("docling", "auto"),
    ".tei": ("tei", "auto"),
}
SKIPPED = frozenset({"timeout", "experimental", "markup", "max_tokens"})
# Keys of users that are like ours, or like a framework's.
METADATA: Mapping[str, Any] = {
    "title": "A title", "token_count": "many", "level": [1, {"a": None}], "chunk_index": -1, "spans": "0-1", "source": "mine",  # noqa: E501
    "section": {"of": "mine"}, "pages": "x", "uuid": "u", "summary": "s", "context": "c", "start_index": 2.5, "tags": ["a", ["b"]],  # noqa: E501
}  # fmt: skip


def merging(text: str) -> int:
    """Count like a BPE: a longer text can have fewer tokens, and counts do not add up."""
    return len(re.findall(r"the |\. |th|[\s\S]", text))


def utf8_bytes(text: str) -> int:
    """Count bytes: one character may be over a small limit."""
    return len(text.encode("utf-8", "surrogatepass"))


COUNTERS: Mapping[str, Any] = {
    "default": None,
    "words": "words",
    "characters": "characters",
    "merging": merging,
    "bytes": utf8_bytes,
}


@dataclass(frozen=True)
class Case:
    """Everything that a run depends on."""

    chunker: str
    front_end: str
    params: Mapping[str, Any]
    counter: str
    splitter: str | None
    metadata: Mapping[str, Any]
    text: str
    origin: str

    def build(self, package: str = "core") -> Any:
        """Return the chunker, or the splitter or parser of an adapter."""
        models = {parameter: _stand_in(model) for parameter, model in ALGORITHMS[self.chunker].models.items()}
        counter = {"langchain_advchunk": "length_function"}.get(package, "tokenizer")
        options = {
            **self.params,
            **models,
            counter: COUNTERS[self.counter],
            "sentence_splitter": self.splitter,
            "fallback": None,
        }
        if package == "core":
            return create(self.chunker, **{"experimental": True, **options})
        if self.chunker == "auto":  # it chooses among chunkers
            options["experimental"] = True
        stem = chunker_class(self.chunker).__name__.removesuffix("Chunker")
        return getattr(import_module(package), stem + FRONT_ENDS[package])(**options)

    def document(self) -> Document:
        """Return the document, with metadata of its own."""
        document = Document(self.text, "document", metadata=copy.deepcopy(dict(self.metadata)))
        return document if self.front_end == "core" else without_controls(document)


class Outcome(NamedTuple):
    """The breaches of a run, each a kind and a message; or the refusal."""

    run: int
    chunker: str
    front_end: str
    breaches: tuple[tuple[str, str], ...]
    seconds: float


def _stand_in(model: str) -> Any:
    module, _, attribute = model.partition(":")
    tests = str(Path(__file__).parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    return getattr(import_module(module), attribute)()


def draw_case(seed: int, run: int, data: Path | None) -> Case:
    """Return the case of a run; chunkers and front ends take turns, and the rest is random."""
    rng = random.Random(f"{seed}/{run}")
    chunkers = names()
    chunker, front_end = chunkers[run % len(chunkers)], [*FRONT_ENDS][run // len(chunkers) % len(FRONT_ENDS)]
    if data and rng.random() < 0.4:
        text, origin = torture_texts.real(data, rng)
        formats = FORMATS.get(Path(origin).suffix)
    else:
        origin = rng.choice([*torture_texts.KINDS])
        text, formats = torture_texts.KINDS[origin](rng), FORMATS.get(origin)
    if rng.random() < 0.2:
        form = rng.choice([*torture_texts.FORMS])
        text, origin = torture_texts.FORMS[form](text, rng), f"{origin}, {form}"
    if front_end == "llamaindex_advchunk":  # which cannot hash half of a surrogate pair
        text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    metadata = dict(rng.sample([*METADATA.items()], rng.randint(0, 6)))
    splitter = rng.choice((None, None, None, "plain", "edus"))
    large = len(text) > LARGE
    counter = rng.choice(("default", "words", "characters") if large else [*COUNTERS])
    draw = partial(
        Case, chunker, front_end, counter=counter, splitter=splitter, metadata=metadata, text=text, origin=origin
    )
    for _ in range(40):  # parameters contradict each other
        case = draw(params=_draw_params(rng, chunker, formats, large=large))
        try:
            case.build()
        except (ConfigurationError, MissingExtra):
            continue
        return case
    return draw(params={})


def _draw_params(rng: random.Random, name: str, formats: Sequence[str] | None, *, large: bool) -> dict[str, Any]:
    """Return random parameters, most of which are valid; few at a time, since many contradict each other."""
    cls: Any = params_of(chunker_class(name))
    defaults = {field.name: field.default for field in fields(cls)}
    types, share = hints(cls), 0.0 if large else rng.choice((0.0, 0.1, 0.3))
    chosen = [key for key in defaults if key not in SKIPPED and rng.random() < share]
    params = {key: _draw_value(rng, defaults[key], types[key]) for key in chosen}
    params["markup"] = rng.choice(formats or ("markdown", "markdown", "plain", "auto", "html"))
    if rng.random() < 0.8:
        most = params["max_tokens"] = rng.choice([size for size in SIZES if size >= 200 or not large])
        if rng.random() < 0.4:
            params["min_tokens"] = rng.randint(0, most)
        if rng.random() < 0.4:
            params["overlap_tokens"] = rng.randint(0, most - 1)
    return {key: value for key, value in params.items() if key in defaults}


def _draw_value(rng: random.Random, default: Any, hint: Any) -> Any:
    options = [hint] if get_origin(hint) is Literal else list(get_args(hint)) or [hint]
    kind = rng.choice(options)
    if get_origin(kind) is Literal:
        return rng.choice(get_args(kind))
    if kind is bool:
        return rng.random() < 0.5
    if kind is int:
        return rng.choice((default, rng.randint(0, 9), round((default or 10) * rng.uniform(0.3, 2))))
    if kind is float:
        return rng.choice((default, rng.random(), float(default or 1) * rng.uniform(0.3, 2)))
    return rng.choice(("en", "de", "fr", "ja", "zh", "xx")) if default == "en" else default


def breaches(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each breach of a promise: its kind and a message."""
    chunker, document = case.build(), case.document()
    try:
        explanation = chunker.explain(document)
    except (BadModelOutput, ConfigurationError, NotConverged) as error:
        yield REFUSED, f"{type(error).__name__}: {error}"
        return
    text, chunks = explanation.document.text, explanation.chunks
    for kind, messages in (
        (
            "inexact",
            inexact(text, (chunk for chunk in chunks if chunk.text or not chunk.context)),
        ),  # a title has no span
        ("lossy", lost(text, chunks)),
        ("over", _over(chunker, explanation)),
        ("metadata", _changed(case.metadata, [chunk.metadata for chunk in chunks])),
        ("unstable", _unstable(case, chunker, chunks)),
        ("metadata", _shared(document, chunks)),
    ):
        yield from ((kind, message) for message in messages)
    if case.front_end != "core":
        yield from _front_end_breaches(case, chunks)


def _over(chunker: Chunker, explanation: Explanation) -> Iterator[str]:
    """Yield chunks over the limit in tokens, or in words, and overlaps over theirs."""
    text, chunks = explanation.document.text, explanation.chunks
    whole = [block.span for block in explanation.document.blocks or () if block.kind in ("table", "figure")]
    kept = getattr(chunker, "split_tables", True) is False or chunker.algorithm in {"grobid-section", "auto"}
    divisible = [
        chunk
        for chunk in chunks
        if not (kept and chunk.metadata.get("oversize") and any(a < chunk.end and chunk.start < b for a, b in whole))
    ]
    embedded = lambda chunk: chunk.embed_text  # noqa: E731
    yield from over(divisible, chunker.max_tokens, chunker.counter, embedded)
    if (words := getattr(chunker, "max_chunk_size", None)) and not getattr(chunker, "domain", None):
        yield from over(divisible, words, count_words, lambda chunk: chunk.text, "words")
    for chunk in chunks:
        if chunk.tokens != chunker.counter(chunk.embed_text):
            yield f"{chunk.tokens} tokens are reported and {chunker.counter(chunk.embed_text)} counted: {chunk.text[:60]!r}"  # noqa: E501
    covered = 0
    is_flat = all(len(chunk.spans) == 1 and chunk.level == 0 for chunk in chunks)
    for chunk in chunks if is_flat else ():
        repeated = text[chunk.start : max(covered, chunk.start)]
        if repeated and chunker.counter(repeated) > chunker.overlap_tokens:
            yield f"{chunker.counter(repeated)} tokens repeated, at most {chunker.overlap_tokens}: {repeated[:60]!r}"
        covered = max(covered, chunk.end)


def _changed(user: Mapping[str, Any], metadata: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the user's keys that have another value in the metadata of some chunk."""
    for key, value in user.items():
        others = [own.get(key, "nothing") for own in metadata if own.get(key, "nothing") != value]
        if others:
            yield f"{key!r} is {value!r} and became {others[0]!r}"


def _unstable(case: Case, chunker: Chunker, chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield differences from the chunks of another chunker with the same settings, beside another document."""
    expected = [_figures(chunk) for chunk in chunks]
    for source, other in (("a new chunker", case.build()), ("the same chunker", chunker)):
        beside = Document("Another text. " * 9 + case.text[:200], "another")
        results = other.chunk_many([beside, case.document()], on_error="collect")
        own = _unlinked(results[1]) if ALGORITHMS[case.chunker].corpus else results[1]
        if [_figures(chunk) for chunk in own] != expected:
            yield f"{source} gives other chunks: {len(own)} instead of {len(chunks)}"


def _unlinked(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks of a document without its place in a corpus, which depends on the other documents."""
    links = "granularity", "parent_id"
    return [replace(chunk, metadata=remove_written(chunk.metadata, links)) for chunk in chunks if chunk.spans]


def _figures(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.id, chunk.text, chunk.spans, chunk.tokens, chunk.context, dict(chunk.metadata)


def _shared(document: Document, chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield changes of the document or of other chunks that come from changing the metadata of the first."""
    if not chunks:
        return
    before = copy.deepcopy([document.metadata, *(chunk.metadata for chunk in chunks[1:])])
    for value in chunks[0].metadata.values():
        if isinstance(value, list):
            value.append("changed")
        elif isinstance(value, dict):
            value["changed"] = True
    if before != [document.metadata, *(chunk.metadata for chunk in chunks[1:])]:
        yield "a change of one chunk's metadata changes the document or another chunk"


def _front_end_breaches(case: Case, chunks: Sequence[Chunk]) -> Iterator[tuple[str, str]]:
    """Yield differences of an adapter's chunks from the core's."""
    pieces = _PIECES[case.front_end](case, case.build(case.front_end))
    pieces = [piece for piece in pieces if "sources" not in written_metadata(piece[2])]  # summaries of a corpus
    pairs = zip(pieces, chunks, strict=False)  # an adapter may put the context into the text
    equal = all(own == chunk.id and text in (chunk.text, chunk.embed_text) for (own, text, *_), chunk in pairs)
    if not equal or len(pieces) != len(chunks):
        yield "unequal", f"{len(pieces)} pieces differ from the core's {len(chunks)} chunks"
    yield from (("metadata", message) for message in _changed(case.metadata, [piece[2] for piece in pieces]))
    count, limit = case.build().counter, case.build().max_tokens
    sizes = [
        (count(embedded), count(chunk.embed_text), embedded)
        for (*_, embedded), chunk in zip(pieces, chunks, strict=False)
    ]
    for size, own, embedded in sizes:
        if size > limit and size > own:
            yield "over", f"{size} tokens are embedded, at most {limit}: {embedded[:60]!r}"


def _langchain(case: Case, splitter: Any) -> list[tuple[str, str, Mapping[str, Any], str]]:
    from langchain_core.documents import Document as LangChainDocument

    document = LangChainDocument(case.text, id="document", metadata=copy.deepcopy(dict(case.metadata)))
    return [(d.id, d.page_content, d.metadata, d.page_content) for d in splitter.split_documents([document])]


def _llamaindex(case: Case, parser: Any) -> list[tuple[str, str, Mapping[str, Any], str]]:
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core.schema import MetadataMode

    metadata = copy.deepcopy(dict(case.metadata))
    hidden = [*metadata]  # what users add to what is embedded is theirs to count
    document = LlamaIndexDocument(
        text=case.text,
        id_="document",
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )
    nodes = parser.get_nodes_from_documents([document])
    embedded = [node.get_content(MetadataMode.EMBED) for node in nodes]
    return [(node.node_id, node.text, node.metadata, text) for node, text in zip(nodes, embedded, strict=True)]


_PIECES: Mapping[str, Callable[[Case, Any], list[tuple[str, str, Mapping[str, Any], str]]]] = {
    "langchain_advchunk": _langchain,
    "llamaindex_advchunk": _llamaindex,
}


def run_case(seed: int, data: Path | None, run: int) -> Outcome:
    """Run a case; an exception is a breach."""
    start = time.perf_counter()
    case = draw_case(seed, run, data)
    try:
        messages = tuple(breaches(case))
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        messages = (("error", f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"),)
    return Outcome(run, case.chunker, case.front_end, messages, time.perf_counter() - start)


def summary_table(outcomes: Sequence[Outcome]) -> str:
    """Return a Markdown table of the runs, the refusals and the runs with each kind of breach, by chunker and in
    total.
    """
    rows = [["chunker", "runs", REFUSED, *BREACHES], ["---"] * (len(BREACHES) + 3)]
    for name in [*names(), "all"]:
        group = [outcome for outcome in outcomes if name in (outcome.chunker, "all")]
        counts = Counter(kind for outcome in group for kind in {kind for kind, _ in outcome.breaches})
        rows.append([name, f"{len(group):,}", *(str(counts[kind]) for kind in (REFUSED, *BREACHES))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("| --- |", "|---|")


def main() -> None:
    """Run, print, and exit with 1 if a promise was broken."""
    parser = argument_parser(__doc__, data=False)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    if args.only is not None:
        case = draw_case(args.seed, args.only, args.data)
        print(
            json.dumps(
                {**vars(case), "params": dict(case.params), "metadata": dict(case.metadata)}, indent=1, default=repr
            )
        )
        runs: Sequence[int] = [args.only]
    else:
        runs = range(args.runs)
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = pool.map(partial(run_case, args.seed, args.data), runs, chunksize=1 if args.only is not None else 20)
        outcomes = list[Outcome]()
        for outcome in jobs:
            outcomes.append(outcome)
            for kind, message in dict(reversed(outcome.breaches)).items():  # the first of each kind
                if kind != REFUSED or args.only is not None:
                    print(
                        f"run {outcome.run}, {outcome.chunker}, {outcome.front_end}: {kind}: {message}", file=sys.stderr
                    )
    slowest = max(outcomes, key=lambda outcome: outcome.seconds)
    print(f"slowest: run {slowest.run}, {slowest.chunker}, {slowest.seconds:.1f} s", file=sys.stderr)
    print(summary_table(outcomes))
    sys.exit(any(kind != REFUSED for outcome in outcomes for kind, _ in outcome.breaches))


if __name__ == "__main__":
    main()
