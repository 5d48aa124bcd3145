"""Write one random document in many formats: headings with numbers, nested lists, tables with merged heads, notes,
links, boxes, hidden text.

A document is a list of `Part`; its text is runs, each with a mark: "", "sup", "link", "note", or "deleted". `WRITERS`
has a function for each format; `expected` is what must be read.
"""

import random
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

Run = tuple[str, str]
Row = Sequence[tuple[str, int, int]]  # the text of each cell, and the rows and columns that it spans
WORDS = ("tea", "leaf", "a_b", "x < y", "5 * 3", "# of cups", "R&D", "water", "“Sencha”", "naïve", "茶")
SITE = "https://example.com/tea"


class Part(NamedTuple):
    """A heading, a paragraph, an item, a table, a box, or a hidden paragraph; ``level`` is from 1."""

    kind: str
    runs: Sequence[Run] = ()
    level: int = 0
    label: str = ""
    rows: Sequence[Row] = ()


def document(seed: int) -> list[Part]:
    """Return a random document."""
    draw, parts = random.Random(seed), list[Part]()

    def words(least: int = 2) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, 6))).strip("# ")

    def runs() -> list[Run]:
        made = [(words(), "")]
        for mark in draw.sample(["sup", "link", "note", "deleted"], draw.randint(0, 3)):
            made += {
                "sup": [(" and 2", ""), (str(draw.randint(2, 30)), "sup")],
                "link": [(" at ", ""), (words(), "link")],
            }.get(mark, [(words(), mark)])
            made += [(f" {words()}", "")]
        return made

    for i in range(1, draw.randint(2, 3)):
        parts += [Part("heading", [(words(), "")], 1, str(i)), Part("paragraph", runs())]
        for j in range(1, draw.randint(1, 3)):
            parts += [Part("heading", [(words(), "")], 2, f"{i}.{j}"), Part("paragraph", runs())]
        labels = draw.choice(([("1.", 1), ("a.", 2), ("b.", 2), ("2.", 1)], [("-", 1), ("-", 2), ("-", 1)]))
        parts += [Part("item", [(words(), "")], level, label) for label, level in labels]
        heads = [[("Region", 2, 1), ("Sales", 1, 2)], [("Jan", 1, 1), ("Feb", 1, 1)]]
        data = [[(f"a | {words()}", 1, 1), *((str(draw.randint(1, 99)), 1, 1) for _ in range(2))] for _ in range(2)]
        parts += [Part("paragraph", [(words(), "")]), Part("table", rows=[*heads, *data]), Part("paragraph", runs())]
        parts += [Part("box", [(words(), "")]), Part("hidden", [("secret", "")])]
    return parts


def notes(parts: Iterable[Part]) -> list[str]:
    """Return the texts of the notes."""
    return [text for part in parts for text, mark in part.runs if mark == "note"]


def pipes(rows: Sequence[Row]) -> str:
    """Return a table with two rows of heads in Markdown."""
    lines = [[text.replace("|", "\\|") for text, _, across in row for _ in range(across)] for row in rows]
    lines[1].insert(0, lines[0][0])
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines[:2], ["---"] * 3, *lines[2:]])


def expected(parts: Sequence[Part]) -> list[tuple[str, int, str]]:
    """Return the kind, the level, and the text of each block."""
    blocks, count = list[tuple[str, int, str]](), 0
    for part in parts:
        text = ""
        for own, mark in part.runs:
            count += mark == "note"
            raised = own.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
            text += {"note": f"[^{count}]", "deleted": "", "sup": raised}.get(mark, own)
        if part.kind != "hidden":
            kind = "paragraph" if part.kind == "box" else part.kind
            blocks.append((kind, part.level, pipes(part.rows) if part.rows else f"{part.label} {text}".strip()))
    return [*blocks, *(("footnote", 0, f"[^{i}]: {note}") for i, note in enumerate(notes(parts), 1))]


