"""Which numbered units are recognized, and which lists, references and tables of contents are not."""

# ruff: noqa: RUF001 - punctuation of many scripts
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.readers import markdown
from advchunk.readers.outline import outlined
from growing import check_growth

BODY = "The seller delivers the goods to the buyer on the agreed day, and the buyer pays the agreed price at once."
LONG = f"{BODY} {BODY}"


def read(text, *, plain=False):
    return outlined(Document(text, blocks=() if plain else markdown.blocks(text)))


def clauses(text, *, plain=False):
    """Return the clauses of a text in order, each once."""
    metadata = [block.metadata or {} for block in read(text, plain=plain).blocks or ()]
    return list(dict.fromkeys(values["clause"] for values in metadata if values.get("clause")))


# Texts that have an outline, with their clauses.
UNITS = {
    "articles": ("Article 5\n\n(1) Tea is hot.\n(2) Milk is cold.\n\nArticle 6\n\nWater is wet.", "5 5(1) 5(2) 6"),
    "letters": ("Article 1\n\nTea:\n(a) green,\n(b) black.\n\nArticle 2\n\nMilk is white.", "1 1(a) 1(b) 2"),
    "three levels": (
        "Article 1\n\n1. Tea:\n(a) green,\n(b) black.\n2. Milk is white.\n\nArticle 2\n\nWater is wet.",
        "1 1(1) 1(1)(a) 1(1)(b) 1(2) 2",
    ),
    "Roman articles": ("ARTICLE I\n\nTea is hot.\n\nARTICLE II\n\nMilk is cold.\n\nARTICLE "
                       "III\n\nWater is wet.", "I II III"),
    "number words": ("ARTICLE ONE\n\nTea.\n\nARTICLE TWO\n\nMilk is cold.\n\nARTICLE THREE\n\nWater is wet.", "1 2 3"),
    "titles in the line": (
        "Article 1 - Scope\n\nTea is hot.\n\nArticle 2 - Terms\n\nMilk is cold.\n\nArticle 3 - End\n\nWater is wet.",
        "1 2 3",
    ),
    "titles below": ("Article 1\n\nScope\n\nTea is hot.\n\nArticle 2\n\nTerms\n\nMilk.\n\nArticle "
                     "3\n\nEnd\n\nWater is wet.", "1 2 3"),
    "run-in articles": ("Art. 1 Tea is hot.\n\nArt. 2 Milk is cold.\n\nArt. 3 Water is wet.", "1 2 3"),
    "a letter after a number": ("§ 1 Tee\n\nTee ist heiß.\n\n§ 1a Milch\n\nMilch ist kalt.\n\n§ 2 Wasser\n\nWasser "
                                "ist nass.", "1 1a 2"),
    "German sections": ("§ 1 Zweck\n\n(1) Tee ist heiß.\n(2) Milch ist kalt.\n\n§ 2 Form\n\nWasser "
                        "ist nass.", "1 1(1) 1(2) 2"),
    "German articles": ("Artikel 1\n\nTee ist heiß.\n\nArtikel 2\n\nMilch ist kalt.\n\nArtikel 3\n\nWasser "
                        "ist nass.", "1 2 3"),
    "German chapters": ("Kapitel 1: Tee\n\nTee ist heiß.\n\nKapitel 2: Milch\n\nMilch ist kalt.\n\nKapitel 3: "
                        "Wasser\n\nNass.", "1 2 3"),
    "German parts": ("Abschnitt I\n\nTee ist heiß.\n\nAbschnitt II\n\nMilch ist kalt.\n\nAbschnitt III\n\nWasser "
                     "ist nass.", "I II III"),
    "German agenda": ("TOP 1 Begrüßung\n\nAlle sind da.\n\nTOP 2 Kasse\n\nSie stimmt.\n\nTOP 3 "
                      "Ende\n\nAlle gehen.", "1 2 3"),
    "French articles": ("Article premier\n\nLe thé.\n\nArticle 2\n\nLe lait est froid.\n\nArticle "
                        "3\n\nDe l'eau.", "1 2 3"),
    "French titles": (
        "TITRE PREMIER\n\nCHAPITRE I\n\nArticle 1\n\nLe thé est chaud.\n\nCHAPITRE II\n\nArticle 2\n\nLe lait est "
        "froid.\n\n"
        "TITRE II\n\nCHAPITRE I\n\nArticle 3\n\nDe l'eau.",
        "1 1.I 1 1.II 2 II II.I 3",
    ),
    "Spanish articles": ("Artículo 1. El té es caliente.\n\nArtículo 2. La leche es fría.\n\nArtículo 3. El "
                         "agua moja.", "1 2 3"),
    "Russian articles": ("Статья 1. Чай горячий.\n\nСтатья 2. Молоко холодное.\n\nСтатья 3. Вода мокрая.", "1 2 3"),
    "Chinese articles": ("第一条 茶是热的。\n\n第二条 牛奶是冷的。\n\n第三条 水是湿的。", "1 2 3"),
    "Chinese numbers above ten": ("第十二条 茶是热的。\n\n第十三条 牛奶是冷的。\n\n第十四条 水是湿的。", "12 13 14"),
    "Chinese digits": ("第3章 茶\n\n茶是热的。\n\n第4章 牛奶\n\n牛奶是冷的。\n\n第5章 水\n\n水是湿的。", "3 4 5"),
    "Chinese chapters": ("第一章 总则\n\n第一条 茶是热的。\n\n第二条 牛奶是冷的。\n\n第二章 附则\n\n第三条 水是湿的。", "1 1 2 2 3"),
    "Chinese items": ("第一条 饮料：\n（一）茶；\n（二）牛奶。\n\n第二条 水是湿的。", "1 1(1) 1(2) 2"),
    "Japanese articles": ("第1条（目的）\n\n茶は熱い。\n\n第2条（定義）\n\n牛乳は冷たい。\n\n第3条（附則）\n\n水。", "1 2 3"),
    "Korean articles": ("제1조(목적) 차는 뜨겁다.\n\n제2조(정의) 우유는 차다.\n\n제3조(기타) 물은 젖는다.", "1 2 3"),
    "decimals": ("1. Tea\n1.1 It is hot.\n1.2 It is green.\n2. Milk\n2.1 It is cold.\n2.2 It "
                 "is white.", "1 1.1 1.2 2 2.1 2.2"),
    "deep decimals": ("1. Tea\n1.1 Kinds\n1.1.1 Green tea.\n1.1.2 Black tea.\n1.2 It is hot.\n2. Milk is cold.", "1 1.1 1.1.1 1.1.2 1.2 2"),
    "decimals alone": ("1.1 Tea is hot.\n\n1.2 Tea is green.\n\n2.1 Milk is cold.\n\n2.2 Milk is white.", "1.1 1.2 2.1 2.2"),
    "RFC": ("1.  Introduction\n\n   Tea.\n\n2.  Terms\n\n2.1.  Tea\n\n   Hot.\n\n2.2.  Milk\n\n   Cold.\n\n3.  End\n\n3.1.  Water\n\n   Wet.", "1 2 2.1 2.2 3 3.1"),
    "standard": ("1 Scope\n\nTea.\n\n2 Terms\n\n2.1 Tea\n\nIt is hot.\n\n2.2 Milk\n\nIt is cold.\n\n3 Tests\n\n3.1 Water\n\nIt is wet.", "1 2 2.1 2.2 3 3.1"),
    "decimals from 1.0": ("1.0 PURPOSE\n\nTea.\n\n2.0 SCOPE\n\n2.1 Milk is cold.\n2.2 Water is wet.\n2.3 Ice is colder.", "1.0 2.0 2.1 2.2 2.3"),
    "sections of articles": ("ARTICLE I\n\nSection 1.1 Tea is hot.\n\nSection 1.2 Milk is cold.\n\nARTICLE II\n\nSection 2.1 Water is wet.", "I 1.1 1.2 II 2.1"),
    "decimals of articles": ("Article 1 Tea\n\n1.1 It is hot.\n1.2 It is green.\n\nArticle 2 Milk\n\n2.1 It is cold.", "1 1.1 1.2 2 2.1"),
    "letters of decimals": ("1. Tea\n1.1 It is:\n(a) hot,\n(b) green.\n1.2 It is good.\n2. Milk\n2.1 It is cold.", "1 1.1 1.1(a) 1.1(b) 1.2 2 2.1"),
    "small Roman numbers": ("1. Tea\n1.1 It is:\n(a) hot:\n(i) very,\n(ii) too;\n(b) green.\n1.2 Good.\n2. Milk\n2.1 Cold.", "1 1.1 1.1(a) 1.1(a)(i) 1.1(a)(ii) 1.1(b) 1.2 2 2.1"),
    "the letter i": (
        "Article 1\n\n" + "".join(f"({letter}) tea;\n" for letter in "abcdefghij") + "\nArticle 2\n\nMilk is cold.",
        "1 " + " ".join(f"1({letter})" for letter in "abcdefghij") + " 2",
    ),
    "a contract": ("".join(f"{n}. {title}. {LONG}\n" for n, title in enumerate(("Scope", "Price", "Term of Contract", "Notices"), 1)), "1 2 3 4"),
    "titled sections": ("".join(f"{n}. {title}\n\n{LONG}\n\n" for n, title in enumerate(("SCOPE", "PRICE", "TERM"), 1)), "1 2 3"),
    "parentheses": ("".join(f"{n}) {title}\n\n{LONG}\n\n" for n, title in enumerate(("Scope", "Price", "Term"), 1)), "1 2 3"),
    "minutes": ("".join(f"{n}. {title}\n\n{LONG}\n\n" for n, title in enumerate(("Call to Order", "Minutes", "Budget"), 1)), "1 2 3"),
    "Roman minutes": ("".join(f"{n}. {title}\n\n{LONG}\n\n" for n, title in zip(("I", "II", "III"), ("Call to Order", "Budget", "Close"), strict=True)), "I II III"),
    "agenda items": ("Agenda item 1: Tea\n\nIt is hot.\n\nAgenda item 2: Milk\n\nIt is cold.\n\nAgenda item 3: End\n\nAll left.", "1 2 3"),
    "a play": (
        "ACT I\n\nSCENE I. A kitchen.\n\nANN: Tea?\n\nSCENE II. A hall.\n\nBOB: Milk.\n\nACT II\n\nSCENE I. A yard.\n\nANN: Water!",
        "I I.I I.II II II.I",
    ),
    "sections with titles": ("SECTION 1. DEFINITIONS\n\nTea is tea.\n\nSECTION 2. TERM\n\nMilk is cold.\n\nSECTION 3. END\n\nWater.", "1 2 3"),
    "clauses": ("Clause 1\n\nTea is hot.\n\nClause 2\n\nMilk is cold.\n\nClause 3\n\nWater is wet.", "1 2 3"),
    "rules": ("Rule 1. Tea is hot.\n\nRule 2. Milk is cold.\n\nRule 3. Water is wet.", "1 2 3"),
    "schedules": ("Article 1\n\nTea is hot.\n\nArticle 2\n\nMilk is cold.\n\nSCHEDULE 1\n\nPrices.\n\nSCHEDULE 2\n\nDays.", "1 2 1 2"),
    "marked as bold": ("**Article 1**\n\nTea is hot.\n\n**Article 2**\n\nMilk is cold.\n\n**Article 3**\n\nWater is wet.", "1 2 3"),
    "headings with numbers": ("# Law\n\n## Article 1\n\n1. Tea is hot.\n2. Milk is cold.\n\n## Article 2\n\nWater is wet.", "1 1(1) 1(2) 2"),
    "wide spaces": ("Article\u00a01\n\nTea is hot.\n\nArticle\u00a02\n\nMilk is cold.\n\nArticle\u00a03\n\nWater is wet.", "1 2 3"),
    "carriage returns": ("Article 1\r\n\r\nTea is hot.\r\n\r\nArticle 2\r\n\r\nMilk is cold.\r\n\r\nArticle 3\r\n\r\nWater.", "1 2 3"),
    "contents before the text": (
        "1 Scope ........ 2\n2 Terms ........ 3\n2.1 Tea ........ 4\n\n1 Scope\n\nTea.\n\n2 Terms\n\n2.1 Tea\n\nIt is hot.\n\n2.2 Milk\n\nCold.\n\n2.3 Water\n\nWet.",
        "1 2 2.1 2.2 2.3",
    ),
}  # fmt: skip

