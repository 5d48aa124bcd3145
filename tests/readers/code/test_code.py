"""Source code is read with its definitions, whatever its state."""

import json
import logging
import re
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk import (
    AutoChunker,
    ConfigurationError,
    Document,
    MissingExtra,
    OptimalSemanticChunker,
    RecursiveChunker,
    SlidingWindowChunker,
    read_file,
)
from advchunk.cli import main
from advchunk.readers import formats
from advchunk.readers.code import languages
from advchunk.readers.code import reader as code
from advchunk.readers.code.languages import LANGUAGES, detect_language
from advchunk.text import tiling

DATA = tomllib.loads(Path(__file__).parents[2].joinpath("data", "code.toml").read_text(encoding="utf-8"))
CODE = {name: (case["text"], case["definitions"]) for name, case in DATA.items()}
PYTHON, TEXTS = CODE["python"][0], [(name, text) for name, (text, _) in CODE.items()]


def qualified(blocks):
    """The qualified name of each definition with its block."""
    path, results = [], {}
    for block in blocks:
        if block.title is not None:
            path = [*path[: block.level - 1], *[""] * (block.level - 1 - len(path)), block.title]
            if block.title:
                results.setdefault(".".join(filter(None, path)), block)
    return results


@pytest.mark.parametrize("language", LANGUAGES)
def test_definitions_are_blocks_with_their_names(language):
    text, expected = CODE[language]
    results = qualified(code.code_blocks(text, language))
    assert {
        name: text[block.span.start :].startswith(expected.get(name, "?")) for name, block in results.items()
    } == dict.fromkeys(expected, True)


def test_blocks_of_python():
    results = [(b.kind, b.level, b.title, PYTHON[slice(*b.span)]) for b in code.code_blocks(PYTHON, "python")]
    assert results == [
        ("code", 1, "", "#!/usr/bin/env python3\n# Tea, and how it is made.\n\nimport re"),
        ("code", 1, None, 'LEAVES = "green"'),
        ("heading", 1, "", "# What boils.\n@final"),
        ("heading", 1, "Pot", "class Pot(Base):"),
        ("code", 2, "", '    """A pot."""'),
        ("code", 2, None, "    size = 1"),
        ("heading", 2, "boil", "    def boil(self, water):"),
        ("code", 3, "", '        """Boil water."""'),
        ("code", 3, "bubble", '        def bubble():\n            return "o"'),
        ("code", 3, "", "        return bubble() * water"),
        ("heading", 2, "", "    # Not too slowly."),
        ("code", 2, "pour", "    def pour(self):\n        ..."),
        ("code", 1, "", 'if __name__ == "__main__":\n    Pot().boil(3)'),
    ]


def test_a_comment_above_a_blank_line_stays_with_the_definition_below_it():
    text = "x = 1\n\n# ---- Tea ----\n\ndef boil():\n    ...\n"
    blocks = code.code_blocks(text, "python")
    assert [(b.kind, b.title) for b in blocks] == [("code", ""), ("heading", ""), ("code", "boil")]
    assert [b.title for b in code.code_blocks(text[7:], "python")] == ["", "boil"]  # the first, such as a license
    assert [c.text[:3] for c in RecursiveChunker(max_tokens=18).chunk(Document(text, "tea.py"))] == ["x =", "# -"]


def is_inside(start, end, chunks):
    return any(chunk.start <= start and end <= chunk.end for chunk in chunks)


@pytest.mark.parametrize(
    "chunker",
    [
        RecursiveChunker(max_tokens=40),
        SlidingWindowChunker(max_tokens=40),
        SlidingWindowChunker(max_tokens=40, overlap_tokens=8),
        RecursiveChunker(max_tokens=40, min_tokens=20),
        OptimalSemanticChunker(max_tokens=40),
        AutoChunker(max_tokens=40),
    ],
)
@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_definitions_that_fit_stay_whole(chunker, language, text):
    document = code.read(text, language=language)
    chunks = chunker.chunk(document)
    blocks = document.blocks
    for i, block in enumerate(blocks):
        if block.title:
            end = next((b.span.start for b in blocks[i + 1 :] if b.level <= block.level), len(text))
            last = len(text[:end].rstrip())
            if chunker.counter(text[block.span.start : end]) + chunker.overlap_tokens <= 40:
                assert is_inside(block.span.start, last, chunks), (block, [chunk.text for chunk in chunks])


