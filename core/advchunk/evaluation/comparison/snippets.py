"""The lines of code that chunk and search documents as an option of `recommend` does."""

from collections.abc import Mapping
from typing import Any

from advchunk.chunkers import catalog
from advchunk.retrieval.search import Search

_WORDS = repr("lexical")


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
    return {
        "advchunk": _core(name, parameters, how, budget),
        "LangChain": _langchain(name, parameters, how, budget),
        "LlamaIndex": _llamaindex(name, parameters, how, budget),
    }


def _core(name: str, parameters: Mapping[str, str], how: Mapping[str, str], budget: int) -> str:
    embedder = {key: parameters[key] for key in ("embedder",) if key in parameters and how["mode"] != _WORDS}
    chunks = "{name: chunker.chunk(text) for name, text in texts.items()}"
    return f"""\
import advchunk
from advchunk.retrieval import Retriever

chunker = advchunk.create({_arguments(repr(name), **parameters)})
retriever = Retriever({_arguments(chunks, **embedder, **how)})
passages = retriever.passages(query, budget={budget})"""


def _langchain(name: str, parameters: Mapping[str, str], how: Mapping[str, str], budget: int) -> str:
    splitter = catalog.chunker_class(name).__name__.replace("Chunker", "Splitter")
    model = "embeddings" if "embedder" in parameters else "DefaultEmbeddings()"
    settings = {key: value for key, value in parameters.items() if key not in ("embedder", "vectors")}
    settings |= {"embeddings": "embeddings"} if "embedder" in parameters else {}
    vectors, names = parameters.get("vectors"), ["AdvchunkRetriever", splitter]
    options = {"chunks": "chunks", **how, "budget": str(budget)}
    lines = ["chunks = splitter.split_documents(documents)"]
    if how["mode"] != _WORDS:
        options = {"vectorstore": "store", **options}
        store = f"store = InMemoryVectorStore.from_documents(chunks, {model})"
        if vectors == "'units'":
            lines = ["chunks, rows, vectors = splitter.split_with_rows(documents)"]
            store, options = (
                "store = InMemoryVectorStore.from_documents(rows, vectors)",
                options | {"id_key": "'doc_id'"},
            )
        elif vectors:
            lines = [f"chunks, vectors = splitter.split_with_vectors(documents, {vectors})"]
            store = "store = InMemoryVectorStore.from_documents(chunks, vectors)"
        elif "embedder" not in parameters:
            names.append("DefaultEmbeddings")
        lines.append(f"{store}  # or any other store")
    stores = ["from langchain_core.vectorstores import InMemoryVectorStore"] * (how["mode"] != _WORDS)
    imports = [f"from langchain_advchunk import {', '.join(sorted(names))}", *stores]
    retriever = f"retriever = AdvchunkRetriever({_arguments(**options)})"
    ask = "passages = retriever.invoke(query)"
    return "\n".join([*imports, "", f"splitter = {splitter}({_arguments(**settings)})", *lines, retriever, ask])


def _llamaindex(name: str, parameters: Mapping[str, str], how: Mapping[str, str], budget: int) -> str:
    parser = catalog.chunker_class(name).__name__.replace("Chunker", "NodeParser")
    settings = {key: value for key, value in parameters.items() if key != "embedder"}
    settings |= {"embed_model": "embed_model"} if "embedder" in parameters else {}
    names, options = ["AdvchunkRetriever", parser], {**how, "budget": str(budget)}
    imports, lines = list[str](), ["nodes = parser.get_nodes_from_documents(documents)"]
    if how["mode"] == _WORDS:
        arguments = _arguments(nodes="nodes", **options)
    else:
        model = "embed_model" if "embedder" in parameters else "DefaultEmbedding()"
        names += ["DefaultEmbedding"] * ("embedder" not in parameters)
        imports = ["from llama_index.core import VectorStoreIndex"]
        lines.append(f"index = VectorStoreIndex(nodes, embed_model={model})  # over any store")
        arguments = _arguments("index", **options)
    imports.append(f"from llamaindex_advchunk import {', '.join(sorted(names))}")
    ask = "passages = retriever.retrieve(query)"
    retriever = f"retriever = AdvchunkRetriever({arguments})"
    return "\n".join([*imports, "", f"parser = {parser}({_arguments(**settings)})", *lines, retriever, ask])


def _arguments(*values: str, **named: Any) -> str:
    return ", ".join([*values, *(f"{name}={value}" for name, value in named.items())])
