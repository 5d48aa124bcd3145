"""One self-contained HTML page that shows how methods chunk documents."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from typing import Any

import numpy as np

from advchunk.errors import require
from advchunk.records import WRITTEN_KEYS, Chunk, Document, Explanation
from advchunk.text.templates import fill_page

_MOST_SAMPLES = 4000  # of a signal; a screen has fewer pixels


@dataclass(frozen=True)
class View:
    """A page of chunked documents, which a notebook shows; ``html`` is the page itself.

    Parameters
    ----------
    explanations : from `Chunker.explain`: one, or one for each document, or these by method name to compare methods side
        by side. Every method must have chunked the same documents in the same order.
    title : of the page.
    height : in pixels, in a notebook.

    Raises
    ------
    ConfigurationError : there is no document, or the methods have chunked different ones.

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

    def __post_init__(self) -> None:
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
        template, style, script = (
            files("advchunk.viewer").joinpath(f"page.{suffix}").read_text(encoding="utf-8")
            for suffix in ("html", "css", "js")
        )
        documents = [_document_data(own) for own in zip(*methods.values(), strict=True)]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        data = {"documents": documents, "methods": list(methods)}
        return fill_page(template, title=self.title, style=style, script=script, digest=digest, data=data)

    def _repr_html_(self) -> str:
        page = html.escape(self.html)
        style = f"width:100%;height:{self.height}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def _document_data(explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Return a document, and its chunks by each method."""
    document = explanations[0].document
    return {
        "name": document.source,
        "text": document.text,
        "wide": [offset for offset, character in enumerate(document.text) if character > "\uffff"],
        "pages": _pages(document),
        "methods": list(map(_method_data, explanations)),
    }


def _method_data(explanation: Explanation) -> dict[str, Any]:
    segmentation = explanation.segmentation
    return {
        "chunks": [_chunk_data(chunk) for chunk in explanation.chunks],
        "cuts": {cut.offset: [cut.reason, _rounded(cut.score)] for cut in explanation.cuts},
        "signal": _signal(explanation),
        "threshold": _rounded(segmentation.threshold) if segmentation else None,
    }


def _chunk_data(chunk: Chunk) -> dict[str, Any]:
    metadata = {key: value for key, value in chunk.metadata.items() if key != WRITTEN_KEYS}
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


def _rounded(value: Any) -> float | None:
    return float(f"{value:.4g}") if value is not None and math.isfinite(value) else None


def _pages(document: Document) -> list[list[Any]]:
    """Return the page, box, and span of each block that has a box."""
    return [
        [page, *(round(edge, 1) for edge in box), *block.span]
        for block in document.blocks or ()
        for page, box in block.places
        if box is not None
    ]
