"""Word files: what Word shows is read, once and in order, and what it does not show is counted."""

import pytest

from advchunk import RecursiveChunker
from advchunk.readers.office.files import read
from blocks import blocks_of, texts_of
from one_text import OFFICE, W, relations, zipped

NAMES = (
    f'{W} xmlns:m="{OFFICE}/officeDocument/2006/math" xmlns:mc="{OFFICE}/markup-compatibility/2006" '
    f'xmlns:a="{OFFICE}/drawingml/2006/main"'
    f' xmlns:dgm="{OFFICE}/drawingml/2006/diagram" xmlns:pic="{OFFICE}/drawingml/2006/picture" '
    f'xmlns:c="{OFFICE}/drawingml/2006/chart"'
)
STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{id}"><w:name w:val="{name}"/>{more}</w:style>'
    for id, name, more in (
        ("Titel1", "heading 1", ""),
        ("Own", "Chapter", '<w:basedOn w:val="Titel1"/>'),
        ("Inhalt", "TOC Heading", '<w:basedOn w:val="Titel1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>'),
        ("Verzeichnis", "toc 1", ""),
        ("Code", "Source Code", ""),
        ("Zitat", "Quote", ""),
        ("Loop", "a", '<w:basedOn w:val="Loop2"/>'),
        ("Loop2", "b", '<w:basedOn w:val="Loop"/>'),
    )
)


def level(depth, form, text, more=""):
    return f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(*levels, nums=(1,)):
    made = "".join(f'<w:num w:numId="{i}"><w:abstractNumId w:val="7"/></w:num>' for i in nums)
    return f'<w:abstractNum w:abstractNumId="7">{"".join(levels)}</w:abstractNum>{made}'


ARTICLES = numbering(level(0, "decimal", "Article %1"), level(1, "decimal", "%1.%2"), level(2, "lowerLetter", "(%3)"))


def word(body, lists=ARTICLES, parts=None, change=lambda parts: parts):
    kinds = ("styles", "numbering", "footnotes", "comments", "header", "diagramData", "chart")
    return zipped(
        change(
            {
                "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
                "word/_rels/document.xml.rels": relations(*((kind, kind, f"{kind}.xml") for kind in kinds)),
                "word/styles.xml": f"<w:styles {NAMES}>{STYLES}</w:styles>",
                "word/numbering.xml": f"<w:numbering {NAMES}>{lists}</w:numbering>",
                "word/document.xml": f"<w:document {NAMES}><w:body>{body}</w:body></w:document>",
                **{f"word/{name}.xml": content for name, content in (parts or {}).items()},
            }
        )
    )


def run(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(content, properties=""):
    content = content if content.startswith("<") or not content else run(content)
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def n(depth=0, id=1):
    return f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{id}"/></w:numPr>'


def style(id):
    return f'<w:pStyle w:val="{id}"/>'


def cell(content, properties=""):
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content if content.startswith('<w:tbl') else p(content)}</w:tc>"


def row(*cells, properties=""):
    made = (own if own.startswith("<") else cell(own) for own in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(made)}</w:tr>"


def table(*rows):
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def box(text, kind="wps"):
    if kind == "v":
        return f"<w:pict><v:shape><v:textbox><w:txbxContent>{p(text)}</w:txbxContent></v:textbox></v:shape></w:pict>"
    inner = f"<w:txbxContent>{p(text)}</w:txbxContent>"
    return f"<w:drawing><a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></w:drawing>"


def field(*pieces):
    made = ""
    for piece in pieces:
        sign = f'<w:r><w:fldChar w:fldCharType="{piece}"/></w:r>'
        instruction = f"<w:r><w:instrText>{piece[1:]}</w:instrText></w:r>"
        made += sign if piece in {"begin", "separate", "end"} else instruction if piece[0] == "=" else run(piece)
    return made


