"""Compare what chunkers keep, whatever they are used for. Prints a table; see RELIABILITY.md.

python -W ignore benchmarks/features.py [--size 400]

Every chunker counts characters, has the same maximum and no overlap, and embeds with the built-in embedder. The texts
are made here: Markdown, and kinds of text on which users of several libraries report faults. Needs the extra ``peers``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

from runner import argument_parser, time_tasks

from advchunk import create
from advchunk.models.embedders import as_embedder


class Piece(NamedTuple):
    """A chunk: its text, its offsets if it has any, and its id if it has one."""

    text: str
    span: tuple[int, int] | None = None
    id: str | None = None


Split: TypeAlias = Callable[[str], list[Piece]]
REPEAT = 15  # measurements of each time

_SECTION = """## Tea {i}

Tea number {i} is made of leaves. They are picked in spring and dried in the sun. The water should be hot, but not boiling.

{before}

| pot | water | time |
|---|---|---|
| {i}.1 | 60 °C | 1 min |
| {i}.2 | 70 °C | 2 min |
| {i}.3 | 80 °C | 3 min |
| {i}.4 | 90 °C | 4 min |

Here is how to boil the water of number {i}.

```python
def boil_{i}(pot):
    pot.heat()

    return pot.pour()
```

"""  # noqa: E501
_SENTENCES = ["Some add milk.", "Others do not, and drink it as it is.", "It is then poured.", "Serve it at once."]
MARKDOWN = "# Tea\n\n" + "".join(_SECTION.format(i=i, before=" ".join(_SENTENCES[: i % 5])) for i in range(40))
TEXTS: Mapping[str, str] = {
    "Markdown": MARKDOWN,
    "repeated sentences": "The committee met at noon. It adjourned at once. " * 60,
    "CRLF, tabs, and spaces": "A first line.\r\n\tAn  indented one.\r\n\r\n   Another,\u00a0with spaces.   \r\n" * 40,
    "Japanese": "東京は雨です。大阪は晴れでしょう。明日はどうでしょうか。" * 40,
    "no punctuation": "cats nap and courts rule and ships sail " * 60,
    "one long word": "a" * 2_000,
    "emoji": "Families 👨‍👩‍👧‍👦 wave 👋🏽. Flags 🇩🇪🇯🇵 fly! " * 40,
    "blank": " \n\t\n",
}
_BLOCK = re.compile(r"(?:^\|.*\n)+|^```python\n(?:.*\n)*?```\n", re.MULTILINE)


@dataclass
class Row:
    """The counts of a chunker over all texts."""

    chunks: int = 0
    exact: int = 0
    letters: int = 0
    kept: int = 0
    over: int = 0
    blocks: int = 0
    whole: int = 0
    named: int = 0
    same: int = 0
    errors: int = 0


def measure(split: Split, texts: Mapping[str, str], size: int) -> Row:
    """Chunk each text twice, and count.

    ``exact`` chunks have the text at their offsets; ``kept`` of ``letters`` are the characters other than white space
    that are in a chunk; ``over`` chunks have more than ``size`` characters; ``whole`` of ``blocks`` are the tables and
    code of at most ``size`` characters that are in one chunk; ``same`` of the ``named`` chunks, which have an id, have
    it again the second time. A text on which a chunker raises an error is one of its ``errors``, and counts nowhere
    else.
    """
    row = Row()
    for text in texts.values():
        try:
            pieces, again = split(text), split(text)
        except Exception:  # noqa: BLE001 - whatever a library raises
            row.errors += 1
            continue
        letters, kept = _letters(text), sum((_letters(piece.text) for piece in pieces), Counter[str]())
        blocks = [block.strip() for block in _BLOCK.findall(text) if len(block) <= size]
        row.chunks += len(pieces)
        row.exact += sum(piece.span is not None and text[slice(*piece.span)] == piece.text for piece in pieces)
        row.letters += letters.total()
        row.kept += (letters & kept).total()
        row.over += sum(len(piece.text) > size for piece in pieces)
        row.blocks += len(blocks)
        row.whole += sum(any(block in piece.text for piece in pieces) for block in blocks)
        row.named += sum(piece.id is not None for piece in pieces)
        row.same += sum(a.id is not None and a.id == b.id for a, b in zip(pieces, again, strict=False))
    return row


def _letters(text: str) -> Counter[str]:
    return Counter("".join(text.split()))


# The chunkers.


def ours(name: str, size: int) -> Split:
    """Return one of ours."""
    chunker = create(name, max_tokens=size, tokenizer="characters")
    return lambda text: [Piece(chunk.text, chunk.spans[0], chunk.id) for chunk in chunker.chunk(text)]


def langchain_recursive(size: int) -> Split:
    """Return LangChain's recursive splitter, with its separators for Markdown."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    own = {"chunk_size": size, "chunk_overlap": 0, "add_start_index": True}
    return _langchain(RecursiveCharacterTextSplitter.from_language("markdown", **own))  # type: ignore[arg-type]


def langchain_semantic(size: int) -> Split:  # noqa: ARG001 - has no maximum
    """Return LangChain's semantic chunker."""
    from langchain_experimental.text_splitter import SemanticChunker

    from langchain_advchunk import DefaultEmbeddings

    return _langchain(SemanticChunker(DefaultEmbeddings(), add_start_index=True))


