"""Docling's documents are read: as JSON and as objects, and as its loaders hand them over."""

import enum
import json
import re
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.readers.pages import docling
from advchunk.readers.pages.docling import body
from advchunk.readers.pages.parsers import elements
from advchunk.records import Place
from blocks import blocks_of
from growing import check_growth

DATA = Path(__file__).parents[2] / "data"


def content(name):
    return (DATA / f"docling_{name}.json").read_text(encoding="utf-8")


REPORT = json.loads(content("report"))
LOADERS = json.loads(content("loaders"))


def made(*children, **collections):
    body = {"self_ref": "#/body", "children": [{"$ref": ref} for ref in children]}
    return {"schema_name": "DoclingDocument", "version": "1.10.0", "name": "made", "body": body, **collections}


def text(label, content, *children, **more):
    return {"label": label, "text": content, "orig": content, "children": [{"$ref": ref} for ref in children], **more}


def group(label, *children, **more):
    return {"label": label, "name": "group", "children": [{"$ref": ref} for ref in children], **more}


def cell(row, column, content, **more):
    where = {"start_row_offset_idx": row, "end_row_offset_idx": row + 1}
    return where | {"start_col_offset_idx": column, "end_col_offset_idx": column + 1, "text": content} | more


# What is read.


def test_every_kind_of_item_is_a_block_in_reading_order():
    assert blocks_of(docling.read(content("report"))) == [
        ("heading", 1, "Tea and sleep"),
        ("heading", 1, "Methods"),
        ("paragraph", 0, "We asked 120 sailors (twice) and counted 10⁹ cups, that is $c^9$; `cups.sum()` did it."),
        ("paragraph", 0, "A paragraph that runs over two pages."),
        ("heading", 2, "Kinds of tea"),
        ("item", 1, "- green"),
        ("item", 1, "- black, strong"),
        ("item", 2, "a) steeped"),
        ("item", 2, "2. cooled"),
        ("item", 2, "3. served"),
        ("item", 1, "[x] asked"),
        ("item", 1, "[ ] answered"),
        ("heading", 1, "Results"),
        (
            "table",
            0,
            "| Tea | Hours | Hours |\n| Tea | mean | sd\\|a |\n| --- | --- | --- |\n| green | 7.1 | 0.4 |\n"
            "| herbal or none | 7.9 | 7.9 |",
        ),
        ("caption", 0, "Table 1. Hours of sleep."),
        ("footnote", 0, "a Self-reported."),
        ("figure", 0, "A ship at anchor."),
        ("caption", 0, "Figure 1. The ship."),
        ("figure", 0, "Bars."),
        ("table", 0, "| day | cups |\n| --- | --- |\n| Monday | 3 |"),
        ("code", 0, '````python\nfor cup in cups:\n    print(f"```{cup}")\n````'),
        ("formula", 0, "$$s = \\frac{h}{n}$$"),
        ("formula", 0, "s = h/n"),
        ("paragraph", 0, "Name: Ada, Byron\nRank"),
        ("heading", 2, "Ship"),
        ("paragraph", 0, "Port: Split"),
        ("reference", 0, "[1] Ada. Of tea. 1840."),
    ]


def test_a_document_says_its_title_its_origin_and_its_pages():
    document = docling.read(content("report"), id="tea", metadata={"source": "shelf", "shelf": 7})
    assert document.id == "tea"
    assert document.metadata == {
        "title": "Tea and sleep",
        "page_count": 2,
        "filename": "tea.pdf",
        "mimetype": "application/pdf",
        "binary_hash": "11164038604600048225",
        "source": "shelf",
        "shelf": 7,
    }


def test_boxes_are_measured_from_the_top_left_on_every_page_of_a_block():
    places = {block.kind: block.places for block in docling.read(content("report")).blocks[1:4]}
    assert places["heading"] == (Place(1, (50.0, 80.0, 350.0, 100.0)),)
    assert places["paragraph"] == (Place(1, (50.0, 500.0, 350.0, 550.0)), Place(2, (50.0, 40.0, 350.0, 90.0)))
    joined = docling.read(content("report")).blocks[2].places  # each place of its pieces once
    assert joined == (Place(1, (50.0, 120.0, 350.0, 130.0)),)


