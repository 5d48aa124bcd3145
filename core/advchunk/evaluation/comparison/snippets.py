"""The lines of code that chunk and search documents as an option of `recommend` does."""

from collections.abc import Mapping
from typing import Any

from advchunk.chunkers import registry
from advchunk.evaluation.comparison.tables import read_template
from advchunk.retrieval.search import Search
from advchunk.text.pages import fill_text


def python_code(
    name: str, parameters: Mapping[str, str], search: Search, budget: int, language: str = "en"
) -> dict[str, str]:
    """Return the lines for advchunk, LangChain and LlamaIndex, by these names.

    Parameters
    ----------
    name : of the chunker.
    parameters : of the chunker, as code; ``embedder`` only if it is not the embedded default.
    budget : tokens to retrieve.
    language : of the documents, for the search by words.

    >>> print(python_code("recursive", {"max_tokens": "64"}, Search("lexical"), 1000)["advchunk"])
    import advchunk
    from advchunk.retrieval import Retriever
    <BLANKLINE>
    chunker = advchunk.create('recursive', max_tokens=64)
    retriever = Retriever({name: chunker.chunk(text) for name, text in texts.items()}, mode='lexical', neighbors=False)
    passages = retriever.passages(query, budget=1000)
    """
    how = {"mode": repr(search.mode), "neighbors": str(search.neighbors)}
    levels = {name: getattr(search, name) for name in ("levels", "answer", "section_weight", "merge")}
    how |= {name: repr(value) for name, value in levels.items() if value != getattr(Search(), name)}
    how |= {"language": repr(language)} if search.mode != "dense" and language != "en" else {}
    values: dict[str, Any] = {
        "name": repr(name),
        "kind": registry.TABLE[name].chunker.__name__.removesuffix("Chunker"),
        "parameters": parameters,
        "settings": {key: value for key, value in parameters.items() if key != "embedder"},
        "plain": {key: value for key, value in parameters.items() if key not in ("embedder", "vectors")},
        "vectors": parameters.get("vectors"),
        "search": how,
        "words": search.mode == "lexical",
        "budget": budget,
        "arguments": _arguments,
    }
    return {
        package: fill_text(read_template(f"{package.lower()}.txt"), **values)
        for package in ("advchunk", "LangChain", "LlamaIndex")
    }


def _arguments(*parts: str | Mapping[str, Any]) -> str:
    """Return the arguments of a call: values, and names with values."""
    named = [part.items() if isinstance(part, Mapping) else [("", part)] for part in parts]
    return ", ".join(f"{name}={value}" if name else value for pairs in named for name, value in pairs)