def _langchain(splitter: Any) -> Split:
    def split(text: str) -> list[Piece]:
        documents = splitter.create_documents([text])
        starts = [document.metadata["start_index"] for document in documents]
        texts = [document.page_content for document in documents]
        spans = [(start, start + len(own)) for start, own in zip(starts, texts, strict=True)]
        return [Piece(*row) for row in zip(texts, spans, (document.id for document in documents), strict=True)]

    return split


def llamaindex_sentence(size: int) -> Split:
    """Return LlamaIndex's sentence splitter."""
    from llama_index.core.node_parser import SentenceSplitter

    return _llamaindex(SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=list))


def llamaindex_semantic(size: int) -> Split:  # noqa: ARG001 - has no maximum
    """Return LlamaIndex's semantic splitter."""
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    from llamaindex_advchunk import DefaultEmbedding

    return _llamaindex(SemanticSplitterNodeParser(embed_model=DefaultEmbedding()))


def _llamaindex(parser: Any) -> Split:
    from llama_index.core import Document

    def split(text: str) -> list[Piece]:
        nodes = parser.get_nodes_from_documents([Document(text=text, id_="text")])
        return [Piece(node.text, (node.start_char_idx, node.end_char_idx), node.id_) for node in nodes]

    return split


def chonkie_recursive(size: int) -> Split:
    """Return chonkie's recursive chunker, with its default rules; those for Markdown are downloaded.

    It forgets the counts of the text before, so that all measurements of one text are equal.
    """
    from chonkie import RecursiveChunker

    split = _chonkie(RecursiveChunker(chunk_size=size))

    def split_anew(text: str) -> list[Piece]:
        RecursiveChunker._estimate_token_count.cache_clear()
        return split(text)

    return split_anew


def chonkie_semantic(size: int) -> Split:
    """Return chonkie's semantic chunker."""
    from chonkie import SemanticChunker
    from chonkie.embeddings import BaseEmbeddings

    model = as_embedder()

    class Embeddings(BaseEmbeddings):
        dimension = 256

        def embed(self, text: str) -> Any:
            return model.embed([text])[0]

        def embed_batch(self, texts: list[str]) -> Any:
            return list(model.embed(texts)) if texts else []

        def get_tokenizer(self) -> Any:
            return len

    return _chonkie(SemanticChunker(embedding_model=Embeddings(), chunk_size=size))


def _chonkie(chunker: Any) -> Split:
    return lambda text: [Piece(chunk.text, (chunk.start_index, chunk.end_index), chunk.id) for chunk in chunker(text)]


def semchunk(size: int) -> Split:
    """Return semchunk, which does not keep counts from one text to the next."""
    from semchunk.semchunk import chunkerify

    chunker = chunkerify(len, size, memoize=False)
    return lambda text: [Piece(*row) for row in zip(*chunker(text, offsets=True), strict=True)]


def semantic_text_splitter(size: int) -> Split:
    """Return the Markdown splitter of semantic-text-splitter, which trims white space."""
    from semantic_text_splitter import MarkdownSplitter

    splitter = MarkdownSplitter(size)
    return lambda text: [Piece(own, (start, start + len(own))) for start, own in splitter.chunk_indices(text)]


CHUNKERS: Mapping[str, tuple[str, Callable[[int], Split]]] = {
    "**advchunk** `recursive`": ("advchunk", partial(ours, "recursive")),
    "**advchunk** `universal-semantic`": ("advchunk", partial(ours, "universal-semantic")),
    "LangChain `RecursiveCharacterTextSplitter`": ("langchain-text-splitters", langchain_recursive),
    "LangChain `SemanticChunker`": ("langchain-experimental", langchain_semantic),
    "LlamaIndex `SentenceSplitter`": ("llama-index-core", llamaindex_sentence),
    "LlamaIndex `SemanticSplitterNodeParser`": ("llama-index-core", llamaindex_semantic),
    "chonkie `RecursiveChunker`": ("chonkie", chonkie_recursive),
    "chonkie `SemanticChunker`": ("chonkie", chonkie_semantic),
    "semchunk": ("semchunk", semchunk),
    "semantic-text-splitter `MarkdownSplitter`": ("semantic-text-splitter", semantic_text_splitter),
}


def table(size: int, texts: Mapping[str, str] = TEXTS) -> str:
    """Return the counts of all chunkers as a Markdown table."""
    titles = [
        "",
        "chunks",
        "exact offsets",
        "text kept",
        "over the size",
        "tables and code whole",
        "same ids again",
        "errors",
        "kB a second",
    ]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    first, splits = next(iter(texts.values())), {label: make(size) for label, (_, make) in CHUNKERS.items()}
    times = time_tasks({label: partial(split, first) for label, split in splits.items()}, REPEAT)
    for label, split in splits.items():
        row = measure(split, texts, size)
        shares = [f"{row.exact / row.chunks:.0%}", f"{row.kept / row.letters:.2%}", f"{row.over}"]
        ids = f"{row.same / row.named:.0%}" if row.named else "no ids"
        rate = f"{len(first) / min(times[label]) / 1000:,.0f}"
        cells = [label, f"{row.chunks}", *shares, f"{row.whole} of {row.blocks}", ids, f"{row.errors}", rate]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and the versions."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--size", type=int, default=400, help="maximum characters of a chunk")
    print(table(parser.parse_args().size))
    print("\n" + ", ".join(f"{name} {version(name)}" for name in dict.fromkeys(name for name, _ in CHUNKERS.values())))


if __name__ == "__main__":
    main()
