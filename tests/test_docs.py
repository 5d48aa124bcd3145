"""The documentation site: every chunker has a page whose code runs, and a broken link is noticed."""

import json
import re
import sys
from importlib import import_module
from pathlib import PurePosixPath
from pkgutil import iter_modules

import numpy as np
import pytest
from chunker_pages import ANSWERS, chunker_facts, chunker_page, draw, explained
from docstrings import entries, markdown, numpydoc, sections
from gallery import SIX, gallery
from reference_pages import BASES, MODULES, parameters, reference
from site_links import BrokenLink, check, relink

import advchunk
from advchunk import names
from advchunk.chunkers.catalog import describe
from test_readme import GUIDES, PAGES, ROOT, blocks, run


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder with the files that examples read."""
    for name, source in {
        "README.md": "README.md",
        "paper.tei.xml": "tests/data/seals.tei.xml",
        "report.json": "tests/data/docling_report.json",
    }.items():
        (tmp_path / name).write_bytes((ROOT / source).read_bytes())
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", [path for path in PAGES if "integrations" in path])
def test_listings_name_classes_that_exist(path):
    modules = ["langchain_advchunk", "llamaindex_advchunk", "llama_index.core.ingestion", "llama_index.core.retrievers"]
    named = re.findall(
        r"`(\w+(?:Splitter|Parser|Retriever|Embeddings?|Enricher|Loader|Reader|Compressor|Postprocessor|Pipeline))\b",
        (ROOT / path).read_text(encoding="utf-8"),
    )
    assert named
    assert [name for name in named if not any(hasattr(import_module(module), name) for module in modules)] == []


NEEDED = {
    "langchain_core": "langchain",
    "langchain_text_splitters": "langchain",
    "langchain_advchunk": "langchain",
    "llama_index": "llamaindex",
    "llamaindex_advchunk": "llamaindex",
    "langchain_classic": "langchain-classic",
    "langchain_experimental": "langchain-experimental",
    "langchain_community": "langchain-community",
    "langchain_qdrant": "langchain-qdrant",
    "qdrant_client": "langchain-qdrant",
    "lancedb": "lancedb",
    "pyarrow": "`arrow`",
}


@pytest.mark.parametrize("path", GUIDES)
def test_a_guide_names_what_an_example_needs_before_it(path):
    for block in blocks(path, "python"):
        imported = re.findall(r"^(?:from|import) (\w+)", block["code"], re.MULTILINE)
        others = {*imported} - sys.stdlib_module_names - {"advchunk", "numpy"}
        before = block.string[: block.start()]
        assert [module for module in others if NEEDED[module] not in before] == []


def test_every_chunker_is_described():
    assert set(chunker_facts()) == set(names())


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_the_entry_of_a_chunker_is_complete_and_its_picture_is_drawn(name, tmp_path):
    entry, is_experimental = chunker_facts()[name], describe(name)["experimental"]
    required = {"when", "avoid", "plot", "caption", *(["instead"] if is_experimental else [])}
    assert required <= entry.keys() <= required | {"params", "figure", "document", "documents", "answer"}
    assert all(entry[key] for key in required)
    if is_experimental:
        assert not describe(entry["instead"])["experimental"]
    draw(name, tmp_path)


@pytest.mark.parametrize("name", names())
@pytest.mark.usefixtures("elsewhere")
def test_the_page_of_a_chunker_runs_and_documents_all_parameters(name, tmp_path, monkeypatch):
    page = chunker_page(name)
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    run(tmp_path / "page.md", monkeypatch)
    for parameter in describe(name)["parameters"]:
        row, *_ = [line for line in page.splitlines() if line.strip().startswith(f"| `{parameter}` |")]
        assert len(row.rstrip("| ").rsplit("| ", 1)[1]) > 3
    assert ("!!! warning" in page) == describe(name)["experimental"]


def test_recorded_answers_are_about_the_sample_text():
    """After a change of the text, or of its sentences, tools/record_answers.py asks the model again."""
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    surprise = explained("perplexity")
    assert surprise.units.edges[1:].tolist() == answers["ends"]
    assert surprise.figures["surprise"].tolist() == pytest.approx(answers["surprise"])
    gaps = explained("margin-sampling").segmentation.gaps  # a question that was not recorded is an error
    assert len({*gaps[np.isfinite(gaps)].tolist()}) > 10


def test_chapters_that_a_text_does_not_support_are_not_in_the_picture():
    chapters = {chunk.metadata["chapter"] for chunk in explained("llm-chaptering").chunks}
    assert "Soup" in chapters
    assert not chapters & {"The horizon", "Oatmeal"}


def test_a_picture_can_be_of_a_corpus(tmp_path):
    draw("graphrag", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"graphrag-light.svg", "graphrag-dark.svg"}
    assert "Fairlie" in (tmp_path / "graphrag-light.svg").read_text(encoding="utf-8")


def test_pages_show_measured_figures():
    page = chunker_page("optimal-semantic")
    quality = (ROOT / "benchmarks" / "CUTS.md").read_text(encoding="utf-8")
    row = next(line for line in quality.splitlines() if line.startswith("| **optimal-semantic** |"))
    assert row in page


def test_links_of_the_repository_become_links_of_the_site():
    path, place = PurePosixPath("docs/guides/x.md"), PurePosixPath("guides/x.md")
    text = "[a](../../benchmarks/README.md#figures) [b](https://x.org) `[c](d.md)` [e](#f) [g](y.md)"
    assert relink(text, path, place) == (
        "[a](../benchmarks/index.md#figures) [b](https://x.org) `[c](d.md)` [e](#f) [g](y.md)"
    )
    with pytest.raises(BrokenLink, match=r"docs/guides/x.md links to ../../Makefile"):
        relink("[a](../../Makefile)", path, place)


def test_broken_links_of_a_site_are_listed(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">ok</a> <a href="b.html#gone">x</a> <a href="c.html">x</a> <a href="https://x.org">ok</a>'
        '<img src="b.html"><img src="d.png"><script src="https://cdn.org/x.js"></script><a href="#no">x</a>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<h2 id="here">', encoding="utf-8")
    assert check(tmp_path) == [
        "a.html: b.html#gone", "a.html: c.html", "a.html: #no", "a.html: d.png", "a.html: loads https://cdn.org/x.js",
    ]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_has_each_public_name_once(module):
    shown = re.findall(r"^::: ([\w.]+)$", reference(module), re.MULTILINE)
    loaded = import_module(module)
    public = {*getattr(loaded, "__all__", [path.rpartition(".")[2] for path in shown])} - {"REGISTRATIONS"}
    names = [path.removeprefix(f"{module}.") for path in shown]
    assert sorted(name for name in names if "." not in name) == sorted(public)


@pytest.mark.parametrize("base", BASES)
def test_the_reference_knows_what_users_call(base):
    public = {
        name
        for name, member in vars(base).items()
        if name[0] != "_" and (callable(member) or isinstance(member, property))
    }
    _, methods, hooks = BASES[base]
    assert set(hooks) <= public
    package = import_module(base.__module__.partition(".")[0])
    kinds = {base, *(kind for name in package.__all__ if isinstance(kind := getattr(package, name), type))}
    assert all(any(name in vars(kind) for kind in kinds) for name in methods)


@pytest.mark.long
def test_the_gallery_shows_pages_of_its_own_that_name_no_place_of_the_machine():
    files = gallery()
    frames = re.findall(r'<iframe class="view" src="([^"]+)"', files["index.md"])
    assert sorted(frames) == sorted({*files} - {"index.md"})
    assert all(f"]({frame})" in files["index.md"] for frame in frames)
    assert not [name for name, page in files.items() if str(ROOT) in page]
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', files["six.html"], re.DOTALL)
    assert json.loads(data[1])["methods"] == list(SIX)


def test_every_parameter_has_a_heading_which_a_search_finds():
    page = parameters()
    headings = re.findall(r"^## `(\w+)`$", page, re.MULTILINE)
    assert len(headings) == len({*headings})
    assert {name for chunker in names() for name in describe(chunker)["parameters"]} <= {*headings}
    entry = page.partition("## `overlap_tokens`")[2].partition("##")[0]
    assert "\n* [all chunkers][advchunk.Chunker]: maximum tokens" in entry
    assert "RecursiveChunker" not in entry
    budget = page.partition("## `budget`")[2].partition("##")[0]
    assert "* also in [`retrieval." in budget


def test_every_public_package_is_in_the_reference():
    at_the_top = {"chunkers", "cli", "engine", "models", "readers", "text"}  # whose names users find at the top
    public = {
        f"advchunk.{row.name}"
        for row in iter_modules(advchunk.__path__)
        if row.ispkg and row.name not in at_the_top
        if {*getattr(import_module(f"advchunk.{row.name}"), "__all__", ())} - {"REGISTRATIONS"}
    }
    assert public <= set(MODULES)


def test_the_reference_shows_hooks_to_authors_only():
    for_users, _, for_authors = reference("advchunk").partition("## For your own algorithm")
    assert '::: advchunk.MSTSemanticChunker\n    options: {"heading_level": 3, "members": []}' in for_users
    assert "advchunk.Chunker.plan" in for_authors
    assert '"plan"' not in for_users
    assert '"chunk_many"' in for_users


def test_docstrings_become_markdown():
    assert markdown("A tag <b>, and ``<i>``.") == "A tag &lt;b>, and ``<i>``."
    doc = "Cut.\n\nParameters\n----------\nlow, high : bounds,\n    >= 0.\n\n>>> 1\n1"
    assert entries(sections(doc)["Parameters"])["high"] == "bounds, >= 0."
    parsed = numpydoc(doc)
    assert "low, high\n    bounds,\n    >= 0." in parsed
    assert parsed.endswith("Examples\n--------\n>>> 1\n1")
