"""Read Docling's documents from JSON, objects, or chunks made by its loaders.

The body is read in its own order:

- a single title is the document's, and a heading that is not repeated in the context of chunks; several (slides, pages)
  are headings above all others; a numbered heading is below that of its number's first part ("4.1" below "4");
- list items have markers and levels; ticked boxes are ``[x]``;
- parts of a paragraph are joined, without markup except superscripts (10⁹) and the ``$`` and backticks of formulas and
  code;
- spans of tables are filled; the text of a cell is in the table only, even if Docling repeats it;
- pictures have captions, footnotes and, where a model added them, a description and chart data, but no text within
  them;
- forms and fields are lines, ``key: value``; sheets of a workbook are headed by their names;
- page headers and footers are dropped or kept; watermarks, hidden text and speakers' notes are always dropped.

The format is ``DoclingDocument`` of docling-core 2.104 (schema 1.10).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from advchunk.errors import ConfigurationError, require
from advchunk.readers import markdown
from advchunk.readers.json import Object
from advchunk.readers.pages.docling.body import Body, read_places
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter
from advchunk.readers.writing import Furniture
from advchunk.records import Block, BlockKind, Document, Span, write_metadata


def document(
    doc: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read a ``DoclingDocument``, a ``ConversionResult``, or an exported dict, of any schema 1.x, as `read` does.

    The metadata has ``title``, ``filename``, ``mimetype``, ``binary_hash``, ``source`` (its address, else the file
    name) and ``page_count``. Raise `ConfigurationError` if the conversion failed, or the document has another schema or
    is larger than any real one; with the path, for a wrong type, a dangling reference, or an item that contains itself.
    """
    if hasattr(doc, "document"):
        status = getattr(doc, "status", "success")
        errors = [str(getattr(error, "error_message", error)) for error in getattr(doc, "errors", ())]
        failed = getattr(status, "value", status) in {"failure", "skipped"}
        require(not failed, "Docling must have converted the document", errors or status)
        doc = doc.document
    return read(doc, id=id, metadata=metadata, furniture=furniture)


def _write(root: Object, writer: ElementWriter) -> Document:
    schema, version = root.text("schema_name"), root.text("version")
    if schema != "DoclingDocument" or version.partition(".")[0] != "1":
        legacy = "one of Docling's first format (main-text), which Docling 2 no longer writes"
        actual = legacy if "main-text" in root else f"{schema} {version}".strip() or "JSON without schema_name"
        msg = f"a Docling document must be of schema DoclingDocument 1.x, got {actual}"
        raise ConfigurationError(msg)
    return Body(root, writer).document()


read = ElementReader("docling", _write).read


def is_chunk(metadata: Mapping[str, Any]) -> bool:
    """Return True for the metadata of a chunk by Docling's LangChain loader (``dl_meta``) or LlamaIndex parser."""
    meta = metadata.get("dl_meta", metadata)
    return isinstance(meta, Mapping) and meta.get("schema_name") == "docling_core.transforms.chunker.DocMeta"


def restore_layout(chunk: Document) -> Document | None:
    """Return a chunk made by Docling with its layout, so that it can be split again; None for any other document.

    Headings and captions, which Docling's loader puts before the text, one per line, become blocks above every piece;
    where missing, they are those in the metadata. Every block has the pages of the whole chunk, and boxes only if they
    are measured from the top, because the height of the page is unknown.
    """
    if not is_chunk(chunk.metadata):
        return None
    key = "dl_meta" if "dl_meta" in chunk.metadata else "metadata"
    meta = Object(dict(chunk.metadata.get("dl_meta", chunk.metadata)), key=key)
    places = tuple(dict.fromkeys(place for item in meta.objects("doc_items") for place in read_places(item, {})))
    headings, captions = ([text for text in meta.texts(key) if text.strip()] for key in ("headings", "captions"))
    leading: list[tuple[BlockKind, int, str]] = [("heading", level, text) for level, text in enumerate(headings, 1)]
    leading += [("caption", 0, text) for text in captions]
    blocks, start = list[Block](), 0
    for kind, level, text in leading:
        if not chunk.text.startswith(f"{text}\n", start):
            break
        blocks.append(Block(kind, Span(start, start + len(text)), level))
        start += len(text) + 1
    inherited = {"section": headings[-1], "title_path": " > ".join(headings)} if headings and not blocks else {}
    blocks += [block.moved(start) for block in markdown.blocks(chunk.text[start:])]
    layout = tuple(replace(block, places=places, parts=()) for block in blocks)
    return replace(chunk, blocks=layout, metadata=write_metadata(chunk.metadata, inherited))
