"""Write small results of other parsers into tests/data/parsers, with the classes of these parsers.

They need an environment of their own, because some of the parsers are large, and the tests read what is written::

    pip install -e . azure-ai-documentintelligence unstructured llama-cloud beautifulsoup4 docvortex pydantic-settings
    pip install --no-deps llama-cloud-services mineru marker-pdf pdftext markdownify
    python tools/parser_results.py [NAME]...

llama-cloud-services asks for an older llama-cloud: run ``llamaparse`` with that.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "parsers"
TABLE = "<table><tr><th>Tea</th><th colspan='2'>Hours</th></tr><tr><td>green</td><td>7.1</td><td>0.4</td></tr></table>"


def unstructured() -> dict[str, Any]:
    """Return the elements of two pages with boxes."""
    elements = import_module("unstructured.documents.elements")
    system = import_module("unstructured.documents.coordinates").PixelSpace(width=1700, height=2200)
    staging = import_module("unstructured.staging.base")

    def place(number: int, top: float) -> dict[str, Any]:
        corners = ((100, top), (100, top + 50), (900, top + 50), (900, top))
        coordinates = elements.CoordinatesMetadata(points=corners, system=system)
        return {"metadata": elements.ElementMetadata(filename="tea.pdf", page_number=number, coordinates=coordinates)}

    boxes = [
        elements.Header("Tea Journal", **place(1, 10)),
        elements.Title("Tea and sleep", **place(1, 100)),
        elements.NarrativeText("We asked 120 sailors about tea.", **place(1, 200)),
        elements.ListItem("green", **place(1, 300)),
        elements.CheckBox(checked=True, **place(1, 350)),
        elements.Formula("E = mc^2", **place(1, 400)),
        elements.PageBreak(""),
        elements.Title("Results", **place(2, 100)),
        elements.Table("Tea Hours green 7.1 0.4", **place(2, 200)),
        elements.FigureCaption("Figure 1: a cup.", **place(2, 400)),
        elements.CodeSnippet("brew(80)\n  .pour()", **place(2, 500)),
        elements.Footer("2", **place(2, 2100)),
    ]
    for i, element in enumerate(boxes):
        element.id_to_hash(i)
    boxes[1].metadata.category_depth = 0
    boxes[7].metadata.category_depth = 1
    boxes[8].metadata.text_as_html = TABLE
    return {"unstructured": json.loads(staging.elements_to_json(boxes))}


def mineru() -> dict[str, Any]:
    """Return the contents that MinerU's renderer writes of its own document."""
    types = import_module("mineru.types")

    def block(kind: str, content: Any, top: float, **more: Any) -> dict[str, Any]:
        is_text = isinstance(content, str) and kind not in {"equation", "table_body", "image_body", "code_body"}
        content = [{"type": "text", "content": content}] if is_text else content
        return {"type": kind, "content": content, "bbox": [0.1, top, 0.9, top + 0.05], "index": int(top * 100), **more}

    first = [
        block("header", "Tea Journal", 0.01),
        block("doc_title", "Tea and sleep", 0.1, level=1),
        block("text", "We asked 120 sailors about tea.", 0.2),
        block("list", [block("text", "green", 0.3), block("text", "black", 0.35)], 0.3, sub_type="text"),
        block("equation", "E = mc^2", 0.4),
        block("page_footnote", "1 By letter.", 0.9),
    ]
    second = [
        block("paragraph_title", "Results", 0.1, level=2),
        block(
            "table",
            [
                block("table_caption", "Table 1: sleep.", 0.2),
                block("table_body", TABLE, 0.2),
                block("table_footnote", "In hours.", 0.35),
            ],
            0.2,
        ),
        block(
            "image", [block("image_body", "A cup of tea.", 0.5), block("image_caption", "Figure 1: a cup.", 0.6)], 0.5
        ),
        block("code", [block("code_body", "brew(80)\n  .pour()", 0.7)], 0.7, sub_type="code", guess_lang="txt"),
        block("page_number", "2", 0.95),
    ]
    pages = [{"page_idx": i, "blocks": parts} for i, parts in enumerate((first, second))]
    metadata = {"file_suffix": "pdf", "producer": {"name": "advchunk", "version": "1"}}
    own = {"schema": "docvortex.middle", "is_full_document": True, "metadata": metadata}
    middle = types.MiddleJson.model_validate({**own, "pages": pages})
    return {"mineru_content_list": import_module("mineru.render.content_list").render_content_list(middle)}


