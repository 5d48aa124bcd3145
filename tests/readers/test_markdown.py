"""The Markdown reader: known layouts, any text, and the fast path against the parser."""

import re
import tomllib
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from advchunk import Document, RecursiveChunker
from advchunk.building.layout import Headings, protected, tile_prose
from advchunk.readers import embedded, formats, markdown
from advchunk.readers.markdown import RULES, Rule, blocks, heading_text, parse_blocks, push_block, read, settle
from advchunk.readers.outline import outlined
from advchunk.records import Block, Span
from advchunk.text import atoms
from advchunk.text.sentences import sentences
from blocks import CASES
from growing import check_growth, repeated

MARKS = [
    "# ", "## ", "#", "- ", "* ", "-", "1. ", "2) ", "> ", ">", "```", "~~~", "|", "|-|", "a|b", "---", "===", "***",
]  # fmt: skip
FORMULAS = ["$$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "$$ (1)"]
HTML = ["<div>", "</div>", "<!--", "-->", "<unk>", "<pre>", "</pre>"]
PARSERS = [
    "<table>", "<tr><td>", "</table>", "\\begin{tabular}", "\\end{tabular}", "a & b \\\\", "<h1>a</h1>",
    "\\section{a}", "+--+--+", "-- --", "[^1]: ", "!!! note", "    ", "::: a", ":::", "<!-- page 2 -->",
    "{1}----------", "Table 1. A", "\f", "\\begin{verbatim}", "\\end{verbatim}", "![a](b)", "| a |", "|--|", "</tr>",
]  # fmt: skip
WHITE = [" ", "  ", "    ", "\t", "\n", "\n", "\n\n", "\r\n", "\r", "\xa0", "\x0b", "\x0c", "\u2028"]
WORDS = ["word", "Word two.", "[a]: /url", "key: value", "\0", "\ud800", "\ufeff", "é", "1999."]


# Every row of `RULES` is in one; the twins below take their texts and their lines.
DATA = tomllib.loads(Path(__file__).parents[1].joinpath("data", "markdown.toml").read_text(encoding="utf-8"))
LAYOUTS = [(case["text"], [(*block,) for block in case["blocks"]]) for case in DATA["layout"]]
LAYOUT_LINES = sorted({line for text, _ in LAYOUTS for line in re.split("[\r\n]+", text)})


def texts(*pieces):
    return st.lists(st.sampled_from([p for some in pieces for p in some]), max_size=24).map("".join)


def opened_by(rule):
    """Return texts in which a line opens a block of a rule; of ASCII, as hypothesis takes seconds to collect more
    letters."""
    opening = st.from_regex(re.compile(rule.opens), fullmatch=True, alphabet=st.characters(codec="ascii"))
    return st.builds("{}{}{}".format, st.sampled_from(["", "a\n\n", "a\n"]), opening, texts(WHITE, WORDS, LAYOUT_LINES))


anything = (
    texts(MARKS, FORMULAS, HTML, WHITE, WHITE, WORDS)
    | texts(WHITE, WHITE, WORDS, LAYOUT_LINES)
    | texts(PARSERS, MARKS, WHITE, WHITE, WORDS)
)


def seen(text):
    return [(b.kind, b.level, text[slice(*b.span)]) for b in blocks(text)]


def normalize(text):
    return text.replace("\r\n", " \n").replace("\r", "\n")


def parsed(flat, start=0):
    return settle(flat, [*parse_blocks(flat, start, len(flat))], embedded.insets(flat))


@pytest.mark.parametrize(("text", "layout"), LAYOUTS)
def test_layout(text, layout):
    assert seen(text) == layout


def test_every_row_has_a_layout():
    def is_needed(rule):
        others = tuple(other for other in RULES if other is not rule)
        return any(with_rules(others, text) != blocks(text) for text, _ in LAYOUTS)

    assert [rule.name for rule in RULES if not is_needed(rule)] == []


@given(anything)
@example("- a\n\n  b\n\n c\n\n   d")
@example("- <!--\n\na\n\n-->")
def test_every_text_has_disjoint_blocks_that_hold_all_but_rules_and_bare_markers(text):
    document = read(text, id="x", metadata={"title": "T"})
    spans = [block.span for block in document.blocks]
    flat = normalize(text)
    parts = {at + len(flat[at:]) - len(flat[at:].lstrip(" \t")) for part in embedded.insets(flat) for at in part[:2]}
    for start, end in spans:
        assert text[start:end] == text[start:end].rstrip() != ""
        assert text[start - 1] in "\r\n\ufeff" or start in {0, *parts}
        assert not re.match(r"\s*[\r\n]", text[start:end])
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    for start, end in list(pairwise(edges))[::2]:
        for line in re.split(r"[\r\n]", text[start:end].removeprefix("\ufeff")):
            assert re.fullmatch(r"(?:\s|>|[-+*_]|\d{1,9}[.)])*", line)


@given(anything)
@example("- a\n\n  b\n\nc\n\n# d")
@example("> a\n\nb\n\n   c\n\n```\n\nd")
@example("- a\n\n  b\n\n    - c")
@example("\r\n \r\n    a\r\n\r\nb")
def test_regions_without_syntax_read_as_the_parser_reads_them(text):
    if not re.match("\ufeff?---", text):
        flat = normalize(text)
        assert blocks(text) == parsed(flat, int(flat.startswith("\ufeff")))


# The parser reads every line, and tries every rule.
UNFILTERED = tuple(replace(rule, opens="" if rule.second_line else rule.opens, signs=()) for rule in RULES)


def with_rules(rules, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "RULES", rules)
        return blocks(text)


LINES = [
    "> a\n> =", "> > a\n>> -", "> a|b\n> -|-", "a|b\n:- | -:", "a\n:-:", "###### a", "#\ta", "a\n\n\tb", "a\n\n    b",
    "[^0]:\n2. b", "_ _ _", "***\t", "999999999) a", "+\ta", "   >a", "<DIV>", "</p>", "<a b>", "<!-- a\n\nb\n\n-->",
    "<?a\n\nb?>", "<PRE>\n\nb\n\n</PRE>", "   ~~~\n\na\n\n~~~", "```\n\n    a\n\n```", "$$a$$",
    "\\begin{pmatrix*}\na\n\\end{pmatrix*}",
]  # fmt: skip


@pytest.mark.parametrize("text", [*LINES, *(text for text, _ in LAYOUTS)])
def test_the_filter_hides_no_line_from_the_parser(text):
    for around in ("{}", "a\n\n{}\n\nb", "a\n{}\nb"):
        assert blocks(around.format(text)) == with_rules(UNFILTERED, around.format(text))


@given(anything)
def test_the_filter_hides_no_block_from_the_parser(text):
    assert blocks(text) == with_rules(UNFILTERED, text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(data=st.data())
def test_the_filter_hides_no_block_of_a_row(rule, data):
    text = data.draw(opened_by(rule))
    assert blocks(text) == with_rules(UNFILTERED, text)


def parse_div(state, start, end, silent):
    line = start + 1
    while line < end and state.getLines(line, line + 1, 0, False).strip() != "@@@":
        line += 1
    return silent or push_block(state, "quote", start, min(line + 1, end))


DIV = Rule("div", "@@@", ("paragraph",), parse_div, lasts="@@@")


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("@@@ note\nTea.\n\nMilk.\n@@@\nb", [("quote", 0, "@@@ note\nTea.\n\nMilk.\n@@@"), ("paragraph", 0, "b")]),
        ("a\n   @@@ note", [("paragraph", 0, "a"), ("quote", 0, "   @@@ note")]),
        ("a\n\n    @@@ note", [("paragraph", 0, "a"), ("code", 0, "    @@@ note")]),
        ("- a\n  @@@\n  b\n  @@@", [("item", 1, "- a"), ("quote", 0, "  @@@\n  b\n  @@@")]),
    ],
)
def test_a_row_is_all_that_a_block_needs(text, layout):
    new = with_rules((DIV, *RULES), text)
    assert [(block.kind, block.level, text[slice(*block.span)]) for block in new] == layout
    assert not any(block.kind == "quote" for block in blocks(text))