@pytest.mark.parametrize("max_tokens", [8, 16, 24, 40])
@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_chunks_know_where_they_are(max_tokens, language, text):
    document = code.read(text, language=language)
    blocks = document.blocks
    for chunk in SlidingWindowChunker(max_tokens=max_tokens).chunk(document):
        last = max(i for i, block in enumerate(blocks) if block.span.start <= chunk.start)
        names = {path_of(blocks[: last + 1])}
        if blocks[last].kind == "heading" and not blocks[last].title:  # a comment, and what is below if that fits
            names.add(path_of(blocks[: last + 2]))
        assert chunk.metadata.get("section", "") in names
        assert chunk.metadata.get("title_path", "") == chunk.metadata.get("section", "")


def path_of(blocks):
    path, level = [], 9
    for block in reversed(blocks):  # outwards
        if block.title is not None and block.level < level:
            path, level = [block.title, *path], block.level
    return ".".join(filter(None, path))


def test_the_context_is_the_qualified_name_above():
    document = Document(PYTHON, "tea.py", metadata={"title": "Tea"})
    chunks = RecursiveChunker(max_tokens=20, markup="code", include_context=True).chunk(document)
    contexts = {chunk.text.strip().split("\n")[0]: chunk.context for chunk in chunks}
    assert contexts["def bubble():"] == "Tea > Pot.boil"
    assert contexts["# Not too slowly."] == "Tea > Pot"
    assert contexts['if __name__ == "__main__":'] == "Tea"


def test_long_functions_are_split_between_statements():
    body = "".join(f"    if a{i}:\n        b = {i}\n        c(b)\n    else:\n        d({i})\n" for i in range(30))
    text = f"def f():\n{body}"
    chunks = RecursiveChunker(max_tokens=120, markup="code").chunk(Document(text, "tea.py"))
    starts = [chunk.text.split("\n")[0] for chunk in chunks]
    assert len(chunks) > 3
    assert all(re.fullmatch(r"def f\(\):|    if a\d+:", start) for start in starts)


def outermost_slow(text):
    """Try each indentation, from the least."""
    lines = tiling.lines(text).edges.tolist()[:-1]
    rows = [(start, re.match(r"[^\S\r\n]*", text[start:])[0]) for start in lines]
    closing = re.compile(r"[)\]}>]|(?:end|else|elif|elsif|except|catch|finally|done|fi|esac|then|do)\b")
    rows = [(start, len(margin.expandtabs())) for start, margin in rows if not closing.match(text, start + len(margin))]
    edges = [0, len(text)]
    for depth in sorted({margin for _, margin in rows}):
        edges = sorted({0, len(text), *(start for start, margin in rows if margin <= depth)})
        if all(2 * (b - a) <= len(text) for a, b in pairwise(edges)):
            break
    return edges


@given(
    st.lists(st.sampled_from(["a", "  b", "    c", "\td", "}", "  else:", "", "    ", "end", "end_x"]), max_size=20),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_outermost_matches_its_slow_twin(lines, end):
    text = end.join(lines) or "x"
    assert tiling.outermost(tiling.lines)(text).edges.tolist() == sorted(set(outermost_slow(text)))


# Exact whatever the file.


def check_exact(text, language, max_tokens=30):
    blocks = code.code_blocks(text, language)
    document = code.read(text, language=language)
    assert document.text == text
    covered = bytearray(len(text))
    for block in blocks:
        covered[slice(*block.span)] = b"\1" * (block.span.end - block.span.start)
    assert all(covered[i] or letter.isspace() for i, letter in enumerate(text))
    for chunker in (RecursiveChunker(max_tokens=max_tokens), SlidingWindowChunker(max_tokens=max_tokens, min_tokens=8)):
        chunks = chunker.chunk(document)
        assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")
        assert all(chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
        assert all(chunk.tokens <= max_tokens or chunk.metadata.get("oversize") for chunk in chunks)


MUTATIONS = [
    "\0", "\ufeff", "\r\n", "\r", "\t", "\ud800", "é", "🍵", "\u2028", "\x0c", "{", "}", '"', "'", "(", "/*", "#",
    "\\", "\n\n", "",
]  # fmt: skip


@st.composite
def mutilated(draw):
    language, text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(0, 6))):
        at, width = draw(st.integers(0, len(text))), draw(st.sampled_from([0, 0, 1, 9, 60]))
        text = text[:at] + draw(st.sampled_from(MUTATIONS)) + text[at + width :]
    if draw(st.booleans()):
        text = text[draw(st.integers(0, len(text))) :]
    return language, draw(
        st.sampled_from(
            [text, text.replace("\n", "\r\n"), text.replace("\n", "\r"), text.replace("  ", "\t"), text.rstrip()]
        )
    )


