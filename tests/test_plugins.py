"""Packages that declare chunkers, readers, embedders and whole tables as entry points."""

import json
import os
import subprocess
import sys
from zipfile import ZipFile

import pytest

from test_readme import blocks

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from advchunk import Block, Document, RecursiveChunker, Span
from advchunk.chunkers.by_size import RecursiveParams

class DashParams(RecursiveParams):
    algorithm: ClassVar[str] = "dashes"

@dataclass(kw_only=True)
class DashChunker(RecursiveChunker):
    """Chunk at dashes."""
    algorithm: ClassVar[str] = "dashes"
    max_tokens: int = 3

class reader:
    suffixes = (".dash",)

    @staticmethod
    def read(text, *, id="", metadata=None):
        return Document(text.replace("-", " "), id, metadata={"format": "dash", **(metadata or {})}, blocks=())

class eager:
    suffixes = (".txt",)

class Company:
    model_name = "company"

    def __init__(self):
        from advchunk import HybridEmbedder
        self._inner = HybridEmbedder("lengths")

    def embed(self, texts):
        return self._inner.embed(texts)

class Lengths:
    model_name = "lengths"

    def embed(self, texts):
        return [[len(text), 1.0] for text in texts]
'''
POINTS = """
[advchunk.chunkers]
dashes = dashes:DashChunker
broken = no_such_module:Chunker
recursive = dashes:DashChunker
wrong = dashes:Lengths

[advchunk.readers]
dash = dashes:reader
eager = dashes:eager
html = dashes:reader

[advchunk.embedders]
lengths = dashes:Lengths
company = dashes:Company
minilm = dashes:Lengths
text-embedding-3-broken = no_such_module:Embedder
"""
GUIDE = "docs/guides/extend.md"
READER, TABLE = (block["code"] for block in blocks(GUIDE, "python")[-2:])
ONE_READER, ONE_TABLE, _ = (block["code"] for block in blocks(GUIDE, "toml"))
WORD = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr><w:r><w:t>Tea</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Green tea</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Its leaves </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>are steamed.</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>Sencha</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>Gyokuro</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Temperatures</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>tea</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>degrees</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>green</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>80</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<w:sectPr/></w:body></w:document>"""
TYPES = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels"
ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELATIONS = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package, and returns one that runs Python and returns its output and errors."""
    monkeypatch.chdir(tmp_path)

    def install(points, **modules):
        info = tmp_path / ".site" / "dashes-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dashes\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(points)
        for name, code in modules.items():
            (info.parent / f"{name}.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(info.parent), *filter(None, sys.path)]))
        return run

    return install


def run(*args, **options):
    done = subprocess.run([sys.executable, *args], check=False, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def dashes(install):
    """Install the package above."""
    return install(POINTS, dashes=MODULE)


def word_file(path):
    """Write a small Word file."""
    with ZipFile(path, "w") as archive:
        for name, text in (("[Content_Types].xml", TYPES), ("_rels/.rels", RELATIONS), ("word/document.xml", WORD)):
            archive.writestr(name, text)


def entry_points(toml):
    """Return the entry points in a pyproject.toml as an installer writes them."""
    return toml.replace("project.entry-points.", "").replace('"', "")


@pytest.fixture(params=[(ONE_READER, ""), (ONE_TABLE, TABLE)], ids=["one reader", "a table"])
def word(request, install, tmp_path):
    """Install the package of the guide, in each of its two forms, beside a Word file; return a function that runs
    Python."""
    toml, table = request.param
    word_file(tmp_path / "tea.dotx")
    return install(entry_points(toml), my_dotx=READER, my_tables=table)


def test_the_guide_reads_a_word_file_from_python_and_both_frameworks(word):
    code, output = zip(*((block["code"], block["output"]) for block in blocks(GUIDE, "py")), strict=True)
    assert word("-W", "error::DeprecationWarning:advchunk", "-c", "".join(code)) == ("".join(output), "")


def test_a_table_loads_nothing_before_it_is_needed(install):
    run = install(entry_points(ONE_TABLE), my_dotx=READER, my_tables=TABLE)
    code = (
        "import sys; from advchunk.readers.formats import is_supported; print(is_supported('a.dotx'), 'my_dotx' in "
        "sys.modules)"
    )
    assert run("-c", code) == ("True False\n", "")


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"Tea.", "a Word file must be a zip archive with word/document.xml: File is not a zip file"),
        (None, 'a Word file must be a zip archive with word/document.xml: "There is no item named'),
    ],
)
def test_a_damaged_file_is_reported(install, tmp_path, data, rule):
    install(entry_points(ONE_READER), my_dotx=READER)
    with ZipFile(tmp_path / "tea.dotx", "w") as archive:
        archive.writestr("other.xml", WORD)
    if data:
        (tmp_path / "tea.dotx").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "advchunk", "chunk", "tea.dotx"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"advchunk: tea.dotx: {rule}")


FAILING = """
suffixes = (".odd",)
takes = "{takes}"

def read(source, *, id="", metadata=None):
    from advchunk import Document
    word = source.decode() if takes == "bytes" else source
    if word == "bad":
        {line}
    return Document(word, id, metadata=metadata or {{}}, blocks=())
"""


@pytest.mark.parametrize(
    ("takes", "line", "error"),
    [("text", "{}['key']", "KeyError: 'key'"), ("bytes", "raise SystemExit('no license')", "SystemExit: no license")],
)
def test_an_unexpected_error_of_a_reader_is_one_that_names_the_file_and_ends_no_run(
    install, tmp_path, takes, line, error
):
    run = install("[advchunk.readers]\nodd = odd\n", odd=FAILING.format(takes=takes, line=line))
    for name, word in (("a", "first"), ("b", "bad"), ("c", "last")):
        (tmp_path / f"{name}.odd").write_text(word)
    rule = f"the reader of 'odd' (dashes 1.2) failed on 'b.odd': {error}"
    code = """
from click.testing import CliRunner
from advchunk import Unreadable, read_file
from advchunk.cli import main
from langchain_advchunk import RecursiveSplitter

try:
    read_file("b.odd")
except Unreadable as error:
    print(error)
failures = []
pieces = RecursiveSplitter(on_error=failures.append).split_files(["a.odd", "b.odd", "c.odd"])
print([piece.page_content for piece in pieces], *(failure.error for failure in failures))
done = CliRunner().invoke(main, ["chunk", ".", "-m", "recursive", "--format", "jsonl"])
print(done.exit_code, done.stdout.count('"document"'), done.stderr, end="")
done = CliRunner().invoke(main, ["view", "b.odd", "-m", "recursive", "--out", "b.html"])
print(done.exit_code, done.stderr, end="")
"""
    out, _ = run("-W", "ignore", "-c", code)
    assert out.splitlines() == [
        rule,
        f"['first', 'last'] {rule}",
        f"1 2 advchunk: b.odd: {rule}",
        "advchunk: 3 files: 2 read (.odd 2), 1 failed (.odd 1)",
        f"1 advchunk: b.odd: {rule}",
    ]


def test_markup_reads_a_file_of_any_name(word, tmp_path):
    (tmp_path / "tea.dotx").rename(tmp_path / "tea.bin")
    out, _ = word("-m", "advchunk", "chunk", "tea.bin", "--markup", "dotx", "-m", "recursive", "--format", "jsonl")
    assert json.loads(out)["metadata"]["title"] == "Tea"
    code = "from advchunk import read_file; print(read_file('tea.bin', markup='dotx').metadata['title'])"
    assert word("-c", code)[0] == "Tea\n"


@pytest.mark.parametrize("line", ["raise SystemExit(3)", "import sys; sys.exit('no license')", "1 / 0"])
def test_a_plugin_that_exits_or_fails_does_not_end_the_rest(install, line):
    points = """
[advchunk.chunkers]
rude = rude:Chunker
[advchunk.readers]
rude = rude
[advchunk.tables]
rude = rude:TABLE
late = late:TABLE
"""
    table = (
        "from advchunk.registry import Registration\n"
        "TABLE = [Registration(kind='reader', name='late', path='rude', shared_suffixes=('.late',), "
        "detect='rude:detect')]"
    )
    run = install(points, rude=line, late=table)
    out, errors = run("-m", "advchunk", "list")
    assert "recursive" in out
    assert [error.partition(" is not used: ")[0] for error in sorted(errors.splitlines())] == [
        "advchunk.chunkers: 'rude' of dashes 1.2",
        "advchunk.tables: 'rude' of dashes 1.2",
    ]
    code = (
        "from advchunk.readers.formats import detect_file_format; print(detect_file_format('a.log', 'Tea.'), "
        "detect_file_format('a.md', ''))"
    )
    out, errors = run("-c", code)
    assert out == "plain markdown\n"
    assert "advchunk.readers: 'late' of dashes 1.2 is not used" in errors


@pytest.mark.parametrize("suffixes", ["('.md',)", "'.wiki'", "('wiki',)", "('.WIKI',)", "('.xml',)"])
def test_a_row_of_a_table_takes_no_suffix_of_another_format(install, suffixes):
    table = (
        "from advchunk.registry import Registration\nTABLE = [Registration(kind='reader', name='wiki', "
        f"path='wiki', suffixes={suffixes})]"
    )
    run = install("[advchunk.tables]\nwiki = wiki:TABLE\n", wiki=table)
    code = "from advchunk.readers.formats import detect_file_format; print(detect_file_format('a.md', ''))"
    out, errors = run("-c", code)
    assert out == "markdown\n"
    assert errors.startswith("advchunk.readers: 'wiki' of dashes 1.2 is not used: its suffixes must be")


def test_a_chunker_of_a_plugin_is_like_ours(dashes):
    out, err = dashes(
        "-c", "import advchunk; print(advchunk.create('dashes').max_tokens, 'dashes' in advchunk.names())"
    )
    assert (out, err.count("is not used")) == ("3 True\n", 3)
    out, _ = dashes("-m", "advchunk", "list")
    assert "dashes" in out
    out, _ = dashes("-c", "import advchunk; print(advchunk.describe('dashes')['source'])")
    assert out == "dashes 1.2\n"
    out, _ = dashes(
        "-W", "ignore", "-c",
        "from langchain_advchunk import DashSplitter; from llamaindex_advchunk import DashNodeParser\n"
        "print(DashSplitter(max_tokens=3).max_tokens, DashNodeParser(max_tokens=4).max_tokens)",
    )  # fmt: skip
    assert out == "3 4\n"


def test_what_is_not_used_is_said_once_and_why(dashes):
    _, err = dashes("-c", "import advchunk; advchunk.names(); advchunk.names()")
    assert sorted(err.splitlines()) == [
        "advchunk.chunkers: 'broken' of dashes 1.2 is not used: ModuleNotFoundError: No module named 'no_such_module'",
        "advchunk.chunkers: 'recursive' of dashes 1.2 is not used: this is a name of advchunk",
        "advchunk.chunkers: 'wrong' of dashes 1.2 is not used: it must be a subclass of Chunker with algorithm "
        "= 'wrong'",
    ]


def test_names_of_ours_load_no_plugin(dashes):
    out, err = dashes(
        "-c", "import advchunk, sys; advchunk.create('recursive').chunk('A.'); print('dashes' in sys.modules)"
    )
    assert (out, err) == ("False\n", "")


def test_a_reader_of_a_plugin_reads_its_files(dashes, tmp_path):
    (tmp_path / "tea.dash").write_text("green-tea")
    out, err = dashes("-m", "advchunk", "chunk", "tea.dash", "-m", "recursive", "--format", "jsonl")
    (chunk,) = map(json.loads, out.splitlines())
    assert (chunk["text"], chunk["metadata"]["format"]) == ("green tea", "dash")
    assert sorted(err.splitlines()) == [
        "advchunk.readers: 'eager' of dashes 1.2 is not used: its suffixes must be a tuple of new ones with a dot, in "
        "lower case, got ('.txt',)",
        "advchunk.readers: 'html' of dashes 1.2 is not used: this is a name of advchunk",
    ]
    out, _ = dashes("-c", "from advchunk import RecursiveChunker as R; print(R(markup='dash').chunk('a-b')[0].text)")
    assert out == "a b\n"


def test_an_embedder_of_a_plugin_may_use_another(dashes):
    out, _ = dashes(
        "-c", "from advchunk.models.embedders import as_embedder; print(as_embedder('company').embed(['abc']).shape)"
    )
    assert out.startswith("(1, ")


def test_an_embedder_that_does_not_load_is_not_sought_elsewhere(dashes):
    code = (
        "from advchunk.models.embedders import as_embedder\ntry: as_embedder('text-embedding-3-broken')\nexcept "
        "ValueError as e: print(e)"
    )
    out, err = dashes("-c", code)
    assert out.startswith("an embedder of another package must load")
    assert "No module named 'no_such_module'" in err
    assert "'minilm' of dashes 1.2 is not used: this is a name of advchunk" in err
