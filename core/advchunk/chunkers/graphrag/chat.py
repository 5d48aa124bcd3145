"""Entities, relations and summaries by a chat model."""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final, TypeVar

from advchunk.chunkers.graphrag.central_sentences import Summary, beginning
from advchunk.chunkers.graphrag.extraction import LeafText
from advchunk.chunkers.graphrag.graph import Extraction, KnowledgeGraph, Mention, Relation
from advchunk.engine import ChatRequest, Plan
from advchunk.errors import BadModelOutput, BudgetExceeded, ModelUnavailable, require_answer
from advchunk.models.chat import usable_answer
from advchunk.models.prompts import TEXT, fill_prompt, get_property, object_schema, single_line
from advchunk.records import Span
from advchunk.text.counters import Counter

_T = TypeVar("_T")

GRAPHRAG_VERSION: Final = "graphrag-1"  # of the prompts; part of the cache key of answers
_MAX_ANSWER = 2048  # tokens
_MAX_CHARACTERS = 16 * _MAX_ANSWER  # of an answer; parsing one of these takes some .2 s at most
_MAX_NAME, _MAX_DESCRIPTION, _MAX_REPORT = 120, 400, 20_000  # characters
_MAX_STRENGTH = 10
_WORDS_PER_TOKEN = 0.7
_STRENGTH = {"type": "integer", "minimum": 1, "maximum": _MAX_STRENGTH}
_ENTITY = object_schema(name=TEXT, kind=TEXT, description=TEXT)
_RELATION = object_schema(source=TEXT, target=TEXT, description=TEXT, strength=_STRENGTH)
_LISTS = {"entities": {"type": "array", "items": _ENTITY}, "relations": {"type": "array", "items": _RELATION}}
_EXTRACTION = object_schema(**_LISTS)
_REPORT = object_schema(title=TEXT, summary=TEXT)


@cache
def _prompt(name: str) -> str:
    return files("advchunk.chunkers.graphrag").joinpath(f"prompts/{name}.txt").read_text("utf-8")


@dataclass(frozen=True)
class Asker:
    """Sends requests to a chat model."""

    chat: Any  # the model, perhaps behind a cache
    temperature: float
    seed: int
    attempts: int  # maximum requests until an answer can be used, >= 1

    def ask(
        self, messages: tuple[tuple[str, str], ...], schema: dict[str, Any], parse: Callable[[Any], _T]
    ) -> Plan[_T]:
        """Ask until ``parse`` takes the JSON of an answer: it raises `BadModelOutput`."""
        settings = _MAX_ANSWER, self.temperature, self.seed, GRAPHRAG_VERSION
        request = ChatRequest(messages, json.dumps(schema), *settings)
        return usable_answer(self.chat, request, partial(_within_bounds, parse), self.attempts)


def _within_bounds(parse: Callable[[Any], _T], answer: str) -> _T:
    """Parse the JSON of an answer; raise `BadModelOutput` for one that is far longer than asked for, or too deep."""
    rule = f"an answer must have at most {_MAX_CHARACTERS:,} characters"
    require_answer(len(answer) <= _MAX_CHARACTERS, f"{rule}, got {len(answer):,}")
    try:
        return parse(json.loads(answer))
    except RecursionError:
        msg = f"an answer must not be nested that deeply, got {answer[:80]!r}"
        raise BadModelOutput(msg) from None


@dataclass(frozen=True)
class ChatExtractor:
    """Asks a chat model for entities and relations, then ``gleanings`` times for those that are missing.

    An entity whose name is not in the text is left out, with its relations, which excludes most of what a model makes
    up and of what instructions in a text could add. If a later question fails, the answers so far are used.
    """

    asker: Asker
    kinds: str  # the kinds of entities to ask for
    gleanings: int = 1

    def plan(self, passage: LeafText) -> Plan[Extraction]:
        """Return the entities and relations of a passage."""
        question = "user", fill_prompt(_prompt("extraction"), kinds=self.kinds, text=passage.text)
        messages: tuple[tuple[str, str], ...] = (question,)
        parse = partial(parse_extraction, passage=passage)
        extraction = yield from self.asker.ask(messages, _EXTRACTION, parse)
        for _ in range(self.gleanings):
            messages = (question, ("assistant", _as_json(extraction)), ("user", _prompt("gleaning")))
            earlier = {mention.name: mention for mention in extraction.mentions}
            try:
                more = yield from self.asker.ask(messages, _EXTRACTION, partial(parse, earlier=earlier.values()))
            except (BadModelOutput, BudgetExceeded, ModelUnavailable):
                break
            extraction, before = _merge(extraction, more), extraction
            if extraction == before:
                break
        return extraction


