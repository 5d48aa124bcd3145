"""A reader of LlamaIndex for files of any format, folders and archives, which reads chunks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import BaseNode, Document

from advchunk import AutoChunker
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.errors import require
from advchunk.readers.writing import Content, check_content
from advchunk.records import write_metadata
from llamaindex_advchunk.base import AdvchunkNodeParser, chunk_spans
from llamaindex_advchunk.node_parsers import node_parser_class


class AdvchunkReader(BaseReader):
    r"""Reads the chunks of files, folders and archives as documents.

    Files are read with their layout, which text alone does not have; so they are parsed as they are read
    (`AdvchunkNodeParser.lazy_nodes_from_files`, `advchunk.chunk_files`). Index the documents as they are.

    Parameters
    ----------
    parser : parses them; None is ``AutoNodeParser()``, which takes the chunker for each format.
    encoding, content : of texts, and of web pages; see `advchunk.read_file`.

    Raises
    ------
    ConfigurationError : ``parser`` is not a node parser of ours.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tea.md").write_text("# Tea\n\nGreen tea is steamed.")
    ...     [chunk.metadata["section"] for chunk in AdvchunkReader().load_data(folder)]
    ['Tea']
    """

    def __init__(
        self, parser: AdvchunkNodeParser | None = None, *, encoding: str | None = None, content: Content = "all"
    ) -> None:
        rule = "parser must be a node parser of llamaindex_advchunk"
        require(parser is None or isinstance(parser, AdvchunkNodeParser), rule, parser)
        require(encoding is None or isinstance(encoding, str), "encoding must be the name of one, or None", encoding)
        check_content(content)
        self._parser = parser or node_parser_class(AutoChunker)()
        self._options: dict[str, Any] = {"encoding": encoding, "content": content}

    def lazy_load_data(self, paths: str | Path | Iterable[str | Path], **_: Any) -> Iterable[Document]:
        """Yield a document for each chunk of a path or several; folders and archives stand for the files in them."""
        for node in self._parser.lazy_nodes_from_files(paths, **self._options):
            yield _with_spans(Document.from_dict(node.to_dict()), node)


def _with_spans(document: Document, node: BaseNode) -> Document:
    """Return the document of a node with the spans of the node in its metadata: documents have no offsets."""
    spans = chunk_spans(node)
    metadata = write_metadata(document.metadata, {"spans": flatten_spans(spans)} if spans else {})
    hidden = [key for key in metadata if key not in document.metadata]
    document.metadata = metadata
    document.excluded_embed_metadata_keys += hidden
    document.excluded_llm_metadata_keys += hidden
    return document
