"""Score how many numeric claims of an answer are retrieved in full.

A cut between a number and its comparator loses the claim (`advchunk.biomedical.claims`) though every
character is still retrieved. So a claim counts only if one chunk contains all of it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from advchunk.biomedical.claims import Claim
from advchunk.evaluation.data.questions import Question
from advchunk.records import Chunk, Floats, Ints, Span


def claims_in_answers(
    questions: Sequence[Question], claims: Mapping[str, Sequence[Claim]]
) -> tuple[tuple[tuple[str, Span], ...], ...]:
    """Return the claims with a statistic in each question's answer; their comparators may be outside of it."""
    return tuple(
        tuple(
            (name, claim.span)
            for name in dict.fromkeys(reference.document for reference in question.references)
            for claim in claims.get(name, ())
            if any(
                reference.document == name and start >= reference.span.start and end <= reference.span.end
                for reference in question.references
                for start, end in claim.statistics
            )
        )
        for question in questions
    )


def claims_at_k(
    claims: Sequence[Sequence[tuple[str, Span]]], chunks: Mapping[str, Sequence[Chunk]], ranking: Ints, k: int
) -> Floats:
    """Return the share of each answer's claims that are complete in one of the first k chunks: (q,), NaN without claims.

    Parameters
    ----------
    claims : of each question, from `claims_in_answers`.
    chunks : of each document, in the order in which ``ranking`` numbers them.
    ranking : (q, r) indices of chunks, best first; r >= k, or all chunks.
    """
    indexed = [(name, _merge_spans(chunk.spans)) for name, group in chunks.items() for chunk in group]
    scores = np.full(len(claims), np.nan)
    for q, expected in enumerate(claims):
        first = [
            (name, *span) for name, spans in (indexed[chunk] for chunk in ranking[q, :k].tolist()) for span in spans
        ]
        if expected:
            scores[q] = np.mean([
                any(document == name and start <= claim.start and claim.end <= end for document, start, end in first)
                for name, claim in expected
            ])  # fmt: skip
    return scores


def _merge_spans(spans: Sequence[Span]) -> list[Span]:
    """Return spans in order, those that touch or overlap merged."""
    merged = list[Span]()
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