@given(opened_by(DIV))
def test_the_filter_hides_no_block_of_a_new_row(text):
    assert with_rules((DIV, *RULES), text) == with_rules((DIV, *UNFILTERED), text)


@given(texts(MARKS, HTML, WHITE, WHITE, WORDS))
@example("a|b\n-|-\n    c")
@example("|a|b|\n|-|-|\n|c\nd\n\n> |a|\n> |-|\n> b\nc")
def test_leaves_are_those_of_markdown_it(text):
    stock = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table").disable("reference")
    stock.core.ruler.enableOnly(["normalize", "block"])
    flat = normalize(text)
    lines = [0, *(m.end() for m in re.finditer("\n", flat)), len(flat)]
    kinds = {"heading_open", "paragraph_open", "html_block", "code_block", "fence", "table_open"}
    leaves = [token.map for token in stock.parse(text) if token.type in kinds]
    last_lines = [text[lines[end - 1] : lines[end]].strip() for _, end in leaves]
    parsed = list(parse_blocks(flat, 0, len(flat)))
    kept = [
        last for (start, end), last in zip(leaves, last_lines, strict=True) if flat[lines[start] : lines[end]].strip()
    ]
    assert len(parsed) == len(kept)
    assert all(text[slice(*block.span)].endswith(last) for block, last in zip(parsed, kept, strict=True))