def parse_extraction(answer: Any, passage: LeafText, earlier: Iterable[Mention] = ()) -> Extraction:
    """Return the entities and relations that a passage has; relations may join ``earlier`` ones, too."""
    entities = get_property(answer, "entities", list)
    mentions, names = list[Mention](), {mention.name.casefold(): mention.name for mention in earlier}
    for entity in _objects(entities):
        name = _line(entity.get("name"), _MAX_NAME)
        places = _occurrences(name, passage.text) if name.casefold() not in names else []
        kind, description = _line(entity.get("kind"), _MAX_NAME).lower(), _line(entity.get("description"))
        mentions += [Mention(name, *span, kind, description) for span in places]
        if places:
            names[name.casefold()] = name
    rule = "an answer must have names that are in the text"
    require_answer(bool(names) or not entities, f"{rule}, got {str(entities)[:80]!r}")
    relations = list[Relation]()
    for relation in _objects(answer.get("relations")):
        ends = (_line(relation.get(end), _MAX_NAME).casefold() for end in ("source", "target"))
        left_name, right_name = map(names.get, ends)
        if left_name and right_name and left_name != right_name:
            span = _shared_span(left_name, right_name, passage)
            strength, description = _strength(relation.get("strength")), _line(relation.get("description"))
            relations.append(Relation(left_name, right_name, *span, strength, description))
    return Extraction(tuple(sorted(mentions, key=lambda mention: mention[1:3])), tuple(relations))


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _line(value: Any, most: int = _MAX_DESCRIPTION) -> str:
    """Return a text as one printable line; an empty one if it is no text."""
    text = value if isinstance(value, str) else ""
    return single_line(text)[:most].strip()


def _occurrences(name: str, text: str) -> list[Span]:
    words = r"\s+".join(map(re.escape, name.split()))
    pattern = rf"(?<!\w){words}(?!\w)"
    return [Span(*match.span()) for match in re.finditer(pattern, text, re.IGNORECASE)] if words else []


def _shared_span(left_name: str, right_name: str, passage: LeafText) -> Span:
    """Return the first sentence with both names, or else the shortest passage from one to the other."""
    firsts, seconds = _occurrences(left_name, passage.text), _occurrences(right_name, passage.text)
    for sentence in passage.sentences:
        if all(any(sentence.start <= a and b <= sentence.end for a, b in spans) for spans in (firsts, seconds)):
            return sentence
    pairs = [Span(min(a.start, b.start), max(a.end, b.end)) for a in firsts for b in seconds]
    return min(pairs, key=lambda span: (span.end - span.start, span.start))


def _strength(value: Any) -> float:
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return float(min(max(value, 1), _MAX_STRENGTH)) if is_number else 1.0


def _as_json(extraction: Extraction) -> str:
    entities = {m.name: {"name": m.name, "kind": m.kind, "description": m.description} for m in extraction.mentions}
    relations = [
        {"source": r.source, "target": r.target, "description": r.description, "strength": r.weight}
        for r in extraction.relations
    ]
    return json.dumps({"entities": [*entities.values()], "relations": relations}, ensure_ascii=False)


def _merge(first: Extraction, second: Extraction) -> Extraction:
    mentions = {*first.mentions, *second.mentions}
    relations = dict.fromkeys([*first.relations, *second.relations])
    return Extraction(tuple(sorted(mentions, key=lambda m: (m.start, m.end, m.name))), tuple(relations))


@dataclass(frozen=True)
class ReportWriter:
    """Asks a chat model for a summary of a community."""

    asker: Asker
    summary_tokens: int  # maximum tokens of a summary; the end of a longer one is cut off, after a sentence if possible
    material_tokens: int  # maximum tokens of the material in a prompt
    counter: Counter  # counts tokens

    def plan(self, lines: Sequence[str], extract: Summary) -> Plan[Summary]:
        """Return a summary of the first ``lines`` that fit, the most important first, with the extract's sources."""
        shown, left = list[str](), self.material_tokens
        for line in lines:
            size = self.counter(f"{line}\n")
            if size <= left:
                shown.append(line)
                left -= size
        words = str(max(int(self.summary_tokens * _WORDS_PER_TOKEN), 1))
        prompt = fill_prompt(_prompt("report"), material="\n".join(shown), words=words)
        title, text = yield from self.asker.ask((("user", prompt),), _REPORT, _parse_report)
        return extract._replace(title=title, text=beginning(text, self.summary_tokens, self.counter), by="model")


def _parse_report(answer: Any) -> tuple[str, str]:
    values = answer if isinstance(answer, dict) else {}
    title, text = _line(values.get("title"), _MAX_NAME), _line(values.get("summary"), _MAX_REPORT)
    require_answer(bool(title and text), f"an answer must have a title and a summary, got {str(answer)[:80]!r}")
    return title, text


def material(members: Sequence[str], graph: KnowledgeGraph, parts: Sequence[Summary], extract: Summary) -> list[str]:
    """Return lines on a community, most important first: summaries of parts, central sentences, entities, edges."""
    strengths, inside = graph.strengths(members), set(members)
    pairs = [(a, b) for a in strengths for b in graph.neighbors.get(a, ()) if a < b and b in inside]
    edges = [(pair, graph.edges[pair]) for pair in pairs]
    entities = [graph.entities[name] for name in sorted(strengths, key=lambda name: (-strengths[name], name))]
    described = [f"{entity.name} ({entity.kind}): {entity.description}" for entity in entities if entity.description]
    strongest = sorted(edges, key=lambda item: (-item[1].weight, item[0]))
    names = {name: graph.entities[name].name for name in strengths}
    related = [f"{names[a]} and {names[b]}: {edge.description}" for (a, b), edge in strongest if edge.description]
    summaries = [f"{part.title}: {part.text}" for part in parts]
    return [*summaries, *extract.text.splitlines(), *described, *related]