def test_a_box_on_a_page_of_unknown_height_is_a_page_only():
    prov = [{"page_no": 3, "bbox": {"l": 1, "t": 9, "r": 5, "b": 2, "coord_origin": "BOTTOMLEFT"}}, {"page_no": 4}]
    document = docling.document(made("#/texts/0", texts=[text("text", "Tea.", prov=prov)]))
    assert document.blocks[0].places == (Place(3), Place(4))


def test_the_only_title_is_in_a_chunk_but_not_in_the_context_of_others():
    title = text("title", "Tea")
    (chunk,) = RecursiveChunker().chunk(docling.document(made("#/texts/0", texts=[title])))
    assert (chunk.text, chunk.metadata["title"]) == ("Tea", "Tea")
    document = docling.document(made("#/texts/0", "#/texts/1", texts=[title, text("text", "Green. " * 9)]))
    chunks = RecursiveChunker(max_tokens=8, include_context=True).chunk(document)
    assert {chunk.context for chunk in chunks[1:]} == {"Tea"}


def test_numbered_headings_are_below_the_first_part_of_their_numbers():
    titles = ["4 Tea", "4.1 Leaves", "4.1.1 Green", "4.2 Cups", "Outlook", "6.1 More"]
    headings = [text("section_header", title, level=1) for title in titles]
    document = docling.document(made(*(f"#/texts/{i}" for i in range(len(titles))), texts=headings))
    assert [block.level for block in document.blocks] == [1, 2, 3, 2, 1, 1]


def test_furniture_is_dropped_or_kept_where_it_stands():
    dropped, kept = (docling.read(content("report"), furniture=choice) for choice in ("drop", "keep"))
    running = [text for kind, _, text in blocks_of(kept) if kind == "furniture"]
    assert running == ["Harbour Reports 12", "2"]
    assert blocks_of(kept)[0] == ("furniture", 0, "Harbour Reports 12")
    assert [item for item in blocks_of(kept) if item[0] != "furniture"] == blocks_of(dropped)
    for layer in ("notes", "background", "invisible"):
        hidden = made("#/texts/0", texts=[text("text", "Hidden.", content_layer=layer)])
        assert docling.document(hidden, furniture="keep").text == ""


def test_the_first_schema_is_read_with_its_furniture_apart_and_titles_that_are_chapters():
    shown = [
        ("heading", 1, "One"),
        ("heading", 2, "First"),
        ("item", 1, "1. boil"),
        ("item", 1, "2. wait"),
        ("caption", 0, "Table 1. Before its table."),
        ("table", 0, "| --- | --- |\n| 1 | 2 |"),
        ("caption", 0, "Figure 1. In no tree."),
        ("heading", 1, "Cups"),
        ("paragraph", 0, "Three cups."),
        ("heading", 1, "Two"),
    ]
    document = docling.read(content("first_schema"))
    assert blocks_of(document) == shown
    assert "title" not in document.metadata
    assert document.metadata["source"] == "https://tea.test/old.html"
    kept = docling.read(content("first_schema"), furniture="keep")
    assert blocks_of(kept) == [*shown, ("furniture", 0, "Old running head"), ("furniture", 0, "Draft of 1840")]


TEA, TITLE = (
    text("text", "Tea."),
    [text("section_header", "", "#/groups/0", level=3), text("text", "Of"), text("text", "tea")],
)
PICTURE = {"label": "picture", "captions": [{"$ref": "#/texts/1"}]}
INLINE = group("inline", "#/texts/0", "#/tables/0", "#/texts/1")


def form(contents, links=(), refs=None):
    cells = [{"cell_id": i, "text": content, "item_ref": (refs or {}).get(i)} for i, content in enumerate(contents)]
    links = [{"label": "to_value", "source_cell_id": key, "target_cell_id": value} for key, value in links]
    return {"label": "form", "graph": {"cells": cells, "links": links}}