# Texts whose numbers are no outline.
OTHERS = {
    "prose": f"{LONG}\n\n{LONG}",
    "a lone number": f"1. Tea\n\n{LONG}",
    "a lone article": f"{LONG}\n\nArticle 5\n\n{LONG}",
    "an ordered list": f"{LONG}\n\n1. tea\n2. milk\n3. water\n\n{LONG}",
    "a long list": f"Buy:\n\n1. {BODY}\n2. {BODY}\n3. {BODY}\n\n{LONG}\n\n{LONG}\n\n{LONG}",
    "a recipe": "1. Boil the water.\n2. Add the tea.\n3. Wait four minutes.\n4. Pour the milk.\n5. Drink it.",
    "a recipe in sentences": "1. Boil the water. Use a pot.\n2. Add the tea. Stir it well.\n3. Wait. Do not talk.\n4. Drink. Enjoy it.",
    "several lists": f"Tea:\n\n1. {BODY}\n2. {BODY}\n\nMilk:\n\n1. {BODY}\n2. {BODY}\n\nWater:\n\n1. {BODY}\n2. {BODY}",
    "lists under headings": f"# Tea\n\n{LONG}\n\n1. {BODY}\n2. {BODY}\n3. {BODY}\n\n# Milk\n\n1. {BODY}\n2. {BODY}\n",
    "numbered headings": f"# 1 Tea\n\n{LONG}\n\n## 1.1 Green\n\n{LONG}\n\n# 2 Milk\n\n{LONG}\n\n## 2.1 Cold\n\n{LONG}",
    "lists under numbered headings": f"# 1. Tea\n\n1. Boil it.\n2. Drink it.\n\n# 2. Milk\n\n1. Cool it.\n2. Drink it.\n\n# 3. Water\n\n{LONG}",
    "bullets": "- tea\n- milk\n- water\n",
    "letters alone": f"{LONG}\n\n(a) tea\n(b) milk\n(c) water\n\n{LONG}",
    "a bibliography": "[1] A. Ames. Tea. 1999.\n[2] B. Bell. Milk. 2001.\n[3] C. Cole. Water. 2003.",
    "a numbered bibliography": f"{LONG}\n\n{LONG}\n\n{LONG}\n\n1. Ames, A. Tea. 1999.\n2. Bell, B. Milk. 2001.\n3. Cole, C. Water. 2003.",
    "contents with leaders": "1 Tea ........ 2\n1.1 Green ........ 3\n1.2 Black ........ 4\n2 Milk ........ 5\n2.1 Cold ........ 6",
    "contents without leaders": "1 Tea 2\n1.1 Green 3\n1.2 Black 4\n2 Milk 5\n2.1 Cold 6\n2.2 Warm 7",
    "contents of chapters": "Chapter 1 Tea\nChapter 2 Milk\nChapter 3 Water\nChapter 4 Ice",
    "years": "1998. Tea came.\n\n1999. Milk came.\n\n2000. Water came.",
    "years in order": f"2001\n\n{BODY}\n\n2002\n\n{BODY}\n\n2003\n\n{BODY}",
    "dates": "1. Mai: Tee.\n3. Mai: Milch.\n7. Juni: Wasser.",
    "amounts": f"1.5 million people drink tea.\n\n2.7 million drink milk.\n\n{LONG}",
    "versions": "2.1.0 Tea is hotter.\n\n2.0.1 Milk is colder.\n\n2.0.0 Water is wetter.\n\n1.9.0 Ice.",
    "addresses": "10.0.0.1 tea\n10.0.0.2 milk\n10.0.0.7 water",
    "gaps": f"1. {LONG}\n\n3. {LONG}\n\n7. {LONG}\n\n8. {LONG}",
    "descending": f"Article 3\n\n{BODY}\n\nArticle 2\n\n{BODY}\n\nArticle 1\n\n{BODY}",
    "references in prose": f"Article 5 of the law is clear.\n\n{LONG}\n\nArticle 6 was repealed.\n\nArticle 7(2) says more.",
    "German references": f"§ 5 Abs. 1 gilt hier.\n\n{LONG}\n\n§ 6 Abs. 2 gilt dort.\n\n§ 7 Abs. 3 auch.",
    "Chinese references": "第五条规定了茶。\n\n第六条规定了牛奶。\n\n第七条规定了水。",
    "in the middle of a line": "See Article 1, then Article 2, and Article 3. See (a), (b), and (c) too.",
    "a wrapped reference": f"{BODY} This follows from Section\n1. It is so.\n\n{LONG} See Section\n2. It is so.\n\nSection\n3. It is so.",
    "code": "```\n1.1 a\n1.2 b\n1.3 c\n2.1 d\n```\n",
    "a table": "| n | unit |\n|---|---|\n| 1.1 | a |\n| 1.2 | b |\n| 1.3 | c |\n",
    "initials": "A. Ames drinks tea.\n\nB. Bell drinks milk.\n\nC. Cole drinks water.",
    "speakers": "Speaker A: Tea?\n\nSpeaker B: Milk.\n\nSpeaker C: Water.",
    "quotes": "> 1.1 Tea.\n> 1.2 Milk.\n> 1.3 Water.\n",
    "steps": f"Step 1: {BODY}\n\nStep 2: {BODY}\n\nStep 3: {BODY}",
    "empty": "",
}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("plain", [False, True])
def test_units_are_recognized(name, plain):
    text, expected = UNITS[name]
    if plain and "#" in text:
        pytest.skip("headings of Markdown")
    assert clauses(text, plain=plain) == list(dict.fromkeys(expected.split()))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("plain", [False, True])
