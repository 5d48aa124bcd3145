"""Read Docling's documents: their JSON, the objects themselves, files by way of its converter, and chunks of its loaders.

The body is read in its own order. Of what Docling finds, this stands in the text:

- a title is the document's, if there is but one; several (slides, pages with many) are headings above all others;
- lists have their markers, and level as deep as they are nested; ticked boxes are ``[x]``;
- what Docling took apart at a bold word or a link (its inline groups) is one paragraph again; the markup itself is not
  kept, but for raised digits (10⁹) and the ``$`` and backticks of formulas and code;
- tables have their spans written out; a cell's text is in the table alone, where Docling has it a second time;
- pictures have their description, and the data of charts, where a model gave them, and captions and footnotes; what is
  written inside a picture is left out, as in Docling's own exports, and a picture without any of these is not there;
- forms and fields are lines, ``key: value``; sheets of a workbook are headed by their names;
- page headers and footers are left out, or kept if asked for; so are watermarks, hidden text and speakers' notes, always.

References
----------
docling-core 2.104, ``DoclingDocument`` (schema 1.10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from os import PathLike, fspath
from typing import Any

from advchunk.errors import ConfigurationError, import_extra, require
from advchunk.readers import json, markdown
from advchunk.readers.docling.body import Body, places
from advchunk.readers.json import Object
from advchunk.readers.writing import Furniture
from advchunk.records import Block, BlockKind, Document, Span

_CHUNK = "docling_core.transforms.chunker.DocMeta"


def read(
    text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read the JSON of a document: what ``export_to_dict`` and ``save_as_json`` write, of any schema 1.x.

    It gives ``title``, and of its origin ``filename``, ``mimetype``, ``binary_hash``, ``source`` (its address, else the
    file's name) and ``page_count`` as metadata, as far as it has them; and blocks their places on paper.

    Parameters
    ----------
    id : names the document.
    metadata : overrides what the document says.
    furniture : whether page headers and footers are left out, or are blocks of the text.

    Raises
    ------
    ConfigurationError : JSON that cannot be read, or of another schema; a value of another type, a reference to nothing
        or an item below itself, with its path; or more of it than any real document has.

    >>> said = {"self_ref": "#/texts/0", "label": "text", "text": "Weight fell."}
    >>> body = {"self_ref": "#/body", "children": [{"$ref": "#/texts/0"}]}
    >>> document({"schema_name": "DoclingDocument", "version": "1.10.0", "name": "a", "body": body, "texts": [said]}).text
    'Weight fell.'
    >>> read('{"schema_name": "DoclingDocument", "version": "2.0.0"}')
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: a Docling document must be of schema DoclingDocument 1.x, got DoclingDocument 2.0.0
    """
    return _document(json.parse(text), id, metadata, furniture)