@pytest.mark.parametrize(
    ("children", "items", "expected"),
    [
        # An item of a kind that is not known yet, one that is referred to twice, and code with its indentation.
        (["#/texts/0"], {"texts": [text("haiku", "Tea.")]}, [("paragraph", 0, "Tea.")]),
        (["#/texts/0", "#/texts/0"], {"texts": [TEA]}, [("paragraph", 0, "Tea.")]),
        (
            ["#/texts/0"],
            {"texts": [text("code", "  a\n\n  b\n", code_language="unknown")]},
            [("code", 0, "```\n  a\n\n  b\n```")],
        ),
        # A heading taken apart at a bold word is one again.
        (
            ["#/texts/0"],
            {"texts": TITLE, "groups": [group("inline", "#/texts/1", "#/texts/2")]},
            [("heading", 3, "Of tea")],
        ),
        # Blocks inside inline groups follow them.
        (
            ["#/groups/0"],
            {
                "groups": [INLINE],
                "tables": [{"label": "table", "data": {"table_cells": [cell(0, 0, "7")]}}],
                "texts": [text("text", "One"), text("text", "two.")],
            },
            [("paragraph", 0, "One two."), ("table", 0, "| --- |\n| 7 |")],
        ),
        # A caption that stands elsewhere stays there.
        (
            ["#/pictures/0", "#/texts/0", "#/texts/1"],
            {"pictures": [PICTURE], "texts": [text("text", "Between."), text("text", "Figure 1.")]},
            [("paragraph", 0, "Between."), ("caption", 0, "Figure 1.")],
        ),
        # A value with two keys is read once, and so is one that is an item of its own.
        (
            ["#/form_items/0"],
            {"form_items": [form(["Name", "Ada", "Rank"], [(0, 1), (2, 1)])]},
            [("paragraph", 0, "Name: Ada\nRank")],
        ),
        (
            ["#/texts/0", "#/form_items/0"],
            {"texts": [text("text", "Ada")], "form_items": [form(["Name", "Ada"], refs={1: {"$ref": "#/texts/0"}})]},
            [("paragraph", 0, "Ada"), ("paragraph", 0, "Name")],
        ),
    ],
)
def test_items_are_read_once_at_their_place(children, items, expected):
    assert blocks_of(docling.document(made(*children, **items))) == expected


# Any tree.


LABELS = ["text", "paragraph", "section_header", "list_item", "caption", "footnote"]


@st.composite
def trees(draw):
    """A document, and its words in the order in which they are to be read."""
    doc = made(texts=[], groups=[], pictures=[])

    def add(name, below, **item):
        doc[name].append({"children": [{"$ref": ref} for ref, _ in below], **item})
        return f"#/{name}/{len(doc[name]) - 1}"

    def node(depth, kinds):
        kind = draw(st.sampled_from(kinds if depth < 4 else kinds[:1]))
        inner = ["text", "inline"] if kind == "inline" else kinds
        below = [node(depth + 1, inner) for _ in range(draw(st.integers(0, 3)) if kind != "text" or depth < 2 else 0)]
        words = [word for _, own in below for word in own]
        if kind == "picture":  # what is within it is not read, but for its caption
            caption = node(9, ["text"])
            ref = add("pictures", [*below, caption], label="picture", captions=[{"$ref": caption[0]}])
            return ref, caption[1]
        if kind != "text":
            return add("groups", below, label=kind), words
        word, layer = f"w{len(doc['texts'])}", draw(st.sampled_from(["body", "body", "body", "notes"]))
        ref = add("texts", below, label=draw(st.sampled_from(LABELS)), text=word, content_layer=layer)
        return ref, [word] * (layer == "body") + words

    nodes = [node(0, ["text", "inline", "list", "section", "picture"]) for _ in range(draw(st.integers(0, 5)))]
    doc["body"]["children"] = [{"$ref": ref} for ref, _ in nodes]
    return doc, [word for _, own in nodes for word in own]