@given(texts(["word", "Two words.", "é", "#tag", "-5", "1.5", "*so*", "<", "$5", "|", "="], WHITE, WHITE))
@example("a\n= \n")
@example("a\n\t\nb\n|-|\t")
def test_prose_reads_as_the_parser_reads_it(text):
    assert blocks(text) == parsed(normalize(text))


@pytest.mark.parametrize(
    "text",
    ["> " * 1000 + "a", "- " * 1000 + "a", "1. > " * 500 + "a", "".join("  " * n + "- a\n" for n in range(500))],
    ids=["quotes", "items", "both", "indented"],
)
def test_deep_nesting_hides_nothing_that_follows(text):
    assert seen(text + "\n\nThe end.")[-1] == ("paragraph", 0, "The end.")
    assert seen(text)[-1][2].endswith("a")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["$$a\n", "\\[ a\n", "\\[ a\n\n", "- $$\n", "> \\[\n", "<!--\n\n", "|a\n", "- ```\n", "[a\n"]
)
@pytest.mark.parametrize("end", ["", "\\] b $$ b"], ids=["open", "closed"])
def test_repeated_openings_take_linear_time(line, end):
    check_growth(blocks, lambda lines: line * lines + end, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_repeated_opening_of_a_row_takes_linear_time(rule):
    opening = next(line for line in LAYOUT_LINES if re.match(rf" {{0,3}}+(?:{rule.opens})", line))
    for line in (f"{opening}\n", f"{opening}\n\n", f"- {opening}\n", f"> {opening}\n"):
        check_growth(blocks, lambda lines, line=line: line * lines, 2000)


def test_protected_is_what_must_not_be_cut():
    text = "a\n\n```\nx\n```\n\n|x|\n|-|\n\n$$x$$\n\n> q"
    assert [text[slice(*span)] for span in protected(Document(text, blocks=blocks(text))).spans] == [
        "```\nx\n```",
        "|x|\n|-|",
        "$$x$$",
    ]


@pytest.mark.parametrize(("source", "title"), CASES["headings of Markdown"])
def test_heading_text(source, title):
    assert heading_text(source) == title


@pytest.mark.parametrize(
    "piece", ["[", "[a](", "[a]", "![a](b ", "*a ", "_a ", "**a*", "<a ", "<!--", "`a``", "\\", "[[a]("]
)
def test_odd_headings_take_linear_time(piece):
    check_growth(heading_text, lambda length: "# " + repeated(piece)(length))


def test_the_path_of_an_offset_takes_the_same_time_among_many_headings():
    def paths(count):
        headings = Headings("", [Block("heading", Span(at, at + 1), 1, "a") for at in range(count)])
        return lambda: [headings.path(at) for at in range(count)]

    check_growth(lambda find: find(), paths, 2000)


def test_headings_give_the_path_of_every_offset():
    text = "intro\n\n# A\n\na\n\n### B\n\nb\n\nC\n---\n\nc\n\n#\n\nd"
    headings = Headings(text, blocks(text))
    paths = {
        piece: headings.path(text.index(piece)) for piece in ["intro", "# A", "a\n", "### B", "b\n", "C\n", "c\n", "d"]
    }
    assert paths == {
        "intro": (),
        "# A": ("A",),
        "a\n": ("A",),
        "### B": ("A", "B"),
        "b\n": ("A", "B"),
        "C\n": ("A", "C"),
        "c\n": ("A", "C"),
        "d": (),
    }
    assert headings.path(len(text)) == ()


def test_headings_of_other_readers_are_taken_as_they_are():
    text = "# of samples\n\nTen."
    heading = Block("heading", Span(0, 12), 1)
    assert Headings(text, [heading]).path(15) == ("# of samples",)
    assert Headings(text, [replace(heading, title="Samples")]).path(15) == ("Samples",)


def test_a_long_paragraph_over_a_rule_is_not_a_heading():
    title, body = "A title\nof two lines\n===\n\nText.", "One.\nTwo.\nThree.\nFour.\n==========\nFive."
    assert [block.kind for block in blocks(title)] == ["heading", "paragraph"]
    assert [block.kind for block in blocks(body)] == ["paragraph", "paragraph"]


@pytest.mark.parametrize(("front", "expected"), CASES["front matter"])
def test_simple_values_of_front_matter_are_metadata(front, expected):
    text = f"{front}\n# Head\n\nGreen."
    assert markdown.read_metadata(text) == expected
    (chunk,) = RecursiveChunker().chunk(Document(text, metadata={"authors": "mine"}))
    assert chunk.text == text
    assert expected | {"authors": "mine"} == {key: chunk.metadata[key] for key in expected | {"authors": ""}}


def test_a_title_is_context_once():
    text = (
        "---\ntitle: Tea\n---\n\n# Tea\n\n## Green\n\nIt is green. It is not black. It is hot.\n\n# Milk\n\n## "
        "Cold\n\nIt is white. It is cold."
    )
    chunks = RecursiveChunker(max_tokens=14, include_context=True, tokenizer="words").chunk(text)
    assert {chunk.context for chunk in chunks} >= {"Tea", "Tea > Green"}
    assert not any("Tea > Tea" in chunk.context for chunk in chunks)


@given(anything)
@example("- `a\n- b` c. d")
@example("Art. 1 A. B.\n\n| a |\n|---|\nC. D.\n- E. F.\n  G. H.\n\n\n- I.")
def test_blocks_are_split_into_sentences_as_if_each_were_alone(text):
    document = read(text)
    apart = tile_prose(document, lambda text: sentences(text, "en", by_paragraph=True))  # nothing is known of this one
    together = tile_prose(document, partial(sentences, language="en", by_paragraph=True))
    assert together.edges.tolist() == apart.edges.tolist()


@given(texts(PARSERS, MARKS, HTML, WHITE, WORDS, ["<!-- page 3 -->", "\\newpage", "{4}" + "-" * 48, "<!-- Page 4 -->"]))
def test_marks_of_pages_are_those_that_a_search_of_every_character_meets(text):
    flat = normalize(text)
    slowly = re.compile(rf"(?={embedded._PAGE_LINE.pattern})", re.IGNORECASE)
    marks = [embedded._PAGE_LINE.match(flat, match.start()) for match in slowly.finditer(flat)]
    starts = [match.start() for match in marks if embedded._begins_line(flat, match.start())]
    assert sorted(inset.start for inset in embedded._page_insets(flat)) == starts


@pytest.mark.parametrize("feed", ["\f", "\n\f\n", "\n\n\f"])
@pytest.mark.parametrize("head", ["It is tea.", "Article {}"])
def test_a_chunk_is_on_the_pages_of_its_own_text(feed, head):
    pages = [f"{head.format(i)} Page {i}. " + f"Water boils on page {i}. " * 9 for i in range(1, 30)]
    chunks = RecursiveChunker(max_tokens=30).chunk(feed.join(pages))
    for chunk in chunks:
        numbers = [*map(int, re.findall(r"[Pp]age (\d+)", chunk.text))]
        assert {chunk.metadata["page"], *chunk.metadata.get("pages", ())} <= {*numbers, numbers[-1] + 1}
    assert {chunk.metadata["page"] for chunk in chunks} == {*range(1, 30)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["*a ", "**a", "*_a", "[", "[a](", "[a](#b)\n", "|", "a|b\n-|-\n", "`a ", "> ", "- ", "# a\n\n", "```\n", "a\n===\n", "(a) b\n", "<a>"],
)  # fmt: skip
def test_odd_texts_take_linear_time(piece):
    check_growth(lambda text: outlined(formats.read(Document(text), "auto")), repeated(piece), 20_000)


@pytest.mark.parametrize("feed", ["a\f", "a\n\f\n"])
def test_form_feeds_take_linear_time(feed):
    check_growth(RecursiveChunker(max_tokens=50).chunk, repeated(feed), 20_000)


@given(texts(FORMULAS, HTML, WHITE, WORDS, ["`", "[", "](", ")", "$", "&amp;", "!", '"']))
def test_atoms_are_those_that_a_search_of_every_character_meets(text):
    assert [*atoms.atom_spans(text)] == [match.span() for match in atoms._ATOM.finditer(text)]
    assert atoms.has_atoms(text) == (atoms._ATOM.search(text) is not None)