def test_other_numbers_are_left_alone(name, plain):
    document = Document(OTHERS[name], blocks=() if plain else markdown.blocks(OTHERS[name]))
    if plain and name in {"code", "quotes", "a table"}:
        pytest.skip("nothing is code in plain text")
    assert outlined(document) is document


def test_levels_and_titles():
    text = "# Law\n\nArticle 5\n\nScope\n\n(1) Tea:\n(a) hot,\n(b) green.\n(2) Ice.\n\nArticle 6: Milk\n\nIt is cold."
    shown = [(block.kind, block.level, block.title) for block in read(text).blocks]
    assert shown == [
        ("heading", 1, "Law"),
        ("heading", 2, "Article 5 Scope"),
        ("paragraph", 3, "(1)"),
        ("paragraph", 4, "(a)"),
        ("paragraph", 4, "(b)"),
        ("paragraph", 3, "(2)"),
        ("heading", 2, "Article 6: Milk"),
        ("paragraph", 0, None),
    ]


def test_headings_of_the_format_keep_their_levels():
    text = "### Article 1\n\n1. Tea is hot.\n2. Milk is cold.\n\n## Article 2\n\nWater is wet."
    shown = [(block.kind, block.level) for block in read(text).blocks]
    assert shown == [("heading", 3), ("paragraph", 4), ("paragraph", 4), ("heading", 2), ("paragraph", 0)]