@given(trees())
def test_any_tree_is_read_once_and_in_order_however_it_is_handed_over(tree):
    doc, words = tree
    read = docling.document(doc)
    assert re.findall(r"w\d+", read.text) == words
    ends = [0, *(edge for block in read.blocks for edge in block.span), len(read.text)]
    assert not "".join(read.text[a:b] for a, b in list(pairwise(ends))[::2]).strip()
    pointers = json.dumps(doc).replace('"$ref"', '"cref"')  # model_dump_json without by_alias
    for other in (docling.read(json.dumps(doc)), docling.read(pointers), docling.document(Exported(doc))):
        assert (other.text, other.blocks) == (read.text, read.blocks)


# What it is read from.


class Exported:
    def __init__(self, doc):
        self._doc = doc

    def export_to_dict(self):
        return self._doc


class Dumped:
    def model_dump(self, *, mode, by_alias):
        assert (mode, by_alias) == ("json", True)
        return made("#/texts/0", texts=[text("text", "Dumped.")])


class Status(enum.Enum):
    SUCCESS = "success"
    FAILURE = "failure"


class Label(str, enum.Enum):  # noqa: UP042 - as Docling has it
    HEADER = "section_header"


def test_objects_results_and_dumps_are_read():
    doc = made("#/texts/0", texts=[text("text", "Tea.")])
    result = SimpleNamespace(document=Exported(doc), status=Status.SUCCESS, errors=[])
    assert docling.document(result).text == "Tea."
    assert docling.document(Dumped()).text == "Dumped."


def test_a_dump_with_enums_and_numbers_for_keys_is_read():
    prov = [{"page_no": 1, "bbox": {"l": 1.0, "t": 9.0, "r": 5.0, "b": 2.0, "coord_origin": "BOTTOMLEFT"}}]
    doc = made("#/texts/0", texts=[text(Label.HEADER, "Tea", prov=prov, level=2)])
    read = docling.document(doc | {"pages": {1: {"size": {"width": 10.0, "height": 10.0}}}})
    assert blocks_of(read) == [("heading", 2, "Tea")]
    assert read.blocks[0].places == (Place(1, (1.0, 1.0, 5.0, 8.0)),)


def test_a_conversion_that_failed_says_why():
    error = SimpleNamespace(error_message="not a PDF")
    result = SimpleNamespace(document=Exported(made()), status=Status.FAILURE, errors=[error])
    with pytest.raises(ConfigurationError, match=r"must have converted.*not a PDF"):
        docling.document(result)
    with pytest.raises(ConfigurationError, match="the root must be an object, got a list"):
        docling.document([1])


# What its loaders hand over.


def loaded(name, place=0):
    chunk = LOADERS[name][place]
    return Document(chunk.get("page_content") or chunk["text"], metadata=chunk["metadata"])


def test_a_chunk_of_the_langchain_loader_has_its_headings_and_pages():
    document = docling.restore_layout(loaded("doc_chunks"))
    assert blocks_of(document)[:2] == [("heading", 1, "Methods"), ("heading", 2, "Kinds of tea")]
    assert {block.places for block in document.blocks} == {(Place(1), Place(2))}
    assert document.metadata == LOADERS["doc_chunks"][0]["metadata"]
    pieces = RecursiveChunker(max_tokens=16, include_context=True).chunk(document)
    assert len(pieces) > 2
    for piece in pieces[1:]:
        assert piece.metadata["title_path"] == piece.context == "Methods > Kinds of tea"
        assert piece.metadata["pages"] == [1, 2]
    assert "".join(document.text[slice(*span)] for piece in pieces for span in piece.spans) == document.text


def test_a_chunk_without_headings_is_read_as_markdown():
    document = docling.restore_layout(loaded("doc_chunks", 1))
    assert blocks_of(document) == [("paragraph", 0, "An opening without headings.")]
    assert "title_path" not in document.metadata