def document(
    doc: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read a ``DoclingDocument``, the ``ConversionResult`` that holds one, or the dict it is exported to; see `read`.

    Raises
    ------
    ConfigurationError : as `read`; also a conversion that failed, and what is none of these.
    """
    if hasattr(doc, "document"):
        status = getattr(doc, "status", "success")
        errors = [str(getattr(error, "error_message", error)) for error in getattr(doc, "errors", ())]
        failed = getattr(status, "value", status) in {"failure", "skipped"}
        require(not failed, "Docling must have converted the document", errors or status)
        doc = doc.document
    if hasattr(doc, "export_to_dict"):
        doc = doc.export_to_dict()
    elif hasattr(doc, "model_dump"):
        doc = doc.model_dump(mode="json", by_alias=True)
    require(
        isinstance(doc, dict), "a Docling document must be a DoclingDocument, a ConversionResult or a dict", type(doc)
    )
    return _document(Object(doc), id, metadata, furniture)


def convert(
    source: str | PathLike[str] | bytes,
    *,
    name: str = "",
    converter: Any = None,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    furniture: Furniture = "drop",
    **options: Any,
) -> Document:
    """Convert a file with Docling, which is not installed with this library, and read what it found; see `read`.

    Parameters
    ----------
    source : path or address of a file that Docling reads (PDF, DOCX, PPTX, HTML, images ...), or what is in it.
    name : the name of the file, for bytes: Docling tells their format by its suffix.
    converter : a ``DocumentConverter``; None is one with Docling's settings, which loads models.
    options : given to its ``convert``, as ``page_range`` or ``max_num_pages``.

    Raises
    ------
    MissingExtra : Docling is not installed.
    ConfigurationError : as `document`; bytes without a name. What Docling itself raises is passed on.
    """
    if converter is None:
        converter = import_extra("docling.document_converter", "docling").DocumentConverter()
    if isinstance(source, bytes):
        require(bool(name), "name must be that of the file whose bytes are given, with its suffix", name)
        stream = import_extra("docling.datamodel.base_models", "docling").DocumentStream
        result = converter.convert(stream(name=name, stream=BytesIO(source)), **options)
        said = {"source": name}
    else:
        result = converter.convert(fspath(source), **options)
        said = {"source": fspath(source)}
    return document(result, id=id, metadata={**said, **(metadata or {})}, furniture=furniture)


def is_chunk(metadata: Mapping[str, Any]) -> bool:
    """Tell the metadata of a chunk that Docling made: by its LangChain loader (``dl_meta``) or its LlamaIndex parser."""
    said = metadata.get("dl_meta", metadata)
    return isinstance(said, Mapping) and said.get("schema_name") == _CHUNK


def chunk(given: Document) -> Document:
    r"""Return a chunk that Docling made, with its layout: it is about to be cut again.

    Docling's loader puts headings and captions before the text of each chunk, one a line. Where they are found there they
    are blocks, so that they head every piece; else ``section`` and ``title_path`` of the metadata say them. Every block
    has the pages of the whole chunk, for Docling does not say which has which; a box only if it is measured from the top,
    since the height of the page is not known. The text stays as it is, and so does the rest of the metadata.

    >>> meta = {"schema_name": "docling_core.transforms.chunker.DocMeta", "headings": ["Results"],
    ...         "doc_items": [{"label": "text", "prov": [{"page_no": 3}]}]}
    >>> [block.kind for block in chunk(Document("Results\nWeight fell.", metadata={"dl_meta": meta})).blocks]
    ['heading', 'paragraph']
    """
    said = given.metadata.get("dl_meta", given.metadata)
    meta = Object(dict(said), key="dl_meta" if "dl_meta" in given.metadata else "metadata")
    standing = [place for item in meta.objects("doc_items") for place in places(item, {})]
    headings = _texts(meta, "headings")
    leading: list[tuple[BlockKind, int, str]] = [("heading", level, each) for level, each in enumerate(headings, 1)]
    leading += [("caption", 0, each) for each in _texts(meta, "captions")]
    blocks, at = list[Block](), 0
    for kind, level, each in leading:
        if not given.text.startswith(f"{each}\n", at):
            break
        blocks.append(Block(kind, Span(at, at + len(each)), level))
        at += len(each) + 1
    rest = (replace(b, span=Span(b.span.start + at, b.span.end + at)) for b in markdown.blocks(given.text[at:]))
    layout = tuple(replace(block, places=tuple(dict.fromkeys(standing))) for block in [*blocks, *rest])
    inherited = {"section": headings[-1], "title_path": " > ".join(headings)} if headings and not blocks else {}
    return replace(given, blocks=layout, metadata={**inherited, **given.metadata})


def _texts(meta: Object, key: str) -> list[str]:
    return [each for each in meta.texts(key) if each.strip()]


def _document(root: Object, id: str, metadata: Mapping[str, Any] | None, furniture: str) -> Document:
    require(furniture in {"drop", "keep"}, "furniture must be 'drop' or 'keep'", furniture)
    schema, version = root.text("schema_name"), root.text("version")
    if schema != "DoclingDocument" or version.partition(".")[0] != "1":
        legacy = "one of Docling's first format (main-text), which Docling 2 no longer writes"
        got = legacy if "main-text" in root else f"{schema} {version}".strip() or "JSON without schema_name"
        msg = f"a Docling document must be of schema DoclingDocument 1.x, got {got}"
        raise ConfigurationError(msg)
    return Body(root, keeps_furniture=furniture == "keep").document(id, metadata or {})