@settings(max_examples=60, deadline=None)
@given(mutilated())
def test_mutilated_code_is_exact(sample):
    check_exact(sample[1], sample[0])


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(LANGUAGES)), st.text(max_size=80) | st.text("{}()\"'def class\n\t;:é", max_size=200))
def test_any_text_is_exact(language, text):
    check_exact(text, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text", ["", " \n\t", "\ufeff", "\0", "x", "\n\n  x", "\ud800\udfff", "🍵 = '🍵'\ndef f():\n  'é'\n"]
)
def test_degenerate_code_is_exact(language, text):
    check_exact(text, language, max_tokens=8)


def test_line_ends_and_marks_move_no_block():
    blocks = code.code_blocks(PYTHON, "python")
    for changed in (PYTHON.replace("\n", "\r\n"), PYTHON.replace("\n", "\r"), "\ufeff" + PYTHON, PYTHON.rstrip()):
        results = code.code_blocks(changed, "python")
        assert [(b.kind, b.level, b.title) for b in results] == [(b.kind, b.level, b.title) for b in blocks]
        flat = [changed[slice(*b.span)].replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff") for b in results]
        assert flat == [PYTHON[slice(*b.span)] for b in blocks]


def test_offsets_are_those_of_characters():
    text = 'LEAF = "🍵é"  # ©\n\n\nclass Thé:\n    """Ähm."""\n\n    def größe(self):\n        return "🍵"\n'
    results = qualified(code.code_blocks(text, "python"))
    assert {name: text[slice(*block.span)].split("\n", 1)[0] for name, block in results.items()} == {
        "Thé": "class Thé:",
        "Thé.größe": "    def größe(self):",
    }


def test_deep_and_long_code_is_read():
    deep = "".join(f"{' ' * i}def f{i}():\n" for i in range(600))
    check_exact(deep, "python", 64)
    check_exact("function f() {" * 2000, "javascript", 64)
    minified = "".join(f"function f{i}(a){{return a+{i}}}" for i in range(500))
    check_exact(minified, "javascript", 64)
    starts = [b.span.start for b in code.code_blocks(minified, "javascript")]
    assert starts == [m.start() for m in re.finditer("function", minified)]


# How code is recognized.


@pytest.mark.parametrize(
    ("name", "text", "metadata", "expected"),
    [
        ("tea.PY", "", {}, "python"),
        ("", "", {"source": "src/tea.tsx"}, "tsx"),
        ("7f3a", "", {"file_path": "/a/tea.rs"}, "rust"),
        ("", "", {"file_name": "tea.h"}, "cpp"),
        ("", "", {"language": "sql"}, "sql"),
        ("", "", {"language": "en", "source": "tea.go"}, "go"),
        ("boil", "#!/usr/bin/env python3.11\n", {}, "python"),
        ("boil", "\ufeff#!/bin/sh -e\r\n", {}, "bash"),
        ("boil.txt", "#!/bin/sh\n", {}, ""),
        ("https://docs.rs", "", {}, ""),
        ("https://example.org/a/tea.rb?raw=1#L3", "", {}, "ruby"),
        ("tea.md", "", {}, ""),
        ("", "import re", {"source": None}, ""),
    ],
)
def test_languages_are_detected(name, text, metadata, expected):
    assert detect_language(name, text, metadata) == expected


def test_auto_reads_code_by_its_name():
    document = Document(PYTHON, metadata={"source": "tea.py"})
    read = formats.read(document, "auto")
    assert (read.markup, read.text, read.metadata) == ("code", PYTHON, {"source": "tea.py"})
    assert formats.read(Document(PYTHON), "auto").markup == "code"  # by its first line
    assert formats.read(Document("# Tea", metadata={"source": "tea.md"}), "auto").markup == ""
    assert formats.read(Document("<html><p>Tea", metadata={"source": "tea.php"}), "auto").markup == "html"
    assert formats.read(document, "markdown").markup == ""
    sections = [c.metadata.get("section") for c in RecursiveChunker(markup="auto", max_tokens=30).chunk(document)]
    assert "Pot.boil" in sections


def test_files_are_read_by_their_suffix(tmp_path):
    (path := tmp_path / "tea.py").write_bytes(b"\xef\xbb\xbf" + PYTHON.replace("\n", "\r\n").encode())
    for document in (read_file(path), RecursiveChunker().read_file(path), read_file(path, markup="auto")):
        assert (document.markup, document.text) == ("code", PYTHON.replace("\n", "\r\n"))
    (path := tmp_path / "boil").write_text("#!/bin/sh\nboil() {\n  echo\n}\n")
    assert [block.title for block in read_file(path).blocks] == ["", "boil"]


@pytest.mark.parametrize("metadata", [{"source": "tea.py"}, {"file_path": "a/tea.py"}, {"language": "python"}])
def test_both_frameworks_read_code_by_its_metadata(metadata):
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    from langchain_advchunk import RecursiveSplitter
    from llamaindex_advchunk import RecursiveNodeParser

    options = {"max_tokens": 20, "markup": "auto"}
    chunks = RecursiveSplitter(**options).split_documents([LangChainDocument(PYTHON, metadata=metadata)])
    nodes = RecursiveNodeParser(**options).get_nodes_from_documents(
        [LlamaIndexDocument(text=PYTHON, metadata=metadata)]
    )
    sections = [chunk.metadata.get("section") for chunk in chunks]
    assert sections == [node.metadata.get("section") for node in nodes]
    assert {"Pot", "Pot.boil.bubble"} <= {*sections}
    assert "".join(chunk.page_content for chunk in chunks) == PYTHON


def test_the_command_line_chunks_a_folder_of_code(tmp_path):
    for name, suffix in (("python", "py"), ("go", "go"), ("sql", "sql")):
        (tmp_path / f"tea.{suffix}").write_text(CODE[name][0])
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.py").write_text("x")
    (tmp_path / "tea.png").write_bytes(b"\x89PNG\xff")
    result = CliRunner().invoke(main, ["chunk", str(tmp_path), "-m", "recursive", "-f", "jsonl", "--max-tokens", "20"])
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (
        0,
        "advchunk: 4 files: 3 read (.go 1, .py 1, .sql 1), 1 skipped (no reader: .png 1)\n",
    )
    assert list(dict.fromkeys(Path(row["document"]).name for row in rows)) == ["tea.go", "tea.py", "tea.sql"]
    assert {"Pot.Boil", "Pot.boil"} <= {row["metadata"].get("section") for row in rows}


def test_an_unknown_language_is_one_clear_error():
    with pytest.raises(
        ConfigurationError, match=r"the language of code must be known from .* one of bash, c, .* got ''"
    ):
        RecursiveChunker(markup="code").chunk("x = 1")
    with pytest.raises(ConfigurationError, match="got 'pyton'; did you mean 'python'"):
        code.read("x = 1", language="pyton")


@pytest.fixture
def _without_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
    monkeypatch.setattr("advchunk.readers.code.languages.find_spec", lambda _: None)
    code.load_grammar.cache_clear()
    languages._report_missing.cache_clear()
    yield
    code.load_grammar.cache_clear()
    languages._report_missing.cache_clear()


@pytest.mark.usefixtures("_without_extra")
def test_without_the_extra_code_is_plain_text_and_logged_once(tmp_path, caplog):
    (path := tmp_path / "tea.py").write_text(PYTHON)
    with caplog.at_level(logging.WARNING, "advchunk"):
        documents = [read_file(path), read_file(path), formats.read(Document(PYTHON, "tea.py"), "auto")]
    assert [document.blocks for document in documents] == [(), (), ()]
    (message,) = caplog.messages
    assert "source code is read as plain text" in message
    assert "pip install 'advchunk[code]'" in message
    with pytest.raises(MissingExtra, match=r"pip install 'advchunk\[code\]'"):
        read_file(path, markup="code")
    with pytest.raises(MissingExtra, match=r"pip install 'advchunk\[code\]'"):
        RecursiveChunker(markup="code").chunk(Document(PYTHON, "tea.py"))


def test_offsets_in_the_encoding_match_a_count_of_characters():
    text = "aé🍵\n" * 9
    starts = [len(text[:i].encode()) for i in range(len(text))]
    assert code._offsets(text, text.encode(), starts) == list(range(len(text)))