def llamaparse() -> dict[str, Any]:
    """Return a result of the first version of the API, or of the second, by the classes that are installed."""
    box = {"x": 72.0, "y": 100.0, "w": 400.0, "h": 20.0}
    rows, md = [["Tea", "Hours"], ["green", "7.1"]], "| Tea | Hours |\n| --- | --- |\n| green | 7.1 |"
    try:
        job_result = import_module("llama_cloud_services.parse.types").JobResult
    except ImportError:
        place = {"bbox": [box]}
        items = [
            {"type": "header", "md": "Tea Journal", "items": [], **place},
            {"type": "heading", "level": 1, "md": "# Tea and sleep", "value": "Tea and sleep", **place},
            {"type": "text", "md": "We asked **120** sailors.", "value": "We asked 120 sailors.", **place},
            {"type": "list", "md": "- green\n- black", "ordered": False, "items": [], **place},
        ]
        table = {"type": "table", "md": md, "rows": rows, "html": TABLE, "csv": "Tea,Hours\ngreen,7.1", **place}
        code = {"type": "code", "md": "```\nbrew(80)\n```", "value": "brew(80)", "language": "", **place}
        image = {"type": "image", "md": "![a cup](cup.png)", "caption": "a cup", "url": "cup.png", **place}
        size = {"page_width": 612.0, "page_height": 792.0, "success": True}
        pages: list[dict[str, Any]] = [
            {"page_number": 1, "items": items, **size},
            {"page_number": 2, "items": [table, code, image], **size},
            {"page_number": 3, "success": False, "error": "timed out"},
        ]
        response = import_module("llama_cloud.types").ParsingGetResponse
        job = {"id": "1", "project_id": "2", "status": "COMPLETED"}
        result = response.model_validate({"job": job, "items": {"pages": pages}})
        return {"llamaparse_v2": result.model_dump(mode="json", exclude_none=True)}
    items = [
        {"type": "heading", "lvl": 1, "value": "Tea and sleep", "md": "# Tea and sleep", "bBox": box},
        {"type": "text", "value": "We asked 120 sailors.", "md": "We asked **120** sailors.", "bBox": box},
        {"type": "table", "rows": rows, "md": md, "isPerfectTable": True, "csv": "Tea,Hours", "bBox": box},
    ]
    pages = [
        {"page": 1, "text": "Tea and sleep", "md": "# Tea and sleep", "items": items, "width": 612, "height": 792},
        {"page": 2, "text": "Results", "md": "## Results\n\nThey slept.", "items": []},
    ]
    result = job_result(job_id="1", file_name="tea.pdf", job_result={"pages": pages, "job_metadata": {"job_pages": 2}})
    return {"llamaparse_v1": result.model_dump(mode="json", exclude_none=True)}