def test_numbers_that_begin_again_are_ambiguous():
    text = "Article 1\n\n(1) Tea.\n(2) Milk.\n\n(1) Water.\n(2) Ice.\n\nArticle 2\n\nSnow falls."
    assert clauses(text) == ["1", "1(1)", "1(2)", "2"]
    assert [(block.metadata or {}).get("clause") for block in read(text).blocks if block.title == "(1)"] == [
        "1(1)",
        None,
    ]


def test_a_format_heading_ends_a_unit():
    text = "# Law\n\nArticle 1\n\nTea is hot.\n\nArticle 2\n\nMilk is cold.\n\nArticle 3\n\nIce.\n\n# Notes\n\nWater is wet."
    assert [(block.metadata or {}).get("clause") for block in read(text).blocks][-2:] == [None, None]


LINES = st.sampled_from(
    [*"ABC", "", "", "Article {}", "Article {}: Tea", "{}. Tea", "1.{} Milk is cold.", "({}) It is hot.", "(a) One.", "(b) Two.",
     "(i) x", "# {} Head", "## Article {}", "- item", "```", "| a |", "|---|", "§ {}", "第{}条 茶", BODY, "  ({}) x", "> 1.{} q"]
)  # fmt: skip


@given(st.lists(LINES, max_size=40), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_text_and_layout_hold(lines, plain, end):
    numbers = iter(range(1, 99))
    text = end.join(line.format(next(numbers)) if "{}" in line else line for line in lines)
    before = Document(text, blocks=() if plain else markdown.blocks(text))
    after = outlined(before)
    spans = [block.span for block in after.blocks]
    assert after.text == text
    assert all(a.end <= b.start for a, b in pairwise(spans))
    if after is before:
        return
    covered = {i for start, stop in spans for i in range(start, stop)}
    kept = {i for block in before.blocks for i in range(*block.span)} or set(range(len(text)))
    assert {i for i in kept if not text[i].isspace()} <= covered
    assert outlined(after).blocks == after.blocks
    whole = {block for block in before.blocks if block.kind in {"code", "table", "quote"}}
    assert {block.span for block in whole} <= {block.span for block in after.blocks}


@pytest.mark.parametrize(
    "line",
    ["{}. tea\n", "(a) tea\n", "Article {}\n", "1.{} Tea is hot.\n", "(i) a\n(a) b\n1. c\n", "第{}条 茶\n", "I I I ", "((((", "1.1.1.1."],
)  # fmt: skip
def test_time_is_linear(line):
    def numbered(n):
        return "".join(line.format(i % 999 + 1) for i in range(n // len(line)))

    check_growth(lambda text: outlined(Document(text, blocks=())), numbered, 20_000)


# The user's own structure.

CONTRACT = "Article 5\n\n(1) Tea is hot.\n(2) Milk is cold.\n\nArticle 6\n\nWater is wet."
HEADINGS = {"article": r"^Article (\d+)", "paragraph": r"^\((\d+)\)"}


def own(text, headings, **options):
    chunks = RecursiveChunker(max_tokens=8, tokenizer="words", headings=headings, **options).chunk(text)
    return [(chunk.metadata.get("clause"), chunk.metadata.get("title_path")) for chunk in chunks]


def test_own_headings():
    assert own(CONTRACT, HEADINGS) == [("5", "Article 5"), ("5(2)", "Article 5 > (2)"), ("6", "Article 6")]
    assert own(CONTRACT, list(HEADINGS.values())) == own(CONTRACT, HEADINGS)
    explanation = RecursiveChunker(headings=HEADINGS).explain(CONTRACT)
    assert explanation.figures["outline"] == {"article": 2, "paragraph": 2}


def test_own_headings_without_numbers():
    text = "PART TEA\n\nIt is hot and green and black.\n\nPART MILK\n\nIt is cold and white and good."
    assert list(dict.fromkeys(own(text, r"^PART .+$"))) == [(None, "PART TEA"), (None, "PART MILK")]


def test_own_headings_below_those_of_the_format():
    text = "## Tea\n\n@1 Hot\n\nIt is so.\n\n## Article 7\n\n@1 Cold\n\nIt is so."
    headings = {"article": r"^Article (\d+)", "at": r"^@(\d)"}
    chunker = RecursiveChunker(max_tokens=4, tokenizer="words", headings=headings)
    paths = [chunk.metadata["title_path"] for chunk in chunker.chunk(text)]
    assert set(paths) == {"Tea", "Tea > @1 Hot", "Article 7", "Article 7 > @1 Cold"}
    assert chunker.chunk(text)[-1].metadata["clause"] == "7(1)"


def test_own_headings_replace_recognition():
    chunks = RecursiveChunker(headings=r"^Article (\d+)").explain(CONTRACT)
    assert chunks.figures["outline"] == {r"^Article (\d+)": 2}


def test_own_headings_are_not_in_code():
    assert "clause" not in RecursiveChunker(headings=HEADINGS).chunk("```\nArticle 5\n```\n")[0].metadata


def test_recognition_can_be_switched_off():
    on, off = RecursiveChunker().explain(CONTRACT), RecursiveChunker(outline=False).explain(CONTRACT)
    assert on.figures["outline"] == {"article": 2, "(1)": 2}
    assert on.chunks[0].metadata["clause"] == "5"
    assert "outline" not in off.figures
    assert "clause" not in off.chunks[0].metadata


def test_context_has_the_labels_above():
    chunks = RecursiveChunker(max_tokens=8, tokenizer="words", include_context=True).chunk(CONTRACT)
    assert [chunk.context for chunk in chunks] == ["", "Article 5", ""]


def test_order_of_headings_is_part_of_the_fingerprint():
    other = dict(reversed(HEADINGS.items()))
    assert RecursiveChunker(headings=HEADINGS).fingerprint() != RecursiveChunker(headings=other).fingerprint()


HOSTILE = {"evil": r"(a|aa)+$"}


@pytest.mark.slow
@pytest.mark.parametrize("parameter", ["headings", "boundaries"])
def test_a_hostile_pattern_is_stopped(parameter):
    value = HOSTILE if parameter == "headings" else [HOSTILE["evil"]]
    with pytest.raises(ConfigurationError, match=r"in (headings|boundaries).* took more than 2 s on a text of 61 char"):
        RecursiveChunker(**{parameter: value}).chunk("a" * 60 + "b")


BAD = {
    "the pattern of 'article' in headings is not a regular expression: missing )": {"headings": {"article": "("}},
    "a pattern in boundaries, 'x*', must not match the empty text": {"boundaries": "x*"},
    "headings must be valid JSON": {"headings": r'{"a": "^A (\d)"}'},
    "headings must be a mapping with text keys or": {"headings": 3},
    "boundaries must be regular expressions as text": {"boundaries": [3]},
    "outline must be true or false": {"outline": "yes"},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_patterns(message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        RecursiveChunker(**BAD[message])
