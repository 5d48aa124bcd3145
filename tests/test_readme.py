"""The code in README, CONTRIBUTING, and the pages of docs runs and prints the output shown."""

import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import claims
import pytest
from click.testing import CliRunner

from advchunk import registry
from advchunk.cli import main
from advchunk.readers import markdown

ROOT = Path(__file__).parents[1]
GUIDES = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs" / "guides").glob("*.md"))]
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
RECIPES = {
    "tea.md": "# Tea\n\nAdd two spoons of tea. Wait two minutes, or three for black tea. Pour it.\n",
    "prices.csv": "name,price\ngreen,2.50\nblack,1.90\n",
    "cats.md": "# Cats\n\nCats nap all day. A cat purrs when it is calm.\n",
}
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(
    r"(?P<remote><!-- needs the hub -->\n)?```(?P<kind>\w+)\n(?P<code>.*?)^```\n(?:```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


def blocks(path, kind):
    text = (ROOT / path).read_text(encoding="utf-8")
    return [match for match in FENCE.finditer(text) if match["kind"] == kind and not match["remote"]]


def run(path, monkeypatch, which=slice(None)):
    """Run the Python blocks of a page in one module, with their line numbers for tracebacks."""
    module = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", module)  # dataclasses look up their module there
    for block in blocks(path, "python")[which]:
        line = block.string.count("\n", 0, block.start("code"))
        code = compile("\n" * line + block["code"], ROOT / path, "exec")
        with redirect_stdout(StringIO()) as out:
            exec(code, module.__dict__)
        if block["output"] is not None:
            assert out.getvalue() == block["output"], f"{path}, line {line}"
    return module


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder that contains only a README.md, the recipes that it asks, and a folder of documents."""
    (tmp_path / "README.md").write_bytes((ROOT / "README.md").read_bytes())
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "0.jsonl").write_text('{"id": "size", "text": "Tokens are counted."}\n', encoding="utf-8")
    (tmp_path / "recipes").mkdir()
    for name, text in RECIPES.items():
        (tmp_path / "recipes" / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is being sunset:DeprecationWarning")  # which a guide migrates from
@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")
@pytest.mark.filterwarnings("ignore:The 'ranker_type' and:DeprecationWarning")  # LangChain's Milvus
@pytest.mark.parametrize("path", PAGES)
def test_a_page_runs_from_top_to_bottom(path, monkeypatch):
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    run(path, monkeypatch)


@pytest.mark.parametrize("which", range(3))
def test_each_quick_start_runs_by_itself(which, monkeypatch):
    run("README.md", monkeypatch, slice(which, which + 1))


def test_the_example_chunker_in_contributing_keeps_the_contract(monkeypatch):
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    monkeypatch.setattr(markdown, "RULES", markdown.RULES)
    shown = run("CONTRIBUTING.md", monkeypatch)
    text = "Cats purr. Cats nap.\n\nJudges sit. " * 20
    chunks = shown.SharedWordsChunker(max_tokens=30).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.tokens for chunk in chunks) <= 30
    assert shown.SharedWordsSplitter(max_tokens=30).split_text(text) == [chunk.text for chunk in chunks]
    assert shown.SharedWordsNodeParser(max_tokens=30).split_text(text) == [chunk.text for chunk in chunks]


@pytest.mark.slow
@pytest.mark.parametrize("code", sorted({block["code"] for path in PAGES for block in blocks(path, "console")}))
def test_the_commands_of_a_block_run_in_order(code):
    for line in code.splitlines():
        prompt, program, *args = shlex.split(line)
        assert (prompt, program) == ("$", "advchunk")
        CliRunner().invoke(main, args, catch_exceptions=False, standalone_mode=False)


@pytest.mark.parametrize("path", ["README.md", *GUIDES, "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_between_pages_lead_somewhere(path):
    for name, anchor in LINK.findall(outside_code(path)):
        target = (ROOT / path).parent / name if name else ROOT / path
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


@pytest.mark.parametrize("path", PAGES)
def test_a_link_in_capitals_has_the_title_of_its_page(path):
    links = re.findall(r"\[([A-Z][^\]]*)\]\(((?!https?:)[^)#\s]*\.md)\)", outside_code(path))
    targets = {text.replace("\n", " "): (ROOT / path).parent / name for text, name in links}
    titles = {text: outside_code(target).partition("\n")[0][2:] for text, target in targets.items() if target.exists()}
    assert {text: title for text, title in titles.items() if text not in (title, "CONTRIBUTING")} == {}


def test_names_in_contributing_are_those_of_their_modules():
    modules = {path.stem: path for folder in ("core", "tests", "tools") for path in (ROOT / folder).rglob("*.py")}
    named = re.findall(r"`(\w+)\.(?!py`)(\w+)`", outside_code("CONTRIBUTING.md"))
    named = [(module, name) for module, name in named if module in modules]
    assert len(named) > 5
    sources = {module: modules[module].read_text(encoding="utf-8") for module, _ in named}
    assert [pair for pair in named if not re.search(rf"\b{pair[1]}\b", sources[pair[0]])] == []


def outside_code(path):
    return re.sub(r"^```.*?^```$", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """Return the anchors of the headings of a page, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.+)$", outside_code(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", claims.PAGES, ids=lambda page: page.stem)
def test_figures_are_those_of_the_benchmarks_that_a_page_links(page):
    assert [claim for claim in claims.claims(page) if not claim.sources] == []


def test_the_readme_is_short_and_shows_a_result():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    assert (ROOT / re.search(r"!\[.+\]\((.+)\)", text)[1]).stat().st_size < 300_000


def test_the_guides_are_few_and_short():
    assert len(GUIDES) <= 15
    assert sum(len((ROOT / path).read_text(encoding="utf-8").split()) for path in GUIDES) <= 14_000


@pytest.mark.long
@pytest.mark.parametrize("tool", ["chunker_table.py", "write_stubs.py"])
def test_what_repeats_the_registrations_is_up_to_date(tool):
    """After a change of them, `make tables` writes it."""
    subprocess.run([sys.executable, ROOT / "tools" / tool, "--check"], check=True)
