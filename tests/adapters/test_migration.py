"""The tables of docs/guides/migration.md name each parameter of the splitters of other libraries, and ours take what
they say."""

import re
from inspect import signature
from pathlib import Path

import pytest
from langchain_text_splitters import (
    CharacterTextSplitter,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)
from llama_index.core import node_parser
from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer

from advchunk import ConfigurationError
from langchain_advchunk import RecursiveSplitter
from llamaindex_advchunk import HierarchicalNodeParser, RecursiveNodeParser

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "migration.md"
LANGCHAIN = [RecursiveCharacterTextSplitter, CharacterTextSplitter, TokenTextSplitter, MarkdownHeaderTextSplitter]
LLAMA_INDEX = [
    node_parser.SentenceSplitter,
    node_parser.TokenTextSplitter,
    node_parser.SemanticSplitterNodeParser,
    node_parser.HierarchicalNodeParser,
    node_parser.SentenceWindowNodeParser,
    node_parser.MarkdownNodeParser,
]
TEXT = "# Tea\n\nGreen tea is steamed. Black tea is rolled.\n\n---\n\nArticle 1 Milk\n\nMilk is white."


def rows(head):
    """Return the rows of the table with a head: the parameters in the first column, and the other column."""
    table = GUIDE.read_text(encoding="utf-8").partition(f"\n{head}\n|---|---|\n")[2].partition("\n\n")[0]
    cells = [line.strip("|").split(" | ", 1) for line in table.splitlines()]
    return {name: ours for others, ours in cells for name in re.findall(r"`([a-z_]+)`", others)}


def own_parameters(cls):
    """Return the parameters of a splitter of another library."""
    own = getattr(cls, "model_fields", None) or signature(cls.__init__).parameters
    inherited = signature(TextSplitter.__init__).parameters if issubclass(cls, TextSplitter) else {}
    return {*own, *inherited} - {"self", "kwargs"}


@pytest.mark.parametrize(
    ("head", "others", "ours"),
    [
        ("| LangChain | `RecursiveSplitter` |", LANGCHAIN, RecursiveSplitter),
        ("| LlamaIndex | `RecursiveNodeParser` |", LLAMA_INDEX, RecursiveNodeParser),
    ],
)
def test_each_parameter_has_a_row_and_an_error_names_ours(head, others, ours):
    table = rows(head)
    own = {*getattr(ours, "model_fields", signature(ours).parameters)}
    for name in {name for cls in others for name in own_parameters(cls)}:
        assert name in table, name
        is_ours = table[name].startswith((f"`{name}`", "the same"))
        assert is_ours == (name in own) or name in {"sentence_splitter", "embed_model"}, name
        if name not in own:
            with pytest.raises(ConfigurationError, match=f"has no parameter '{name}'"):
                ours(**{name: "x"})
    assert table.keys() <= {name for cls in others for name in own_parameters(cls)} | {
        "tokenizer",
        "chunking_tokenizer_fn",
    }


def test_what_the_rows_say_of_ours():
    for splitter in (
        RecursiveSplitter(chunk_size=30, chunk_overlap=0, length_function=len),
        RecursiveNodeParser(chunk_size=30, chunk_overlap=0, tokenizer=len),
    ):
        assert max(map(len, splitter.split_text(TEXT))) <= 30
    for splitter in (RecursiveSplitter(boundaries=r"^---$"), RecursiveNodeParser(boundaries=r"^---$")):
        assert [text[:3] for text in splitter.split_text(TEXT)] == ["# T", "---"]
    assert RecursiveSplitter(chunk_size=9).max_tokens == 9
    [chunk, *_] = RecursiveSplitter().create_documents([TEXT])
    assert (chunk.metadata["start_index"], chunk.metadata["title_path"]) == (0, "Tea")
    headed = RecursiveSplitter(headings=r"^Article (\d+)", max_tokens=8).create_documents([TEXT])
    assert "Article 1 Milk" in {chunk.metadata.get("section") for chunk in headed}
    parser = RecursiveNodeParser(sentence_splitter=split_by_sentence_tokenizer(), vectors="units")
    assert parser.split_text(TEXT) == [TEXT]
    assert HierarchicalNodeParser(levels=[2048, 512, 128]).levels == [2048, 512, 128]