def test_a_node_of_the_llamaindex_parser_says_the_headings_that_its_text_does_not():
    document = docling.restore_layout(loaded("nodes"))
    assert {kind for kind, _, _ in blocks_of(document)} == {"paragraph"}
    assert (document.metadata["section"], document.metadata["title_path"]) == ("Kinds of tea", "Methods > Kinds of tea")
    assert document.blocks[0].places == (Place(1),)


def test_chunks_of_docling_are_told_from_others():
    assert docling.is_chunk(LOADERS["doc_chunks"][0]["metadata"])
    assert docling.is_chunk(LOADERS["nodes"][0]["metadata"])
    assert not docling.is_chunk(LOADERS["markdown"][0]["metadata"])
    assert not docling.is_chunk({"dl_meta": "none"})


def test_a_chunk_whose_metadata_is_broken_names_the_place():
    broken = deepcopy(LOADERS["doc_chunks"][0]["metadata"])
    broken["dl_meta"]["doc_items"][1]["prov"][0]["page_no"] = "two"
    with pytest.raises(ConfigurationError, match=r"dl_meta\.doc_items\[1\]\.prov\[0\]\.page_no must be an integer"):
        docling.restore_layout(Document("Tea.", metadata=broken))


# What is refused.


@pytest.mark.parametrize(
    ("given_text", "error"),
    [
        ('{"schema_name":\n oops}', "JSON must be well-formed: Expecting value, at line 2, column 2"),
        ("[]", "the root must be an object, got a list"),
        ("[" * 100_000, "JSON must not be nested so deeply"),
        ('{"a": ' + "9" * 5000 + "}", "JSON must be well-formed: Exceeds the limit"),
        ('{"a": [' + "0," * 2_000_001 + "0]}", "JSON must have at most 2,000,000 values"),
        ("{}", "schema DoclingDocument 1.x, got JSON without schema_name"),
        ('{"schema_name": "DoclingDocument", "version": "2.0.0"}', "1.x, got DoclingDocument 2.0.0"),
        ('{"schema_name": "DoclingDocument", "version": "10.0.0"}', "1.x, got DoclingDocument 10.0.0"),
        ('{"schema_name": "DoclingDocument"}', "1.x, got DoclingDocument"),
        ('{"schema_name": "DocTags", "version": "1.0.0"}', "1.x, got DocTags 1.0.0"),
        ('{"_name": "", "type": "pdf-document", "main-text": []}', "Docling's first format"),
    ],
)
def test_documents_of_other_schemas_get_one_clear_error(given_text, error):
    with pytest.raises(ConfigurationError, match=re.escape(error)):
        docling.read(given_text)


def changed(path, value):
    """Return the report with another value at a path."""

    def put(node, path):
        if not path:
            return value
        copied = dict(node) if isinstance(node, dict) else list(node)
        copied[path[0]] = put(node[path[0]], path[1:])
        return copied

    return put(REPORT, path)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (["texts"], {}, "texts must be a list, got an object"),
        (["texts", 3], "x", "texts[3] must be an object, got 'x'"),
        (["texts", 2, "level"], True, "texts[2].level must be an integer, got True"),
        (["texts", 2, "text"], 7, "texts[2].text must be a string, got 7"),
        (["texts", 2, "prov", 0, "bbox", "l"], float("nan"), "texts[2].prov[0].bbox.l must be a number, got 'nan'"),
        (["texts", 2, "prov", 0, "bbox", "l"], 10**400, "texts[2].prov[0].bbox.l must be a number"),
        (["texts", 2, "prov", 0, "page_no"], 1.5, "texts[2].prov[0].page_no must be an integer"),
        (["body", "children", 0], {"$ref": "#/texts/999"}, "body.children[0] must refer to an item"),
        (["body", "children", 0], {}, "body.children[0] must refer to an item of the document, got ''"),
        (["groups", 1, "children", 0], {"$ref": "#/groups/1"}, "an item must not contain itself, got '#/groups/1'"),
        (["groups", 3, "children", 0], {"$ref": "#/groups/1"}, "an item must not contain itself, got '#/groups/"),
        (["groups", 1, "children", 0], {"$ref": "#/body"}, "an item must not contain itself, got '#/"),
        (["tables", 0, "data", "table_cells", 2, "start_row_offset_idx"], -1, "must have rows and columns >= 0"),
        (["tables", 0, "data", "table_cells", 2, "end_row_offset_idx"], 10**12, "tables must have at most 25,000,000"),
        (["tables", 0, "data", "table_cells", 7, "ref", "$ref"], "#/groups/99", "table_cells[7].ref must refer"),
    ],
)
def test_errors_in_a_document_name_the_path(path, value, error):
    with pytest.raises(ConfigurationError, match=re.escape(error)):
        docling.document(changed(path, value))


