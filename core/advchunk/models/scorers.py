"""Scorers: models that tell how well texts answer a question."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import BadModelOutput, require, require_answer
from advchunk.models.embedders import METHODS
from advchunk.records import Floats

Scorer: TypeAlias = Callable[[str, list[str]], Any]
"""Returns a number for each of some texts, the higher the better a text answers a question."""


def as_scorer(model: Any) -> Scorer:
    """Return a model as a function that returns a finite float64 for each text, or raises `BadModelOutput`.

    A model is a `Scorer`; a cross-encoder, whose ``predict`` takes pairs of a question and a text; or LangChain's
    ``BaseDocumentCompressor`` or LlamaIndex's ``BaseNodePostprocessor``, by its scores, or else by its order, where
    texts that it leaves out come last. Raises `ConfigurationError` for anything else, such as an embedder.
    """
    calls = [call for method, call in _CALLS.items() if callable(getattr(model, method, None))]
    is_function = callable(model) and not is_embedder(model)
    require(bool(calls) or is_function, "scorer must be a function, or a model that scores", model)
    return partial(_check, partial(calls[0], model) if calls else model)


def is_embedder(model: Any) -> bool:
    """Return True if a model scores texts by their vectors."""
    scores = any(callable(getattr(model, method, None)) for method in _CALLS)
    return not scores and (isinstance(model, str) or any(hasattr(model, method) for method in METHODS[:-1]))


def _check(call: Scorer, question: str, texts: list[str]) -> Floats:
    answer, rule = call(question, texts), f"a scorer must return {len(texts)}"
    try:
        scores = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{rule} numbers, got {type(answer).__name__} ({error})"
        raise BadModelOutput(msg) from error
    require_answer(scores.shape == (len(texts),), f"{rule} numbers, got {scores.size}")
    require_answer(bool(np.isfinite(scores).all()), f"{rule} finite numbers, got NaN or infinity")
    return scores


def _by_pairs(model: Any, question: str, texts: list[str]) -> Any:
    return model.predict([(question, text) for text in texts])


def _by_compressor(model: Any, question: str, texts: list[str]) -> Floats:
    from langchain_core.documents import Document

    documents = [Document(text, metadata={"number": number}) for number, text in enumerate(texts)]
    kept = model.compress_documents(documents, question)
    return _kept([(own.metadata["number"], own.metadata.get("relevance_score")) for own in kept], len(texts))


def _by_postprocessor(model: Any, question: str, texts: list[str]) -> Floats:
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(number))) for number, text in enumerate(texts)]
    kept = model.postprocess_nodes(nodes, query_str=question)
    return _kept([(int(own.node.node_id), own.score) for own in kept], len(texts))


def _kept(pairs: Sequence[tuple[int, float | None]], n: int) -> Floats:
    """Return the scores of n texts, given the numbers and scores of those that were kept, best first."""
    values = [-float(place) if score is None else float(score) for place, (_, score) in enumerate(pairs)]
    scores = np.full(n, 2 * min(values, default=0) - max(values, default=0) - 1)
    scores[[number for number, _ in pairs]] = values
    return scores


_CALLS = {"predict": _by_pairs, "compress_documents": _by_compressor, "postprocess_nodes": _by_postprocessor}
