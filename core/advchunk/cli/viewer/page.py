"""One self-contained HTML page that shows how methods chunk documents, and what answers a question."""

import base64
import hashlib
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import chain
from typing import Any

import numpy as np

from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.chunkers.explanations import Explanation
from advchunk.errors import check_fields, is_integer, require
from advchunk.records import WRITTEN_KEYS, Block, Chunk, Document
from advchunk.retrieval import Hit, Passage, PassageCutter, ScoredSentence
from advchunk.text import tables
from advchunk.text.separated import SEPARATORS
from advchunk.text.templates import fill_page

_WIDTH, _HEIGHT = 10_000, 1000  # of a drawing, in its own units
_MOST_SAMPLES = 4000  # of a signal; a screen has fewer pixels
_PLACES = {"first": "the first place allowed"}  # added to the reason of a cut
_HIT_TOKENS = 100  # of the chunks that passages are cut from, as in `advchunk ask`
_HEADING = re.compile(r"(?:[ \t]*#{1,6}[ \t]+)?(\S.*?)(?:[ \t]+#+)?(?:\r?\n[=-]+)?\s*", re.DOTALL)
# Between the cells of the tables that are drawn.
_SIGNS = {"pipes": "|"} | {str(kind): sign for kind, sign in SEPARATORS.items()}
_RULE = re.compile(r"[\s|:-]*")
_NO_WORD = "No word of the question is in the text (stop words do not count)."


@dataclass(frozen=True)
class View:
    """A page of chunked documents, which a notebook shows; ``html`` is the page itself.

    Parameters
    ----------
    explanations : from `Chunker.explain`: one, or one for each document, or these by method name to compare methods
        side by side. Every method must have chunked the same documents in the same order.
    title, height : title of the page; height in a notebook, in pixels.
    question : to show what answers it: the evidence for each sentence, and the passages that are cut for it.
    budget : tokens of all passages together, >= 1.
    cutter : scores sentences and cuts passages, by the words of the question alone; by default, in English.

    >>> from advchunk import RecursiveChunker
    >>> page = View(RecursiveChunker().explain("Cats purr. Dogs bark.")).html
    >>> page.startswith("<!doctype html>")
    True
    """

    explanations: Explanation | Sequence[Explanation] | Mapping[str, Explanation | Sequence[Explanation]] = field(
        repr=False
    )
    title: str = "Chunks"
    height: int = 640
    question: str = field(default="", repr=False)
    budget: int = field(default=1000, repr=False)
    cutter: PassageCutter | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        require(is_integer(self.budget, 1), "budget must be a whole number >= 1", self.budget)
        methods = self.methods
        texts = [[explanation.document.text for explanation in own] for own in methods.values()]
        require(bool(texts and texts[0]), "a view must have a document", self.explanations)
        rule = "all methods must have chunked the same documents in the same order"
        require(all(own == texts[0] for own in texts), rule, list(methods))

    @property
    def methods(self) -> dict[str, list[Explanation]]:
        """The explanation of each document, by method name."""
        by_name = self.explanations if isinstance(self.explanations, Mapping) else {"": self.explanations}
        return {name: [own] if isinstance(own, Explanation) else list(own) for name, own in by_name.items()}

    @property
    def html(self) -> str:
        """The page, without anything from the network; the document's text can run nothing."""
        methods = self.methods
        groups = list(zip(*methods.values(), strict=True))
        documents, names, answer = list(map(_document_data, groups)), list(methods), None
        if self.question:
            evidence = find_evidence([own[0].document for own in groups], self.question, self.budget, self.cutter)
            for document, own in zip(documents, evidence, strict=True):
                document["methods"].insert(0, _passage_data(own))
            answer = self._answer(evidence)
            names.insert(0, "passages")
        data = {"documents": documents, "methods": names, "asked": bool(self.question)}
        template, style, script = (
            files("advchunk.cli.viewer").joinpath(f"page.{suffix}").read_text(encoding="utf-8")
            for suffix in ("html", "css", "js")
        )
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        return fill_page(
            template, title=self.title, style=style, script=script, digest=digest, data=data, answer=answer
        )

    def _answer(self, evidence: "Sequence[Evidence]") -> dict[str, Any]:
        best = max((sentence.score for own in evidence for sentence in own.sentences), default=0.0)
        passages: list[dict[str, Any]] = [
            {"document": number, "place": place, "passage": passage}
            for number, own in enumerate(evidence)
            for place, passage in enumerate(own.passages)
        ]
        passages.sort(key=lambda entry: entry["passage"].score, reverse=True)
        tokens, n = sum(entry["passage"].tokens for entry in passages), len(passages)
        facts = f"{n} passage{'s' * (n != 1)}, {tokens:,} of {self.budget:,} tokens"
        if not n:
            facts = f"No sentence that answers fits into {self.budget:,} tokens." if best else _NO_WORD
        groups = zip(*self.methods.values(), strict=True)
        strips = [
            _strip(own, dict(zip(self.methods, explanations, strict=True)), best)
            for own, explanations in zip(evidence, groups, strict=True)
        ]
        return {"question": self.question, "facts": facts, "passages": passages, "strips": strips}

    def _repr_html_(self) -> str:
        page = html.escape(self.html)
        style = f"width:100%;height:{self.height}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


@dataclass(frozen=True)
class Evidence:
    """The sentences of a document, in reading order, with their scores for a question, and its passages, best first."""

    sentences: Sequence[ScoredSentence]
    passages: Sequence[Passage]


def find_evidence(
    documents: Sequence[Document], question: str, budget: int, cutter: PassageCutter | None = None
) -> list[Evidence]:
    """Score the sentences of whole documents for a question, and cut passages of ``budget`` tokens in all from them."""
    cutter = replace(cutter or PassageCutter(), hit_weight=0.0)  # nothing was searched, so that only words count
    # The numbers tell documents of one name apart; the rest says if they are source code.
    texts = {f"{number}:{document.source}": document.text for number, document in enumerate(documents)}
    chunker = RecursiveChunker(max_tokens=_HIT_TOKENS, fallback=None)  # whose chunks know clauses, lines and times
    chunks = zip(texts, chunker.chunk_many(documents), strict=True)
    hits = [Hit(chunk, name, 1.0) for name, group in chunks for chunk in group]
    sentences = cutter.sentences(question, hits, texts=texts, budget=budget)
    passages = cutter.cut(question, hits, budget, texts=texts)
    return [
        Evidence(
            [sentence for sentence in sentences if sentence.document == name],
            [replace(passage, document=document.source) for passage in passages if passage.document == name],
        )
        for name, document in zip(texts, documents, strict=True)
    ]


def split_chunks(explanation: Explanation, passages: Sequence[Passage]) -> tuple[list[Chunk], list[Chunk]]:
    """Return the chunks that share text with passages, and the others, without those divided into smaller ones."""
    parents = {chunk.parent for chunk in explanation.chunks}
    leaves = [chunk for index, chunk in enumerate(explanation.chunks) if index not in parents]
    spans = [span for passage in passages for span in passage.spans]
    text = explanation.document.text
    met, others = list[Chunk](), list[Chunk]()
    for chunk in leaves:
        shared = (text[max(a.start, b.start) : min(a.end, b.end)] for a in chunk.spans for b in spans)
        (met if any(map(str.strip, shared)) else others).append(chunk)
    return met, others


def _document_data(explanations: Sequence[Explanation]) -> dict[str, Any]:
    document = explanations[0].document
    places = [(page, box, block.span) for block in document.blocks or () for page, box in block.places if box]
    return {
        "name": document.source,
        "text": document.text,
        "wide": [offset for offset, character in enumerate(document.text) if character > "\uffff"],
        "blocks": [_block_data(block, document.text[slice(*block.span)]) for block in document.blocks or ()],
        "pages": [[page, *(round(edge, 1) for edge in box), *span] for page, box, span in places],
        "methods": list(map(_method_data, explanations)),
    }


def _block_data(block: Block, text: str) -> tuple[str, int, list[list[int]]]:
    """Return the kind and the level of a block, and its places: those of the cells of each row, or its own."""
    start = block.span.start
    if block.kind == "heading" and (words := _HEADING.fullmatch(text)):
        return block.kind, block.level, [[start + words.start(1), start + words.end(1)]]
    kind: tables.Form = tables.form(text) if block.kind == "table" else "lines"
    if kind not in _SIGNS:  # others stay as they are written
        return block.kind, block.level, [list(block.span)]
    rows, at = list[list[int]](), start
    for row in tables.rows(text, kind).strings():
        cells = list[int]()
        for cell in tables.cells(row, kind).strings():
            own = cell.strip(f" \t\r\n{_SIGNS[kind]}")
            cells += [at + cell.index(own), at + cell.index(own) + len(own)]
            at += len(cell)
        if kind != "pipes" or not _RULE.fullmatch(row):
            rows.append(cells)
    return "cells", block.level, rows