def paths(value, at=()):
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from paths(item, (*at, key))


@pytest.mark.parametrize("value", [7, "x", [], {}, None, True, [7], {"$ref": "#/body"}], ids=repr)
def test_any_wrong_value_anywhere_is_read_or_refused(value):
    every = {tuple(part for part in path if isinstance(part, str)): path for path in paths(REPORT) if path}
    assert len(every) > 50
    for path in every.values():  # one of each kind, whatever its places in lists
        try:
            document = docling.document(changed(path, value))
        except ConfigurationError:
            continue
        assert isinstance(document.text, str)


def test_tables_may_not_be_larger_together_than_any_real_ones(monkeypatch):
    monkeypatch.setattr(elements, "MAX_TABLE_LENGTH", 250)
    table = {"label": "table", "data": {"table_cells": [cell(0, 0, "x", end_row_offset_idx=10)]}}
    refs = [f"#/tables/{i}" for i in range(3)]
    assert docling.document(made(*refs[:2], tables=[table] * 2)).text
    with pytest.raises(ConfigurationError, match=r"at tables\[2\]\.data"):
        docling.document(made(*refs, tables=[table] * 3))


def test_a_document_has_no_more_items_than_any_real_one(monkeypatch):
    monkeypatch.setattr(body, "MAX_ITEMS", 3)
    with pytest.raises(ConfigurationError, match="at most 3 items"):
        docling.document(made(texts=[text("text", "Tea.")] * 4))


def test_the_choice_of_furniture_is_checked():
    with pytest.raises(ConfigurationError, match="'drop' or 'keep'"):
        docling.read(content("report"), furniture="hide")


def test_a_tree_may_be_as_deep_as_it_likes():
    many = 20_000
    groups = [group("section", f"#/groups/{i + 1}") for i in range(many - 1)] + [group("section", "#/texts/0")]
    assert docling.document(made("#/groups/0", groups=groups, texts=[text("text", "Tea.")])).text == "Tea."


def test_shared_items_are_read_once_and_quickly():
    groups = [group("section", *[f"#/groups/{i + 1}"] * 3) for i in range(60)] + [group("section", "#/texts/0")]
    assert docling.document(made("#/groups/0", groups=groups, texts=[text("text", "Tea.")])).text == "Tea."


def test_time_grows_with_the_number_of_paragraphs_and_cells():
    box = {"l": 1.0, "t": 9.0, "r": 5.0, "b": 2.0, "coord_origin": "BOTTOMLEFT"}

    def file(n):
        lines = [text("text", "The sailors drank tea.", prov=[{"page_no": 1, "bbox": box}]) for _ in range(n)]
        row = [
            cell(i // 10, i % 10, "7.1", bbox=box, row_span=1, col_span=1, column_header=i < 10) for i in range(2 * n)
        ]
        refs = [f"#/texts/{i}" for i in range(n)]
        doc = made(*refs, "#/tables/0", texts=lines, tables=[{"label": "table", "data": {"table_cells": row}}])
        return json.dumps(doc | {"pages": {"1": {"size": {"width": 10, "height": 10}}}})

    assert len(docling.read(file(500)).blocks) == 501
    check_growth(docling.read, file, 500)