def zipped(parts: Mapping[str, str]) -> bytes:
    """Return an archive."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def inline(runs: Iterable[Run], marks: Mapping[str, Callable[[str], str]], plain: Callable[[str], str] = escape) -> str:
    """Return runs, each written by its mark."""
    return "".join(marks[mark](text) if mark in marks else plain(text) for text, mark in runs)


def lists(parts: Sequence[Part]) -> Iterable[tuple[bool, list[Part]]]:
    """Yield the parts, those of a list together."""
    return ((is_list, [*run]) for is_list, run in groupby(parts, lambda part: part.kind == "item"))


def markdown(parts: Sequence[Part]) -> bytes:
    """Write Markdown, which has no hidden text, no boxes, no merged cells, one row of heads, and no items with
    letters."""
    made = list[str]()
    for kind, level, text in expected(parts):
        mark = "#" * level + " " if kind == "heading" else "  " * (level - 1)
        made.append(mark + with_one_head(text) if kind == "table" else mark + text)
    return "\n\n".join(made).encode()


def with_one_head(table: str) -> str:
    """Return a table with its rule below the first row."""
    first, second, rule, rest = table.split("\n", 3)
    return "\n".join([first, rule, second, rest])


def html_body(parts: Sequence[Part]) -> str:
    """Write the body of a page."""
    made, count = "", iter(range(1, 100))
    marks = {
        "sup": lambda text: f"<sup>{text}</sup>",
        "link": lambda text: f'<a href="{SITE}">{escape(text)}</a>',
        "note": lambda _: f'<sup><a role="doc-noteref" href="#n">{next(count)}</a></sup>',
        "deleted": lambda _: "",
    }
    for is_list, run in lists(parts):
        if is_list:
            tags, before = (["ul", "ul"] if run[0].label == "-" else ["ol", 'ol type="a"']), 0
            for part in run:
                made += f"<{tags[part.level - 1]}>" if part.level > before else "</li>"
                made += f"</{tags[1][:2]}></li>" if part.level < before else ""
                made += f"<li>{inline(part.runs, marks)}"
                before = part.level
            made += f"</li></{tags[0]}>"
            continue
        for part in run:
            if part.rows:
                rows = (
                    "".join(
                        f'<{"td" if i > 1 else "th"} rowspan="{down}" '
                        f'colspan="{across}">{escape(text)}</{"td" if i > 1 else "th"}>'
                        for text, down, across in row
                    )
                    for i, row in enumerate(part.rows)
                )
                made += f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
            else:
                tag = {"heading": f"h{part.level}", "box": "div", "hidden": "p hidden"}.get(part.kind, "p")
                made += f"<{tag}>{f'{part.label} {inline(part.runs, marks)}'.strip()}</{tag.split()[0]}>"
    return made + "".join(f'<aside role="doc-footnote">{escape(note)}</aside>' for note in notes(parts))


def html(parts: Sequence[Part]) -> bytes:
    """Write a page."""
    return f"<!DOCTYPE html><title>A page</title><meta charset=utf-8><body>{html_body(parts)}".encode()


def epub(parts: Sequence[Part]) -> bytes:
    """Write an e-book of one page."""
    body = html_body(parts).replace("<p hidden>", '<p hidden="hidden">')
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>A page</title></head><body>{body}</body></html>'
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": "<container "
            'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
            'full-path="b.opf"/></rootfiles></container>',
            "b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c" href="c.xhtml" '
            'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>',
            "c.xhtml": f'<?xml version="1.0" encoding="utf-8"?>{page}',
        }
    )


OFFICE = "http://schemas.openxmlformats.org"
W = (
    f'xmlns:w="{OFFICE}/wordprocessingml/2006/main" xmlns:r="{OFFICE}/officeDocument/2006/relationships" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)


def relations(*targets: tuple[str, str, str]) -> str:
    """Return the relationships of a part: ids, kinds, and targets."""
    made = (
        f'<Relationship Id="{id}" Type="{OFFICE}/officeDocument/2006/relationships/{kind}" Target="{target}"/>'
        for id, kind, target in targets
    )
    return f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{"".join(made)}</Relationships>'


def docx(parts: Sequence[Part]) -> bytes:  # noqa: C901
    """Write a Word file whose numbers are those of its lists."""
    count, own, body = iter(range(1, 100)), 9, ""

    def run(text: str, properties: str = "", tag: str = "t") -> str:
        return f'<w:r><w:rPr>{properties}</w:rPr><w:{tag} xml:space="preserve">{escape(text)}</w:{tag}></w:r>'

    marks = {
        "sup": lambda text: run(text, '<w:vertAlign w:val="superscript"/>'),
        "link": lambda text: f"<w:hyperlink>{run(text)}</w:hyperlink>",
        "note": lambda _: f'<w:r><w:footnoteReference w:id="{next(count)}"/></w:r>',
        "deleted": lambda text: f"<w:del>{run(text, tag='delText')}</w:del>",
    }

    def paragraph(content: str, properties: str = "") -> str:
        return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"

    nums = ""
    for part in parts:
        text = inline(part.runs, marks, run)
        if part.rows:
            body += "<w:tbl>"
            for i, row in enumerate(part.rows):
                merge = '<w:vMerge w:val="restart"/>'
                cells = [
                    "<w:tc><w:tcPr><w:gridSpan "
                    f'w:val="{across}"/>{merge * (down > 1)}</w:tcPr>{paragraph(run(text))}</w:tc>'
                    for text, down, across in row
                ]
                cells = ["<w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>"] * (i == 1) + cells
                body += f"<w:tr><w:trPr>{'<w:tblHeader/>' * (i < 2)}</w:trPr>{''.join(cells)}</w:tr>"
            body += "</w:tbl>"
        elif part.kind == "item":
            if part.label == "1.":  # another list
                own += 1
                nums += f'<w:num w:numId="{own}"><w:abstractNumId w:val="2"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
            id = 3 if part.label == "-" else own
            body += paragraph(text, f'<w:numPr><w:ilvl w:val="{part.level - 1}"/><w:numId w:val="{id}"/></w:numPr>')
        elif part.kind == "box":
            box = f"<w:pict><v:shape><v:textbox><w:txbxContent>{paragraph(text)}</w:txbxContent></v:textbox></v:shape></w:pict>"
            body += paragraph(f"<w:r>{box}</w:r>")
        elif part.kind == "hidden":
            body += paragraph(run("secret", "<w:vanish/>"))
        else:
            body += paragraph(text, f'<w:pStyle w:val="H{part.level}"/>' if part.level else "")

    def level(depth: int, form: str, text: str, style: str = "") -> str:
        style = f'<w:pStyle w:val="{style}"/>' if style else ""
        return f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{style}<w:lvlText w:val="{text}"/></w:lvl>'

    definitions = {
        1: level(0, "decimal", "%1", "H1") + level(1, "decimal", "%1.%2", "H2"),
        2: level(0, "decimal", "%1.") + level(1, "lowerLetter", "%2."),
        3: level(0, "bullet", "•") + level(1, "bullet", "o"),
    }
    numbering = "".join(f'<w:abstractNum w:abstractNumId="{i}">{own}</w:abstractNum>' for i, own in definitions.items())
    numbering += "".join(f'<w:num w:numId="{i}"><w:abstractNumId w:val="{i}"/></w:num>' for i in (1, 3)) + nums
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{i}"><w:name w:val="heading {i}"/><w:pPr><w:numPr><w:numId '
        'w:val="1"/></w:numPr></w:pPr></w:style>'
        for i in (1, 2)
    )
    foot = "".join(
        f'<w:footnote w:id="{i}">{paragraph(run(note))}</w:footnote>' for i, note in enumerate(notes(parts), 1)
    )
    return zipped(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": relations(
                *((kind, kind, f"{kind}.xml") for kind in ("styles", "numbering", "footnotes"))
            ),
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
            "word/numbering.xml": f"<w:numbering {W}>{numbering}</w:numbering>",
            "word/footnotes.xml": f"<w:footnotes {W}>{foot}</w:footnotes>",
        }
    )


ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{kind}:1.0"'
    for name, kind in (
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("style", "style"),
        ("draw", "drawing"),
    )
)


def odt(parts: Sequence[Part]) -> bytes:
    """Write a text of OpenDocument whose numbers are those of its lists."""
    body, all_notes = "", iter(notes(parts))
    marks = {
        "sup": lambda text: f'<text:span text:style-name="Up">{text}</text:span>',
        "link": lambda text: f"<text:a>{escape(text)}</text:a>",
        "note": lambda _: (
            f"<text:note><text:note-citation>9</text:note-citation><text:note-body><text:p>{escape(next(all_notes))}</text:p></text:note-body></text:note>"
        ),
        "deleted": lambda _: '<text:change text:change-id="d"/>',
    }
    for is_list, run in lists(parts):
        if is_list:
            body, before = body + f'<text:list text:style-name="{"B" if run[0].label == "-" else "N"}">', 1
            for i, part in enumerate(run):
                body += "<text:list>" if part.level > before else "</text:list-item>" if i else ""
                body += "</text:list></text:list-item>" if part.level < before else ""
                body += f"<text:list-item><text:p>{inline(part.runs, marks)}</text:p>"
                before = part.level
            body += "</text:list-item></text:list>"
            continue
        for part in run:
            text = inline(part.runs, marks)
            if part.rows:
                rows = [
                    "<table:covered-table-cell/>" * (i == 1)
                    + "".join(
                        f'<table:table-cell table:number-rows-spanned="{down}" '
                        f'table:number-columns-spanned="{across}"><text:p>{escape(own)}</text:p></table:table-cell>'
                        + "<table:covered-table-cell/>"
                        * (across - 1)
                        for own, down, across in row
                    )
                    for i, row in enumerate(part.rows)
                ]
                rows = [f"<table:table-row>{row}</table:table-row>" for row in rows]
                body += f"<table:table><table:table-header-rows>{''.join(rows[:2])}</table:table-header-rows>{''.join(rows[2:])}</table:table>"
            elif part.kind == "heading":
                body += f'<text:h text:outline-level="{part.level}">{text}</text:h>'
            elif part.kind == "box":
                body += (
                    f"<text:p><draw:frame><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame></text:p>"
                )
            else:
                body += f'<text:p text:style-name="{"Gone" if part.kind == "hidden" else ""}">{text}</text:p>'

    def level(kind: str, depth: int, form: str, more: str = "") -> str:
        return f'<text:{kind} text:level="{depth}" style:num-format="{form}" {more}/>'

    number, bullet = "list-level-style-number", "list-level-style-bullet"
    deeper, dot = 'text:display-levels="2"', 'style:num-suffix="."'
    outline = level("outline-level-style", 1, "1") + level("outline-level-style", 2, "1", deeper)
    numbers = level(number, 1, "1", dot) + level(number, 2, "a", dot)
    bullets = level(bullet, 1, "", 'text:bullet-char="•"') + level(bullet, 2, "", 'text:bullet-char="◦"')
    styles = (
        f"<text:outline-style>{outline}</text:outline-style>"
        f'<text:list-style style:name="N">{numbers}</text:list-style>'
        f'<text:list-style style:name="B">{bullets}</text:list-style>'
        '<style:style style:name="Up" style:family="text"><style:text-properties style:text-position="super '
        '58%"/></style:style>'
        '<style:style style:name="Gone" style:family="paragraph"><style:text-properties '
        'text:display="none"/></style:style>'
    )
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "styles.xml": "<office:document-styles "
            f"{ODF}><office:styles>{styles}</office:styles></office:document-styles>",
            "content.xml": "<office:document-content "
            f"{ODF}><office:body><office:text>{body}</office:text></office:body></office:document-content>",
        }
    )


def rtf(parts: Sequence[Part]) -> bytes:
    """Write RTF."""

    def plain(text: str) -> str:
        return "".join(own if own.isascii() else f"\\u{ord(own)}?" for own in text)

    marks = {
        "sup": lambda text: f"{{\\super {text}}}",
        "link": lambda text: f'{{\\field{{\\*\\fldinst HYPERLINK "{SITE}"}}{{\\fldrslt {plain(text)}}}}}',
        "note": lambda text: f"{{\\super\\chftn}}{{\\footnote\\pard {{\\super\\chftn}} {plain(text)}}}",
        "deleted": lambda text: f"{{\\deleted {plain(text)}}}",
    }
    body = ""
    for part in parts:
        text = inline(part.runs, marks, plain)
        if part.rows:
            for i, row in enumerate(part.rows):
                cells = [
                    (
                        ("\\clvmgf" if down > 1 else "\\clmgf" if across > 1 else "") if k == 0 else "\\clmrg",
                        plain(own) if k == 0 else "",
                    )
                    for own, down, across in row
                    for k in range(across)
                ]
                cells = [("\\clvmrg", "")] * (i == 1) + cells
                body += (
                    "\\trowd"
                    + "\\trhdr" * (i < 2)
                    + "".join(f"{flag}\\cellx{1000 * k}" for k, (flag, _) in enumerate(cells, 1))
                )
                body += "".join(f"\\pard\\intbl {own}\\cell" for _, own in cells) + "\\row\n"
        elif part.kind == "box":
            body += f"\\pard{{\\shp{{\\*\\shpinst{{\\sp{{\\sn x}}{{\\sv 1}}}}{{\\shptxt \\pard {text}\\par}}}}}}\\par\n"
        elif part.kind == "hidden":
            body += f"\\pard{{\\v {text}}}\\par\n"
        else:
            label = "\\'b7" if part.label == "-" else part.label
            outline = f"\\outlinelevel{part.level - 1}" if part.kind == "heading" else f"\\ilvl{max(part.level - 1, 0)}"
            shown = f"{{\\listtext {label}\\tab}}" if label else ""
            body += f"\\pard{outline}{shown} {text}\\par\n"
    return f"{{\\rtf1\\ansi\\ansicpg1252\\uc1 {body}}}".encode("ascii")


P = f'xmlns:p="{OFFICE}/presentationml/2006/main" xmlns:a="{OFFICE}/drawingml/2006/main" xmlns:r="{OFFICE}/officeDocument/2006/relationships"'


def pptx(parts: Sequence[Part]) -> bytes:
    """Write slides, one for each section: they have no notes at the foot, no headings below their titles, and no
    deletions."""
    slides = list[str]()

    def shape(content: str, about: str = "", place: str = "") -> str:
        return f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="a" {about}/><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:txBody>{content}</p:txBody></p:sp>'

    def run(text: str, properties: str = "") -> str:
        return f"<a:r><a:rPr {properties}/><a:t>{escape(text)}</a:t></a:r>"

    def paragraph(part: Part) -> str:
        text = inline(
            [own for own in part.runs if own[1] not in {"note", "deleted"}],
            {"sup": lambda text: run(text, 'baseline="30000"')},
            run,
        )
        if part.kind == "item":
            own = (
                '<a:buChar char="•"/>'
                if part.label == "-"
                else f'<a:buAutoNum type="{"arabic" if part.level == 1 else "alphaLc"}Period"/>'
            )
            return f'<a:p><a:pPr lvl="{part.level - 1}">{own}</a:pPr>{text}</a:p>'
        return f"<a:p>{run(f'{part.label} ') if part.label else ''}{text}</a:p>"

    for is_list, group in lists(parts):
        if is_list:
            slides[-1] += shape("".join(map(paragraph, group)))
            continue
        for part in group:
            if part.rows:
                rows = "".join(
                    '<a:tr h="1">' + '<a:tc vMerge="1"><a:txBody><a:p/></a:txBody></a:tc>' * (i == 1)
                    + "".join(
                        f'<a:tc rowSpan="{down}" gridSpan="{across}"><a:txBody><a:p>{run(text)}</a:p></a:txBody></a:tc>'
                        + '<a:tc hMerge="1"><a:txBody><a:p/></a:txBody></a:tc>' * (across - 1)
                        for text, down, across in row
                    )
                    + "</a:tr>"
                    for i, row in enumerate(part.rows)
                )  # fmt: skip
                slides[-1] += (
                    f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="3" name="t"/></p:nvGraphicFramePr><a:graphic><a:graphicData><a:tbl>{rows}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>'
                )
            elif part.level == 1:
                slides.append(shape(paragraph(part), place='<p:ph type="title"/>'))
            else:
                slides[-1] += shape(paragraph(part), 'hidden="1"' if part.kind == "hidden" else "")
    ids = "".join(f'<p:sldId id="{255 + i}" r:id="s{i}"/>' for i in range(1, len(slides) + 1))
    return zipped(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f"<p:presentation {P}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(*((f"s{i}", "slide", f"slides/{i}.xml") for i in range(1, len(slides) + 1))),
            **{
                f"ppt/slides/{i}.xml": f"<p:sld {P}><p:cSld><p:spTree>{slide}</p:spTree></p:cSld></p:sld>"
                for i, slide in enumerate(slides, 1)
            },
        }
    )  # fmt: skip


WRITERS: Mapping[str, Callable[[Sequence[Part]], bytes]] = {
    ".md": markdown, ".html": html, ".docx": docx, ".odt": odt, ".rtf": rtf, ".epub": epub, ".pptx": pptx,
}  # fmt: skip
