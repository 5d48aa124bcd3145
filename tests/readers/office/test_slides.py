"""Slides of PowerPoint and OpenDocument: groups, numbers, hidden slides, and shapes that are not known."""

from advchunk.readers.office.files import read
from blocks import blocks_of, part, replaced, texts_of
from one_text import ODF, OFFICE, P, relations, zipped

DIAGRAM = f'xmlns:dgm="{OFFICE}/drawingml/2006/diagram"'


def text(content, properties=""):
    return f"<a:p><a:pPr>{properties}</a:pPr><a:r><a:t>{content}</a:t></a:r></a:p>"


def shape(content, place=""):
    about = f'<p:nvSpPr><p:cNvPr id="1" name="a"/><p:nvPr>{place}</p:nvPr></p:nvSpPr>'
    return f"<p:sp>{about}<p:txBody>{content}</p:txBody></p:sp>"


def deck(*slides, mode="Internal"):
    names = range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId r:id="s{i}"/>' for i in names)
    layout = shape("<a:lstStyle><a:lvl1pPr><a:buNone/></a:lvl1pPr></a:lstStyle>", '<p:ph type="body" idx="7"/>')
    return zipped(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f"<p:presentation {P}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(*((f"s{i}", "slide", f"slides/{i}.xml") for i in names)),
            "ppt/layout.xml": f"<p:sldLayout {P}><p:cSld><p:spTree>{layout}</p:spTree></p:cSld></p:sldLayout>",
            "ppt/data.xml": f"<dgm:dataModel {DIAGRAM} "
            f"{P}><dgm:pt><dgm:t>{text('Boil')}{text('Pour')}</dgm:t></dgm:pt></dgm:dataModel>",
            **{f"ppt/slides/{i}.xml": slide for i, slide in enumerate(slides, 1)},
            **{
                f"ppt/slides/_rels/{i}.xml.rels": relations(
                    ("l", "slideLayout", "../layout.xml"), ("d", "diagramData", "../data.xml")
                ).replace(" Target=", f' TargetMode="{mode}" Target=')
                for i in names
            },
        }
    )


def slide(content, more=""):
    return f"<p:sld {P} {DIAGRAM} {more}><p:cSld><p:spTree>{content}</p:spTree></p:cSld></p:sld>"


def test_groups_diagrams_and_unknown_shapes_are_read_once_and_the_title_first():
    group = f"<p:grpSp><p:nvGrpSpPr/>{shape(text('in a group'))}</p:grpSp>"
    diagram = (
        '<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="d"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    ink = f'<p:contentPart xmlns:x="urn:x"><x:new>{text("of a new kind")}</x:new></p:contentPart>'
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="4" name="p" descr="A cup"/></p:nvPicPr></p:pic>'
    title = shape(text("Tea"), '<p:ph type="title"/>')
    footer = shape(text("Draft"), '<p:ph type="ftr"/>')
    document = read(deck(slide(group + diagram + ink + picture + title + footer)))
    assert blocks_of(document) == [
        ("heading", 1, "Tea"), ("paragraph", 0, "in a group"), ("figure", 0, "Boil\nPour"), ("paragraph", 0, "of a new kind"),
        ("figure", 0, "A cup"),
    ]  # fmt: skip
    assert document.metadata["left_out"] == "footers: 1; pictures: 1"


def test_links_have_their_targets_on_request():
    run = '<a:p><a:r><a:rPr><a:hlinkClick r:id="d"/></a:rPr><a:t>shop</a:t></a:r></a:p>'
    data = deck(slide(shape(run)), mode="External")
    assert read(data, links=True).text == "[shop](../data.xml)"
    assert read(data).text == "shop"


def test_items_have_the_numbers_that_are_shown():
    number = '<a:buAutoNum type="alphaLcParenR" startAt="2"/>'
    items = text("a", number) + text("b", number) + text("plain", "<a:buNone/>") + text("c", number)
    body = shape(items + text("d"), '<p:ph idx="1"/>') + shape(text("none"), '<p:ph type="body" idx="7"/>')
    assert texts_of(read(deck(slide(body)))) == ["b) a", "c) b", "plain", "b) c", "- d", "none"]


def test_hidden_slides_are_counted_or_read_and_pages_stay():
    data = deck(slide(shape(text("one")), 'show="0"'), slide(shape(text("two"))))
    document = read(data)
    assert (document.text, document.blocks[0].places[0].page) == ("two", 2)
    assert document.metadata["left_out"] == "hidden slides: 1"
    assert read(data, hidden=True).text == "one\n\ntwo"


def test_a_slide_that_is_missing_is_counted():
    data = deck(slide(shape(text("one"))), slide(shape(text("two"))))
    name = "ppt/_rels/presentation.xml.rels"
    document = read(replaced(data, name, part(data, name).replace('Id="s1"', 'Id="x"')))
    assert (document.text, document.metadata["left_out"]) == ("two", "damaged parts: 1")


def test_slides_of_open_document():
    style = (
        '<style:style style:name="Gone" style:family="drawing-page"><style:drawing-page-properties '
        'presentation:visibility="hidden"/></style:style>'
    )

    def frame(content, kind=""):
        return f'<draw:frame presentation:class="{kind}"><draw:text-box>{content}</draw:text-box></draw:frame>'

    item = "<text:list><text:list-item><text:p>Green</text:p></text:list-item></text:list>"
    notes = f"<presentation:notes>{frame('<text:p>Say hello.</text:p>', 'notes')}</presentation:notes>"
    pages = f"<draw:page>{frame(item, 'outline')}{frame('<text:p>Tea</text:p>', 'title')}{notes}</draw:page>"
    pages += f'<draw:page draw:style-name="Gone">{frame("<text:p>secret</text:p>")}</draw:page>'
    names = f'{ODF} xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    content = (
        f"<office:document-content {names}><office:automatic-styles>{style}</office:automatic-styles><office:body>"
        f"<office:presentation>{pages}</office:presentation></office:body></office:document-content>"
    )
    document = read(zipped({"mimetype": "application/vnd.oasis.opendocument.presentation", "content.xml": content}))
    assert blocks_of(document) == [
        ("heading", 1, "Tea"), ("item", 1, "- Green"), ("heading", 2, "Notes"), ("paragraph", 0, "Say hello.")
    ]  # fmt: skip
    assert document.metadata["left_out"] == "hidden slides: 1"
