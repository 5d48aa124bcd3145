"""Files in both frameworks: their chunks and failures are those of the core, under the name of each file; and workers."""

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import Document

import langchain_advchunk
import llamaindex_advchunk
from advchunk import AutoChunker
from advchunk.chunkers.sources import chunk_files
from advchunk.records import written_metadata

TEXT = "A. x A. A. B. A. "
FILES = {
    "guide.md": b"# Tea\n\nGreen tea.\n\n```\na\n\nb\n```\n",
    "call.txt": b"[00:00:04] Ann: Shall we?\n[00:00:09] Bob: Yes.\n[00:00:11] Ann: Good.\n",
    "latin.txt": "Thé\0".encode("cp1252"),
    "notes.nbib": b"PMID- 7\nAB  - To see.\n\nPMID- 8\nAB  - Seen.\n",
    "paper.tei.xml": b"<TEI><text><body><div><head>Results</head><p>Weight fell.</p></div></body></text></TEI>",
    "torn.xml": b"<TEI><text>",
    "cup.png": b"\x89PNG",
}


def in_langchain(paths, encoding=None, **options):
    """Return the name of the file, the text, and the metadata of each chunk."""
    splitter = langchain_advchunk.AutoSplitter(experimental=True, **options)
    pieces = splitter.split_files(paths, encoding=encoding)
    if "on_error" not in options:
        assert list(splitter.lazy_split_files(paths, encoding=encoding)) == pieces
    return [(piece.metadata["source"], piece.page_content, piece.metadata) for piece in pieces]


def in_llamaindex(paths, encoding=None, **options):
    """Return the name of the file, the text, and the metadata of each node."""
    parser = llamaindex_advchunk.AutoNodeParser(experimental=True, **options)
    nodes = parser.get_nodes_from_files(paths, encoding=encoding)
    if "on_error" not in options:
        assert list(parser.lazy_nodes_from_files(paths, encoding=encoding)) == nodes
    assert not any(str(paths) in node.get_content(mode) for node in nodes for mode in ("embed", "llm"))
    return [(node.metadata["file_path"], node.text, node.metadata) for node in nodes]


@pytest.mark.parametrize("chunk", [in_langchain, in_llamaindex])
def test_chunks_and_failures_are_those_of_the_core(chunk, tmp_path, caplog):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    failed, expected_failures = [], []
    core = chunk_files(tmp_path, AutoChunker(experimental=True), on_error=expected_failures.append)
    expected = [own for _, chunks in core for own in chunks]
    pieces = chunk(tmp_path, on_error=failed.append)
    assert "1 skipped (no reader: .png 1)" in caplog.text
    for (source, text, metadata), own in zip(pieces, expected, strict=True):
        assert text in (own.text, own.embed_text)
        assert source.startswith(str(tmp_path))
        written = written_metadata(metadata)
        place = written.get("start_index", own.start), written.get("end_index", own.end)
        assert place == (own.start, own.end), source
        for name, value in written_metadata(own.metadata).items():
            assert written[name] == value or isinstance(value, list)  # which is flat
    assert {metadata.get("imrad") for _, _, metadata in pieces} == {None, "Results"}
    assert [metadata["pmid"] for _, _, metadata in pieces if "pmid" in metadata] == ["7", "8"]
    assert [(own.source, type(own.error)) for own in failed] == [
        (own.source, type(own.error)) for own in expected_failures
    ]
    assert len(failed) == 2


@pytest.mark.parametrize("chunk", [in_langchain, in_llamaindex])
def test_a_path_a_text_and_several_are_the_same(chunk, tmp_path):
    path = tmp_path / "guide.md"
    path.write_bytes(FILES["guide.md"])
    [(source, text, metadata)] = chunk(tmp_path)
    assert (source, text, metadata["section"]) == (str(path), path.read_text(encoding="utf-8"), "Tea")
    assert chunk(path) == chunk(str(path)) == chunk([path, path]) == [(source, text, metadata)]
    (latin := tmp_path / "latin.txt").write_bytes(FILES["latin.txt"])
    assert [text for _, text, _ in chunk(latin, encoding="cp1252")] == ["Thé\ufffd"]
    with pytest.raises(FileNotFoundError):
        chunk(tmp_path / "none.md")


@pytest.mark.slow
def test_workers_make_the_chunks_of_one_process():
    documents, sources = [LangChainDocument(TEXT, id=name) for name in "ab"], [Document(text=TEXT, id_=n) for n in "ab"]
    splitters = [langchain_advchunk.RecursiveSplitter(max_tokens=4, workers=workers) for workers in (1, 2)]
    parsers = [llamaindex_advchunk.RecursiveNodeParser(max_tokens=4, workers=workers) for workers in (1, 2)]
    alone, together = (splitter.split_documents(documents) for splitter in splitters)
    assert alone == together != []
    alone, together = ([node.to_dict() for node in parser(sources)] for parser in parsers)
    assert alone == together != []
