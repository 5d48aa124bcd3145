"""How many of an answer's numeric claims are found whole.

A cut between a number and what it is compared with loses the claim (`advchunk.chunkers.biomedical.claims`) though every character is still
retrieved. So a claim counts as found only where one chunk holds the whole of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from advchunk.chunkers.biomedical.claims import Claim
from advchunk.evaluation.data.questions import Question
from advchunk.records import Chunk, Floats, Ints, Span


def answered(
    questions: Sequence[Question], claims: Mapping[str, Sequence[Claim]]
) -> tuple[tuple[tuple[str, Span], ...], ...]:
    """Return the claims in each question's answer: those with a statistic in it, their comparators too if outside.

    Parameters
    ----------
    claims : of each document, by its name.
    """
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
    """Return the share of each answer's claims that one of the first k chunks holds whole.

    Parameters
    ----------
    claims : of each question, from `answered`.
    chunks : of each document, in the order that ``ranking`` counts them in.
    ranking : (q, r) indices of chunks, best first, r >= k or all there are.

    Returns
    -------
    (q,) 0..1, NaN where an answer has no claim.
    """
    each = [(name, _joined(chunk.spans)) for name, several in chunks.items() for chunk in several]
    scores = np.full(len(claims), np.nan)
    for q, wanted in enumerate(claims):
        first = [each[chunk] for chunk in ranking[q, :k].tolist()]
        if wanted:
            held = [any(name == of and _holds(spans, span) for of, spans in first) for name, span in wanted]
            scores[q] = sum(held) / len(held)
    return scores


def _holds(spans: Sequence[Span], wanted: Span) -> bool:
    return any(span.start <= wanted.start and wanted.end <= span.end for span in spans)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return spans in order, with those that touch or overlap made one."""
    joined = list[Span]()
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined
