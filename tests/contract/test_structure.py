"""Headings and boundaries of the user's own, and recognized units, in every chunker and front end."""

import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

import langchain_advchunk
import llamaindex_advchunk
from advchunk import Document, RecursiveChunker, create
from advchunk.cli import main
from front_ends import every_chunker, leaves
from stand_ins import STAND_INS

LAW = "Article 5\n\n(1) Tea is hot.\n(2) Milk is cold.\n\nArticle 6\n\nWater is wet."
TEXT = (
    "Cats nap all day. Cats purr.\n\nCut here. Dogs bark. Dogs run.\n\nCut here. Judges sit in court. Courts "
    "rule on law."
)


@every_chunker
def test_no_chunk_crosses_a_boundary(name):
    chunker = create(
        name, experimental=True, **{**STAND_INS.get(name, {}), "boundaries": ["^Cut here"], "min_tokens": 0}
    )
    document = Document(TEXT, "a", blocks=())
    (chunks,) = [chunker.explain(document).chunks]
    starts = [0, TEXT.index("Cut"), TEXT.rindex("Cut"), len(TEXT)]
    parts = [
        {sum(start <= i for start in starts) for a, b in chunk.spans for i in (a, b - 1)} for chunk in leaves(chunks)
    ]
    assert all(len(part) == 1 for part in parts)
    assert set().union(*parts) == {1, 2, 3}
    assert all("".join(TEXT[a:b] for a, b in chunk.spans) == chunk.text for chunk in chunks)
    assert all(chunk.parent is None or chunks[chunk.parent].level < chunk.level for chunk in chunks)
    explanation = replace(chunker, max_tokens=max(8, getattr(chunker, "min_tokens", 0)), vectors="units").explain(
        document
    )
    assert [cut.reason for cut in explanation.cuts if cut.offset in starts] == ["boundary", "boundary"]


def test_nothing_is_repeated_or_joined_across_a_boundary():
    chunker = RecursiveChunker(max_tokens=40, min_tokens=30, overlap_tokens=10, boundaries="^Cut here", add_scores=True)
    chunks = chunker.chunk(TEXT)
    assert [chunk.text for chunk in chunks] == [
        "Cats nap all day. Cats purr.\n\n",
        "Cut here. Dogs bark. Dogs run.\n\n",
        "Cut here. Judges sit in court. Courts rule on law.",
    ]
    assert [chunk.metadata.get("cut") for chunk in chunks] == ["boundary", "boundary", None]
    explanation = chunker.explain(TEXT)
    assert [cut.reason for cut in explanation.cuts] == ["boundary", "boundary"]
    assert "".join(explanation.units.strings()) == TEXT


def test_parts_keep_the_headings_that_they_are_under():
    chunks = RecursiveChunker(boundaries="^Cut", include_context=True).chunk(
        "# Tea\n\nHot.\n\nCut here.\n\n## Kinds\n\nGreen."
    )
    assert [chunk.metadata["title_path"] for chunk in chunks] == ["Tea", "Tea"]
    assert [chunk.context for chunk in chunks] == ["", "Tea"]


OWN = {"headings": {"article": r"^Article (\d+)", "paragraph": r"^\((\d+)\)"}}


@pytest.mark.parametrize("options", [{}, OWN, {"headings": list(OWN["headings"].values()), "boundaries": "^Article"}])
def test_front_ends(options, tmp_path):
    expected = [chunk.metadata for chunk in RecursiveChunker(max_tokens=10, **options).chunk(LAW)]
    assert [metadata["clause"] for metadata in expected] == ["5", "5(2)", "6"]
    splitter = langchain_advchunk.RecursiveSplitter(max_tokens=10, **options)
    parser = llamaindex_advchunk.RecursiveNodeParser(max_tokens=10, **options)
    (tmp_path / "law.md").write_text(LAW)
    pairs = [argument for name, value in options.items() for argument in ("-p", f"{name}={json.dumps(value)}")]
    result = CliRunner().invoke(
        main, ["chunk", str(tmp_path / "law.md"), "-m", "recursive", "--max-tokens", "10", "-f", "jsonl", *pairs]
    )
    assert result.exit_code == 0, result.output
    in_command = [json.loads(line)["metadata"] for line in result.output.splitlines()]
    in_langchain = [piece.metadata for piece in splitter.split_documents([LangChainDocument(LAW)])]
    in_llamaindex = [node.metadata for node in parser([LlamaIndexDocument(text=LAW)])]
    for shown in (in_command, in_langchain, in_llamaindex):
        assert list(map(places, shown)) == list(map(places, expected))


def places(metadata):
    return {key: metadata[key] for key in ("clause", "section", "title_path")}


def test_a_chunk_within_a_paragraph_is_on_its_own_pages():
    pages = [" ".join(f"Page {page} has line {i}." for i in range(3)) for page in range(1, 40)]
    chunks = RecursiveChunker(max_tokens=40).chunk("\f".join(pages))
    assert len(chunks) > 15
    for chunk in chunks:
        own = sorted({int(word) for word in re.findall(r"Page (\d+)", chunk.text)})
        assert chunk.metadata.get("pages", [chunk.metadata["page"]]) == own