def _method_data(explanation: Explanation) -> dict[str, Any]:
    segmentation, cuts = explanation.segmentation, explanation.cuts
    return {
        "chunks": [_chunk_data(chunk) for chunk in explanation.chunks],
        "cuts": {cut.offset: [cut.reason, _rounded(cut.score), _PLACES.get(cut.origin, "")] for cut in cuts},
        "summary": explanation.signal.summary,
        "signal": _signal(explanation),
        "threshold": _rounded(segmentation.threshold) if segmentation else None,
    }


def _chunk_data(chunk: Chunk) -> dict[str, Any]:
    metadata = {key: _plain(value) for key, value in chunk.metadata.items() if key != WRITTEN_KEYS}
    facts = {"context": chunk.context, "level": chunk.level, "metadata": metadata}
    own = {name: value for name, value in facts.items() if value}
    spans = list(chain(*chunk.spans))
    return {"id": chunk.id, "tokens": chunk.tokens, "spans": spans, "parent": chunk.parent, **own}


def _signal(explanation: Explanation) -> list[tuple[int, float]]:
    """Return offsets and the score of each gap that has one: the highest of several where there are very many."""
    units, segmentation = explanation.units, explanation.segmentation
    if units is None or segmentation is None or segmentation.gaps is None:
        return []
    gaps = np.asarray(segmentation.gaps, dtype=float)
    scored = np.flatnonzero(np.isfinite(gaps))
    groups: Iterable[Any] = np.array_split(scored, min(len(scored), _MOST_SAMPLES)) if len(scored) else []
    peaks = [int(group[np.argmax(gaps[group])]) for group in groups]
    return [(int(units.edges[gap + 1]), float(f"{gaps[gap]:.4g}")) for gap in peaks]


def _passage_data(evidence: Evidence) -> dict[str, Any]:
    """Return passages in the form of a method's chunks, and where sentences start, with their scores."""
    sentences = [(sentence.spans[0].start, _rounded(sentence.score)) for sentence in evidence.sentences]
    chunks = [
        {"id": of.id, "tokens": of.tokens, "spans": list(chain(*of.spans)), "parent": None, "context": of.context,
         "metadata": {"score": _rounded(of.score), "citation": of.citation}}
        for of in evidence.passages
    ]  # fmt: skip
    return {"chunks": chunks, "cuts": {}, "signal": [], "threshold": None, "sentences": sentences}


def _strip(evidence: Evidence, methods: Mapping[str, Explanation], best: float) -> dict[str, Any]:
    """Return a drawing of the scores over a text, with its passages, and the chunks of each method under them."""
    document, sentences = next(iter(methods.values())).document, evidence.sentences
    scale = _WIDTH / max(len(document.text), 1)
    groups = np.array_split(np.arange(len(sentences)), min(len(sentences), _MOST_SAMPLES)) if sentences else []
    line = f"M0 {_HEIGHT}"
    for group in groups:
        start, score = sentences[group[0]].spans[0].start, max(sentences[unit].score for unit in group.tolist())
        line += f"H{start * scale:.0f}V{_HEIGHT * (1 - 0.95 * score / (best or 1)):.0f}"
    rows = []
    for name, explanation in methods.items():
        met, others = split_chunks(explanation, evidence.passages)
        facts = f"{len(met)} of {len(met) + len(others)} chunks, {sum(chunk.tokens for chunk in met):,} tokens"
        about = f"{name}: {facts}" if name else facts
        rows.append({"facts": about, "met": _boxes(met, scale), "others": _boxes(others, scale)})
    passages = [(passage, _boxes([passage], scale)) for passage in evidence.passages]
    return {"name": document.source, "line": f"{line}H{_WIDTH}V{_HEIGHT}", "passages": passages, "rows": rows}


def _boxes(texts: Iterable[Chunk | Passage], scale: float) -> str:
    boxes = [(span.start * scale, (span.end - span.start) * scale) for text in texts for span in text.spans]
    return "".join(f"M{start:.0f} 0h{width:.0f}v{_HEIGHT}h-{width:.0f}z" for start, width in boxes)


def _plain(value: Any) -> Any:
    """Return a value of metadata as JSON, which has no NaN; a value of another type is text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value))
    is_json = value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if is_json else str(value)


def _rounded(value: Any) -> float | None:
    return float(f"{value:.4g}") if value is not None and math.isfinite(value) else None
