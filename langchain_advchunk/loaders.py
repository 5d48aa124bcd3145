"""A document loader of LangChain for files of any format, folders and archives, which loads chunks."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from advchunk import AutoChunker
from advchunk.errors import require
from advchunk.readers.writing import Content, check_content
from langchain_advchunk.base import AdvchunkSplitter
from langchain_advchunk.splitters import splitter_class


class AdvchunkLoader(BaseLoader):
    r"""Loads the chunks of files, folders and archives, in constant memory.

    Files are read with their layout, which text alone does not have; so they are split as they are loaded
    (`AdvchunkSplitter.lazy_split_files`, `advchunk.chunk_files`).

    Parameters
    ----------
    paths : a path or several; folders and archives stand for the files in them.
    splitter : splits them; None is ``AutoSplitter()``, which takes the chunker for each format.
    encoding, content : of texts, and of web pages; see `advchunk.read_file`.

    Raises
    ------
    ConfigurationError : ``splitter`` is not a splitter of ours.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tea.md").write_text("# Tea\n\nGreen tea is steamed.")
    ...     [chunk.metadata["section"] for chunk in AdvchunkLoader(folder).lazy_load()]
    ['Tea']
    """

    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        splitter: AdvchunkSplitter | None = None,
        *,
        encoding: str | None = None,
        content: Content = "all",
    ) -> None:
        rule = "splitter must be a splitter of langchain_advchunk"
        require(splitter is None or isinstance(splitter, AdvchunkSplitter), rule, splitter)
        require(isinstance(paths, (str, Path, Iterable)), "paths must be a path, or several", paths)
        require(encoding is None or isinstance(encoding, str), "encoding must be the name of one, or None", encoding)
        self._paths = paths if isinstance(paths, (str, Path)) else list(paths)
        check_content(content)
        self._splitter = splitter or splitter_class(AutoChunker)()
        self._options: dict[str, Any] = {"encoding": encoding, "content": content}

    def lazy_load(self) -> Iterator[Document]:
        """Yield the chunks as soon as they are ready."""
        return self._splitter.lazy_split_files(self._paths, **self._options)