def marker() -> dict[str, Any]:
    """Return what Marker's two renderers of JSON write."""
    schema, blocks = import_module("marker.schema.document"), import_module("marker.schema.registry")
    types, polygon = import_module("marker.schema").BlockTypes, import_module("marker.schema.polygon").PolygonBox
    pages = []

    def shape(top: float, height: float = 20.0) -> Any:
        return polygon.from_bbox([72.0, top, 540.0, top + height])

    for number in range(2):
        page = blocks.get_block_class(types.Page)(
            page_id=number, polygon=polygon.from_bbox([0, 0, 612, 792]), block_description="", structure=[], children=[]
        )
        pages.append(page)

    def add(number: int, kind: Any, top: float, inside: list[Any] | None = None, **fields: Any) -> Any:
        page = pages[number]
        block = page.add_block(blocks.get_block_class(kind), shape(top))
        for name, value in fields.items():
            setattr(block, name, value)
        block.structure = [child.id for child in inside] if inside else None
        page.structure = [ref for ref in page.structure if ref not in (block.structure or [])] + [block.id]
        return block

    add(0, types.PageHeader, 10, html="<p>Tea Journal</p>")
    add(0, types.SectionHeader, 100, html="<h1>Tea and sleep</h1>", heading_level=1)
    add(0, types.Text, 200, html="<p>We asked 120 sailors, <math>10^9</math> cups.</p>")
    items = [add(0, types.ListItem, 300 + 20 * i, html=f"<li>{text}</li>") for i, text in enumerate(("green", "black"))]
    add(0, types.ListGroup, 300, items)
    add(0, types.Equation, 400, html='<math display="block">E = mc^2</math>')
    add(1, types.SectionHeader, 100, html="<h2>Results</h2>", heading_level=2)
    caption = add(1, types.Caption, 200, html="<p>Table 1: sleep.</p>")
    table = add(1, types.Table, 220, html=TABLE)
    add(1, types.TableGroup, 200, [caption, table])
    add(1, types.Code, 400, code="brew(80)\n  .pour()")
    add(1, types.Footnote, 700, html="<p>1 By letter.</p>")
    document = schema.Document(filepath="tea.pdf", pages=pages, table_of_contents=[])
    renderers = {"json": ("json", "JSONRenderer"), "chunks": ("chunk", "ChunkRenderer")}
    written = dict[str, Any]()
    for name, (module, renderer) in renderers.items():
        render = getattr(import_module(f"marker.renderers.{module}"), renderer)({"extract_images": False})
        written[f"marker_{name}"] = render(document).model_dump(mode="json")
    return written


def azure() -> dict[str, Any]:
    """Return a result whose content is text, and one in Markdown."""
    models = import_module("azure.ai.documentintelligence.models")
    rows = [("Tea", "Hours", "Hours"), ("green", "7.1", "0.4")]
    paragraphs = [
        ("pageHeader", "Tea Journal"), ("title", "Tea and sleep \U0001f375"), ("", "We asked 120 sailors about tea."),
        ("sectionHeading", "Results"), ("", "Table 1: sleep."), ("", "Tea"), ("", "Hours"), ("", "green"), ("", "7.1"),
        ("", "0.4"), ("footnote", "1 By letter."), ("pageFooter", "2"),
    ]  # fmt: skip
    written = dict[str, Any]()
    for form, unit in (("text", "utf16CodeUnit"), ("markdown", "unicodeCodePoint")):
        marks = {"pageHeader": '<!-- PageHeader="{}" -->', "pageFooter": '<!-- PageFooter="{}" -->', "title": "# {}"}
        marks["sectionHeading"] = "## {}"
        content, items, cells, table_start = "", list[dict[str, Any]](), list[dict[str, Any]](), 0

        def length(text: str, unit: str = unit) -> int:
            return len(text.encode("utf-16-le")) // 2 if unit == "utf16CodeUnit" else len(text)

        for i, (role, text) in enumerate(paragraphs):
            source = marks.get(role, "{}").format(text) if form == "markdown" else text
            if form == "markdown" and i == 5:
                table_start, content = length(content), content + "<table>\n<tr>\n"
            inner = source
            if form == "markdown" and 5 <= i <= 9:
                name = "th" if i < 7 else "td"
                span = " colspan=2" if i == 6 else ""
                before, after = f"<{name}{span}>", f"</{name}>\n" + ("</tr>\n<tr>\n" if i == 6 else "")
                content += before
            else:
                before, after = "", "\n" if form == "text" else "\n\n"
            table_start = length(content) if form == "text" and i == 5 else table_start
            page = 1 if i < 3 else 2
            region = {"pageNumber": page, "polygon": [1, 1 + i / 2, 7, 1 + i / 2, 7, 1.3 + i / 2, 1, 1.3 + i / 2]}
            spans = [{"offset": length(content), "length": length(inner)}]
            item = {"spans": spans, "boundingRegions": [region], "content": text}
            items.append({**item, "role": role} if role else item)
            content += inner + after
            if 5 <= i <= 9:
                place = {"rowIndex": int(i > 6), "columnIndex": (i - 5) if i < 7 else i - 7}
                kind = {"kind": "columnHeader"} if i < 7 else {}
                cells.append(
                    {**kind, **place, **({"columnSpan": 2} if i == 6 else {}), **item, "elements": [f"/paragraphs/{i}"]}
                )
            if i == 9:
                table_end = length(content)
                content += "</tr>\n</table>\n\n" if form == "markdown" else ""
        caption = {"content": "Table 1: sleep.", "spans": items[4]["spans"], "elements": ["/paragraphs/4"]}
        table = {
            "rowCount": len(rows), "columnCount": 3, "cells": cells, "caption": caption,
            "boundingRegions": [{"pageNumber": 2, "polygon": [1, 3, 7, 3, 7, 5, 1, 5]}],
            "spans": [{"offset": table_start, "length": table_end - table_start}],
        }  # fmt: skip
        sections = [
            {"spans": [], "elements": ["/sections/1"]},
            {"spans": [], "elements": ["/paragraphs/1", "/paragraphs/2", "/sections/2"]},
            {"spans": [], "elements": ["/paragraphs/3", "/tables/0"]},
        ]
        pages: list[dict[str, object]] = [
            {"pageNumber": n, "unit": "inch", "width": 8.5, "height": 11, "spans": []} for n in (1, 2)
        ]
        result = models.AnalyzeResult(
            {
                "apiVersion": "2024-11-30", "modelId": "prebuilt-layout", "stringIndexType": unit, "contentFormat": form,  # noqa: E501
                "content": content, "pages": pages, "paragraphs": items, "tables": [table], "sections": sections,
            }
        )  # fmt: skip
        written[f"azure_{form}"] = result.as_dict()
    return written


def loaders() -> dict[str, Any]:
    """Return what loaders of LangChain and readers of LlamaIndex return: pages of a PDF, elements, and a result of
    Azure.
    """
    community, reader = import_module("langchain_community.document_loaders"), import_module("llama_index.core")
    elements = json.loads(Path(FOLDER, "unstructured.json").read_text(encoding="utf-8"))
    response = SimpleNamespace(status_code=200, raw_response=SimpleNamespace(text=json.dumps(elements)))
    client = SimpleNamespace(general=SimpleNamespace(partition=lambda **_: response))
    parsers = import_module("langchain_community.document_loaders.parsers.doc_intelligence")
    parser = object.__new__(parsers.AzureAIDocumentIntelligenceParser)  # which would need a key
    models = import_module("azure.ai.documentintelligence.models")
    result = models.AnalyzeResult(json.loads(Path(FOLDER, "azure_markdown.json").read_text(encoding="utf-8")))
    staging, own = import_module("unstructured.staging.base"), import_module("llama_index.readers.file")
    with TemporaryDirectory() as folder:
        path = Path(folder, "tea.pdf")
        paper = import_module("pdfs").Paper()
        paper.page().lines(72, 72, ["Tea and sleep", "We asked 120 sailors about tea."]).page().text(
            72, 72, "They slept."
        )
        path.write_bytes(paper.data())
        single = import_module("langchain_unstructured.document_loaders")._SingleDocumentLoader
        langchain = {
            "pypdf": community.PyPDFLoader(path).load(),
            "unstructured": list(single(path, client=client, partition_via_api=True).lazy_load()),
            "azure": list(parser._generate_docs_single(result)),
        }
        llama_index = {
            "pdf": reader.SimpleDirectoryReader(input_files=[path]).load_data(),
            "unstructured": own.UnstructuredReader()._create_documents(
                staging.elements_from_dicts(elements), None, None, True, None
            ),
        }
    written: dict[str, Any] = {
        name: [part.model_dump(mode="json") for part in parts] for name, parts in langchain.items()
    }
    written |= {f"llama_index_{name}": [part.to_dict() for part in parts] for name, parts in llama_index.items()}
    return {"loaders": json.loads(json.dumps(written).replace(folder, "docs"))}


if __name__ == "__main__":
    sys.path.append(str(FOLDER.parents[1]))
    FOLDER.mkdir(exist_ok=True)
    for made in sys.argv[1:] or ["unstructured", "mineru", "llamaparse", "marker", "azure", "loaders"]:
        for stem, value in globals()[made]().items():
            text = json.dumps(value, ensure_ascii=False)
            Path(FOLDER, f"{stem}.json").write_text(f"{text}\n", encoding="utf-8")
            print(stem)
