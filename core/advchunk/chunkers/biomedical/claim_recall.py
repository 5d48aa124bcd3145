"""A metric of retrieval: how many numeric claims of an answer one chunk contains in full.

A cut between a number and its comparator loses the claim (`biomedical.claims`) though all characters are retrieved.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.records import Chunk, Floats, Ints, Span


def claims_of_task(task: Any) -> tuple[tuple[tuple[str, Span], ...], ...]:
    """Return each answer's claims with a statistic; their comparators may be outside of the answer."""
    pairs = zip(task.documents, task.sentences, strict=True)
    claims = {document.source: numeric_claims(document.text, units) for document, units in pairs}

    def of_answer(references: Sequence[tuple[str, Span]]) -> Iterator[tuple[str, Span]]:
        for name in dict.fromkeys(document for document, _ in references):
            answers = [span for document, span in references if document == name]
            for claim in claims.get(name, ()):
                if any(a <= start and end <= b for a, b in answers for start, end in claim.statistics):
                    yield name, claim.span

    return tuple(tuple(of_answer(question.references)) for question in task.questions)


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
    for start, end in sorted(spans):
        before = merged.pop() if merged and start <= merged[-1].end else Span(start, end)
        merged.append(Span(before.start, max(before.end, end)))
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