KEYED = (("North", "1"), ("", "2"), ("South", "3"), ("", "4"))
OUTER, INNER = row("Left", "Right"), table(row("Plan", "Price"), row("Team", "40"))
START = "<mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback>"
SHOWN = {
    "numbers of headings and clauses": (
        p("Terms", style("Titel1") + n()) + p("Pay.", n(1)) + p("Delivery", style("Titel1") + n()) + p("Go.", n(1)),
        ["Article 1 Terms", "1.1 Pay.", "Article 2 Delivery", "2.1 Go."],
    ),
    "a list goes on after a paragraph, and an empty item counts": (
        p("a", n(2)) + p("between") + p("", n(2)) + p("c", n(2)), ["(a) a", "between", "(c) c"]
    ),
    "a change of properties is no number": (p("x", f"<w:pPrChange><w:pPr>{n()}</w:pPr></w:pPrChange>"), ["x"]),
    "typed numbers and signs": (p("1. Definitions") + p("# of cups"), ["1. Definitions", "# of cups"]),
    "raised and lowered": (
        p(run("2") + run("30", '<w:vertAlign '
                               'w:val="superscript"/>') + run(" H") + run("2", '<w:vertAlign w:val="subscript"/>')
          + run("O, x") + run("n+1", '<w:vertAlign w:val="superscript"/>')), ["2³⁰ H2O, x^(n+1)"],
    ),
    "a table in a cell": (table(OUTER, row("Text", cell(INNER))),
                          ["| Left | Right |\n| --- | --- |\n| Text | Plan, Price; Team, 40 |"]),
    "cells over columns and rows": (
        table(row(cell("A", '<w:gridSpan w:val="2"/>'), "B"), row(cell("d", '<w:vMerge w:val="restart"/>'), "1", "2"),
              row(cell("", "<w:vMerge/>"), "3", "4")),
        ["| A | A | B |\n| --- | --- | --- |\n| d | 1 | 2 |\n| d | 3 | 4 |"],
    ),
    "a row that begins later": (table(row("A", "B"), row("2", properties='<w:gridBefore w:val="1"/>')),
                                ["| A | B |\n| --- | --- |\n|  | 2 |"]),
    "a box of two kinds is read once, after its paragraph": (
        p(f"{run('Before.')}<w:r><mc:AlternateContent>{START.format(box('In.'), box('In.', 'v'))}</mc:AlternateContent></w:r>{run(' After.')}"),
        ["Before. After.", "In."],
    ),
    "a nested field": (p(field("begin", "= IF ", "begin", "= PAGE", "separate", "77", "end", "= x", "separate", "shown", "end")), ["shown"]),
    "a field that never ends": (p(field("begin", "= PAGE") + run("one")) + p("two"), ["two"]),
    "a moved text": (f"<w:p><w:moveFrom>{run('x')}</w:moveFrom></w:p><w:p><w:moveTo>{run('x')}</w:moveTo></w:p>", ["x"]),
    "a deleted end of a paragraph": (p("The cat ", "<w:rPr><w:del/></w:rPr>") + p("sat."), ["The cat sat."]),
    "a large first letter": (p("T", '<w:framePr w:dropCap="drop"/>') + p("he cat."), ["The cat."]),
    "a symbol": (p('<w:r><w:sym w:font="Symbol" w:char="F061"/><w:noBreakHyphen/></w:r>'), ["α-"]),  # noqa: RUF001
    "a page break": (p(run("One.") + '<w:r><w:br w:type="page"/></w:r>' + run("Two.")), ["One.", "Two."]),
    "lines of code": (p("def f():", style("Code")) + p("    return 1", style("Code")), ["def f():\n    return 1"]),
    "a formula": (p("<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>"), ["a/b"]),
    "a word with its reading": (
        p(f"<w:r><w:ruby><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby></w:r>"), ["漢字 (かんじ)"]
    ),
    "styles that are based on each other": (p("x", style("Loop")), ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_word_shows_is_read(name):
    body, expected = SHOWN[name]
    assert texts_of(read(word(body))) == expected


def test_headings_are_known_by_their_styles_and_levels():
    body = p("Contents", style("Inhalt")) + p("One\t1", style("Verzeichnis")) + p("Two\t2", style("Verzeichnis"))
    document = read(
        word(body + p("One", style("Own")) + p("Two", '<w:outlineLvl w:val="1"/>') + p("Said.", style("Zitat")))
    )
    kinds = [(block.kind, block.level, block.title) for block in document.blocks]
    assert kinds == [
        ("paragraph", 0, None), ("quote", 0, ""), ("heading", 1, None), ("heading", 2, None), ("quote", 0, None)
    ]  # fmt: skip


def test_lists_restart_where_word_does():
    own = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    lists = numbering(level(0, "upperRoman", "%1."), level(1, "decimal", "%1.%2", "<w:isLgl/>"))
    lists += f'<w:num w:numId="2"><w:abstractNumId w:val="7"/>{own}</w:num>'
    body = p("a", n()) + p("b", n(1)) + p("c", n()) + p("d", n(1)) + p("e", n(0, 2))
    assert texts_of(read(word(body, lists))) == ["I. a", "1.1 b", "II. c", "2.1 d", "V. e"]
    nested = read(word(p("a", n()) + p("b", style("List Number 2") + n()), lists))
    assert [block.level for block in nested.blocks] == [1, 2]


def test_notes_are_last_with_all_their_paragraphs():
    body = p(run("Tea") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" is hot."))
    notes = f'<w:footnotes {NAMES}><w:footnote w:id="2">{p("One.")}{p("Two.")}</w:footnote></w:footnotes>'
    document = read(word(body, parts={"footnotes": notes}))
    assert texts_of(document) == ["Tea[^1] is hot.", "[^1]: One. Two."]
    assert document.blocks[-1].kind == "footnote"
    assert read(word(body)).metadata["left_out"] == "missing notes: 1"


def test_links_have_their_targets_on_request_but_not_in_headings():
    out = '<Relationship Id="out" Type="x/hyperlink" Target="https://tea.org" TargetMode="External"/></Relationships>'

    def change(parts):
        name = "word/_rels/document.xml.rels"
        return parts | {name: parts[name].replace("</Relationships>", out)}

    def link(text):
        return f'<w:hyperlink r:id="out">{run(text)}</w:hyperlink>'

    begin, *rest = field("begin", "separate", "field", "end").split("</w:r>", 1)
    instruction = '<w:r><w:instrText> HYPERLINK "https://a.org" </w:instrText></w:r>'
    simple = f"<w:fldSimple w:instr='HYPERLINK \"https://b.org\"'>{run('simple')}</w:fldSimple>"
    body = p(link("shop") + run(" or ") + f"{begin}</w:r>{instruction}{rest[0]}" + run(" or ") + simple)
    data = word(p(link("Tea"), style("Titel1")) + body, change=change)
    assert texts_of(read(data, links=True)) == [
        "Tea", "[shop](https://tea.org) or [field](https://a.org) or [simple](https://b.org)"
    ]  # fmt: skip
    assert texts_of(read(data)) == ["Tea", "shop or field or simple"]


def test_cells_over_several_rows_are_the_keys_of_each():
    rows = (row(cell(own, f'<w:vMerge w:val="{"restart" if own else "continue"}"/>'), text) for own, text in KEYED)
    (text,) = texts_of(read(word(table(row("Region", "Sales"), *rows))))
    assert [line.split("|")[1].strip() for line in text.split("\n")[2:]] == ["North", "North", "South", "South"]


def test_diagrams_and_charts_are_read_from_their_parts():
    def text(own):
        return f"<a:p><a:r><a:t>{own}</a:t></a:r></a:p>"

    points = "".join(f'<c:pt idx="{i}"><c:v>{{}}{i}</c:v></c:pt>' for i in range(2))
    series = f"<c:ser><c:tx><c:v>Cups</c:v></c:tx><c:cat>{points.format('y', 'y')}</c:cat><c:val>{points.format('', '')}</c:val></c:ser>"
    parts = {
        "diagramData": "<dgm:dataModel "
        f"{NAMES}><dgm:pt><dgm:t>{text('Boil')}{text('Pour')}</dgm:t></dgm:pt></dgm:dataModel>",
        "chart": f"<c:chartSpace {NAMES}><c:chart><c:title>{text('Tea')}</c:title>{series}</c:chart></c:chartSpace>",
    }
    drawings = '<dgm:relIds r:dm="diagramData"/><c:chart r:id="chart"/>'
    document = read(word(p(f"<w:r><w:drawing>{drawings}</w:drawing></w:r>"), parts=parts))
    assert texts_of(document) == ["Boil\nPour", "Tea", "|  | Cups |\n| --- | --- |\n| y0 | 0 |\n| y1 | 1 |"]


def test_what_word_does_not_show_is_counted_and_hidden_text_is_read_on_request():
    hidden = p(run("secret", "<w:vanish/>") + run("seen", '<w:vanish w:val="0"/>'))
    body = (
        hidden
        + p(f"<w:del>{run('gone').replace('w:t', 'w:delText')}</w:del>")
        + p("<w:r><w:drawing><pic:pic/></w:drawing></w:r>")
    )
    parts = {
        "comments": f"<w:comments {NAMES}><w:comment>{p('remark')}</w:comment></w:comments>",
        "header": f"<w:hdr {NAMES}>{p('Draft')}</w:hdr>",
    }
    document = read(word(f"{body}<w:altChunk/>", parts=parts))
    assert document.text == "seen"
    assert document.metadata == {
        "left_out": "comments: 1; deletions: 1; embedded documents: 1; headers: 1; hidden texts: 1; pictures: 1"
    }
    assert read(word(body), hidden=True).text == "secretseen"


def test_a_picture_is_its_description_unless_that_is_a_file_name():
    def drawing(description):
        return p(f'<w:r><w:drawing><a:x descr="{description}"/><pic:pic/></w:drawing></w:r>')

    document = read(word(drawing("A cup") + drawing("cup.png")))
    assert blocks_of(document) == [("figure", 0, "A cup")]
    assert document.metadata["left_out"] == "pictures: 2"


@pytest.mark.parametrize("change", [
    lambda parts: parts | {"word/styles.xml": parts["word/styles.xml"][:90]},
    lambda parts: {name: part for name, part in parts.items() if name != "word/numbering.xml"},
    lambda parts: {
        name: part.replace(f"{OFFICE}/wordprocessingml/2006/main", "http://purl.oclc.org/ooxml/wordprocessingml/main")
        for name, part in parts.items()
    },
])  # fmt: skip
def test_odd_and_damaged_parts_do_not_hide_the_text(change):
    assert "Text." in read(word(p("Text.", n()), change=change)).text


def test_typed_clauses_are_outlined_as_in_plain_text():
    lines = [f"{i}. {name}" if not k else f"{i}.{k} {name} has a clause that is long enough "
                                          "to be one." for i, name in enumerate(
        ("Terms", "Goods", "Price"), 1) for k in range(3)]  # fmt: skip
    chunker = RecursiveChunker(max_tokens=30)
    made = chunker.chunk(read(word("".join(map(p, lines)))))
    assert [chunk.metadata.get("clause") for chunk in made] == [
        chunk.metadata.get("clause") for chunk in chunker.chunk("\n\n".join(lines))
    ]
    assert "2.2" in {chunk.metadata.get("clause") for chunk in made}
