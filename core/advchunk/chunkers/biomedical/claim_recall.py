"""A metric of retrieval: how many numeric claims of an answer are retrieved in full.

A cut between a number and its comparator loses the claim (`advchunk.chunkers.biomedical.claims`) though every
character is still retrieved. So a claim counts only if one chunk contains all of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.records import Chunk, Floats, Ints, Span


def claims_of_task(task: Any) -> tuple[tuple[tuple[str, Span], ...], ...]:
    """Return each answer's claims with a statistic; their comparators may be outside of the answer."""
    pairs = zip(task.documents, task.sentences, strict=True)
    claims = {document.source: numeric_claims(document.text, units) for document, units in pairs}
    return tuple(
        tuple(
            (name, claim.span)
            for name in dict.fromkeys(document for document, _ in question.references)
            for claim in claims.get(name, ())
            if any(
                document == name and start >= span.start and end <= span.end
                for document, span in question.references
                for start, end in claim.statistics
            )
        )
        for question in task.questions
    )


def claims_at_k(
    claims: Sequence[Sequence[tuple[str, Span]]], chunks: Mapping[str, Sequence[Chunk]], ranking: Ints, k: int
) -> Floats:
    """Return the share of each answer's claims that are complete in one of the first k chunks: (q,), NaN if none.

    ``ranking`` has the (q, r) indices of ``chunks``, best first; r >= k, or all chunks.
    """
    indexed = [(name, _merge_spans(chunk.spans)) for name, group in chunks.items() for chunk in group]

    def is_complete(document: str, claim: Span, chunks: Sequence[int]) -> bool:
        spans = (span for name, own in (indexed[chunk] for chunk in chunks) if name == document for span in own)
        return any(start <= claim.start and claim.end <= end for start, end in spans)

    first = ranking[:, :k].tolist()
    return np.array([
        np.mean([is_complete(*claim, own) for claim in expected]) if expected else np.nan
        for expected, own in zip(claims, first, strict=True)
    ])  # fmt: skip


def _merge_spans(spans: Sequence[Span]) -> list[Span]:
    """Return spans in order, those that touch or overlap merged."""
    merged = list[Span]()
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


METRIC: Mapping[str, Any] = {  # a row of `advchunk.evaluation.metrics.table`
    "name": "claims_at_k",
    "summary": "numeric claims in the first k",
    "column": "claims at k",
    "title": "claims@k",
    "needs": claims_of_task,
    "score": lambda of: claims_at_k(of.needs, of.chunks, of.ranking, of.k),
    "condition": "numeric claims in the answer",
    "meaning": "is the share of the numeric claims in the answers (a statistic and its comparator) that one of the "
    "first k chunks holds whole",
}
