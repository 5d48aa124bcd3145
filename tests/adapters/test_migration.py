"""The tables of docs/guides/migration.md name each parameter of the splitters of other libraries, and ours take what
they say."""

import re
from inspect import signature
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_text_splitters import (
    CharacterTextSplitter,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
    TokenTextSplitter,
)
from llama_index.core import Document, node_parser
from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer

from advchunk import ConfigurationError, names
from advchunk.chunkers.catalog import chunker_class
from advchunk.chunkers.other_names import method_hint
from langchain_advchunk import DefaultEmbeddings, RecursiveSplitter, SemanticThresholdSplitter
from llamaindex_advchunk import (
    DefaultEmbedding,
    HierarchicalNodeParser,
    RecursiveNodeParser,
    SemanticThresholdNodeParser,
)

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


def test_names_of_chonkie_lead_to_what_its_table_names():
    table = GUIDE.read_text(encoding="utf-8").partition("## From chonkie")[2]
    lines = re.findall(r"^\| (`\w+Chunker`.*) \| (.*) \|$", table, re.MULTILINE)
    ours = {chunker_class(name).__name__: name for name in names()}
    for name, cell in ((name, cell) for others, cell in lines for name in re.findall(r"`(\w+Chunker)`", others)):
        hint = method_hint(name, names()).replace("'", '"')
        chunkers = [ours[word] for word in re.findall(r"`(\w+)`", cell) if word in ours]
        assert any(word in hint for word in [*map('"{}"'.format, chunkers), *re.findall(r'`(\w+="\w+")`', cell)]), name


CONTRACT = """SUPPLY AGREEMENT

1. Delivery. The seller delivers the goods on the agreed day. The buyer inspects them at once, and reports each defect
within five days. 1.1 Risk passes when the goods are handed over. 1.2 Title passes when the price is paid in full.

2. Payment. The buyer pays within thirty days. Late payments bear interest at a rate of 8 % a year. Nothing may be set
off. Taxes are borne by the buyer!

3. Term. This agreement runs for two years. Either side may end it in writing. Section 1.1 survives its end.
"""
MEETING = """Ann: Shall we begin? Last time we talked about the ferry. It was late on nine days.

Bob: Yes. The engine needs a new pump, and the harbor has none. I asked in town. They said three weeks!

Ann: Fine. Then the money. We have four hundred left. Can we pay for paint? The pier looks awful.

Bob: Yeah. I would wait until spring. Paint does not dry in this rain. Next item, please.

Ann: The school asks for a bus on Friday. Who drives? Nobody knows. Let us vote next week.
"""
GERMAN = """# Der Leuchtturm

Der Turm steht seit 1871 auf der Klippe. Er ist weiß und rot. Sein Licht reicht 20 Seemeilen weit. Früher lebte hier ein
Wärter mit seiner Familie. Heute läuft alles von selbst.

Die Klippe besteht aus Kalk. Jedes Jahr bricht ein Meter ab! Geologen messen ihn mit Lasern. Was wird aus dem Turm? Man
will ihn versetzen. Das kostet 3,5 Mio. Euro. Der Rat stimmt im Mai ab.
"""
TEXTS = {"contract": CONTRACT, "meeting": MEETING, "German": GERMAN}
real = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


@real
def test_the_published_preset_makes_the_cuts_of_langchains_semantic_chunker(text):
    original = pytest.importorskip("langchain_experimental.text_splitter").SemanticChunker(DefaultEmbeddings())
    ours, expected = SemanticThresholdSplitter(preset="published"), original.split_text(text.rstrip())
    assert [piece.split() for piece in ours.split_text(text)] == [piece.split() for piece in expected]
    assert "".join(ours.split_text(text)) == text


@real
def test_the_published_preset_makes_the_cuts_of_llamaindexs_semantic_splitter(text):
    original = node_parser.SemanticSplitterNodeParser(embed_model=DefaultEmbedding())
    ours = SemanticThresholdNodeParser(preset="published", sentence_splitter=split_by_sentence_tokenizer())
    pieces = [
        [node.text for node in parser.get_nodes_from_documents([Document(text=text)])] for parser in (original, ours)
    ]
    assert pieces[0] == pieces[1]
    assert len(pieces[0]) > 1


@real
def test_an_overlap_is_of_whole_sentences(text):
    units = SemanticThresholdSplitter(markup="plain").core().explain(text).units
    starts = {*units.edges.tolist()}
    chunks = RecursiveSplitter(max_tokens=60, overlap_tokens=20).create_documents([text])
    overlaps = [
        (b.metadata["start_index"], a.metadata["end_index"])
        for a, b in pairwise(chunks)
        if b.metadata["start_index"] < a.metadata["end_index"]
    ]
    assert overlaps
    assert all(start in starts and end in starts for start, end in overlaps)
