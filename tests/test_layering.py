"""The core stays free of frameworks, imports point down, and each family of plugins can be deleted."""

import ast
import os
import subprocess
import sys

import import_graph
import pytest
from import_graph import CORE, FAMILIES, LAYER, MODULES, arrows, edges, imports, into_families

from advchunk import registry

MOST_ARROWS = 80


def test_imports_point_down():
    assert {*map(import_graph.entry, MODULES)} == LAYER.keys()
    assert {pair: places for pair, places in arrows().items() if LAYER[pair[1]] >= LAYER[pair[0]]} == {}


def test_few_entries_import_each_other():
    assert len(arrows()) <= MOST_ARROWS


def test_an_import_is_seen_wherever_it_stands(tmp_path):
    code = (
        "import advchunk.errors\ndef late():\n    from advchunk import records\n    from advchunk.text.terms "
        "import Words"
    )
    (tmp_path / "some.py").write_text(code)
    assert [*imports(tmp_path / "some.py")] == [
        ("advchunk.errors", 1),
        ("advchunk.records", 3),
        ("advchunk.text.terms", 4),
    ]


def test_modules_import_no_circle():
    graph = {name: set() for name in MODULES}
    for name, other, _ in edges():
        graph[name] |= {other} - {name}
    while leaves := [name for name, others in graph.items() if not others & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph


def test_only_the_registry_names_a_family():
    """So that each family can be deleted, with its row in `registry.PACKAGES`."""
    assert into_families() == []
    assert [family for family in FAMILIES if f"advchunk.{family}" not in MODULES] == []


HIDDEN = """
import sys
from pathlib import Path

class Hide:
    def find_spec(self, name, *_):
        if name.startswith(hidden):
            raise ImportError(f"{name} is hidden")

families = sys.argv[1:]
hidden = tuple(f"advchunk.{family}" for family in families)
sys.meta_path.insert(0, Hide())
import advchunk
from advchunk import registry
registry.PACKAGES = [package for package in registry.PACKAGES if package not in families]
from advchunk.cli import main
from click.testing import CliRunner

for kind in "chunker", "reader", "embedder", "splitter", "cache", "metric", "command":
    for row in registry.rows_of(kind, ours=True):
        assert row.load() is not None, row
for name in advchunk.__all__:
    assert getattr(advchunk, name) is not None
text = "# Tea\\n\\nGreen tea is made of leaves. It is drunk hot.\\n\\nMilk is white. Cows give it."
Path("tea.md").write_text(text)
assert advchunk.names() == ["sliding-window", "recursive", "auto"]
for name in advchunk.names():
    assert "".join(chunk.text for chunk in advchunk.create(name).chunk(advchunk.read_file("tea.md"))) == text
for command in ["list"], ["--help"], ["chunk", "tea.md", "-m", "recursive"], ["ask", "tea.md", "What is drunk hot?"]:
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
from langchain_advchunk import RecursiveSplitter
from llamaindex_advchunk import RecursiveNodeParser
assert RecursiveSplitter().split_text(text) == RecursiveNodeParser().split_text(text) == [text]
"""


@pytest.mark.slow
def test_what_is_left_works_without_any_family(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CORE.parent), str(CORE.parents[1])])}
    run = subprocess.run(
        [sys.executable, "-c", HIDDEN, *FAMILIES],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_no_public_name_is_defined_twice():
    places = {}
    for path in CORE.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith(
                "_"
            ):
                places.setdefault(node.name, []).append(str(path.relative_to(CORE)))
    # Each reader is a module with `read`, or with `blocks` if the text stays as it is, and may have `read_all` and
    # `restore_layout`.
    assert {
        name: paths
        for name, paths in places.items()
        if len(paths) > 1 and name not in {"read", "read_all", "blocks", "restore_layout"}
    } == {}


def test_importing_the_core_loads_numpy_and_nothing_heavier():
    code = "import advchunk, sys; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CORE.parent)
    loaded = {name for name in run.stdout.split() if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert loaded - {"sitecustomize", "usercustomize", "editables"} <= {"advchunk", "numpy"}


CALLS = """
import sys

def calls(act):
    number = 0

    def count(frame, event, _):
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    act()
    sys.setprofile(None)
    return number

numpy = calls(lambda: __import__("numpy"))
print(numpy, calls(lambda: __import__("advchunk")), calls(lambda: __import__("advchunk").RecursiveChunker))
"""


def test_importing_the_core_takes_little_and_a_chunker_less_than_numpy():
    numpy, core, chunker = map(int, run_python(CALLS).split())
    assert core < 0.1 * numpy  # calls, which are the same on a busy machine
    assert core + chunker < numpy


def run_python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True).stdout


def modules_after(code):
    """Return the modules of the core that are loaded after some code."""
    listing = "import sys; print(*[name for name in sys.modules if name.startswith('advchunk.')])"
    return run_python(f"{code}\n{listing}").split()


def test_importing_the_core_loads_few_modules():
    assert len(modules_after("import advchunk")) <= 40


@pytest.mark.parametrize("name", ["recursive", "mst-semantic", "texttiling"])
def test_using_a_chunker_loads_its_family_alone(name):
    modules = modules_after(f"import advchunk; advchunk.create({name!r}, experimental=True).chunk('Tea. Milk.')")
    used = {family for family in FAMILIES if any(module.startswith(f"advchunk.{family}.") for module in modules)}
    assert used == {
        family for family in FAMILIES if registry.find("chunker", name).path.startswith(f"advchunk.{family}.")
    }
    assert len(modules) <= 93


CALLS_OF = """
import sys
{imports}
def count(call):
    number = 0
    def profile(frame, event, _):
        nonlocal number
        number += event == "call"
    sys.setprofile(profile)
    call()
    sys.setprofile(None)
    return number - 1
{call}  # the first call loads models and words
print(count(lambda: {call}))
"""
SENTENCE = "from advchunk import RecursiveChunker", 'RecursiveChunker(max_tokens=100).chunk("one short sentence.")'
PARAGRAPHS = "\n\n".join([
    "# Tea", "Green tea is made of leaves that are steamed soon after they are picked, so that they stay green. It is "
             "drunk hot, and in summer also cold.",
    "Black tea is made of leaves that wither and are rolled. Their juice turns brown in the air within two hours. "
    "Then they are dried in an oven, and sorted.",
    "## How to brew it", "Boil the water. Let it cool for a minute, for green tea even for three. Put a spoon of "
                         "leaves into the pot for each cup, and one more for the pot.",
    "Pour it through a sieve. Some take milk, others lemon, but never both. Sugar is added last, when the tea is in "
    "the cup, and stirred with a small spoon.",
    "## Where it grows", "Tea grows in warm countries with much rain. Most of it comes from China, India, Kenya, and "
                         "Sri Lanka. The best leaves grow slowly, in the mountains, where nights are cool and "
                         "mornings are full of mist, as in Darjeeling, Uva, and Wuyi. A small part of the world's tea "
                         "also comes from Vietnam, Turkey, and Japan.",
])  # fmt: skip
SPLITTER = (
    "from langchain_advchunk import RecursiveSplitter\nfrom langchain_core.documents import Document\n"
    "splitter = RecursiveSplitter(max_tokens=90)",
    f"splitter.split_documents([Document({PARAGRAPHS!r}, metadata=dict(source='tea.md'))])",
)


@pytest.mark.parametrize(("code", "most"), [(SENTENCE, 50), (SPLITTER, 450)], ids=["a sentence", "951 characters"])
def test_a_short_text_takes_few_calls(code, most):
    assert len(PARAGRAPHS) == 951
    imports, call = code
    assert (
        int(run_python(CALLS_OF.format(imports=imports, call=call))) <= most
    )  # Python's, which a busy machine does not change


def test_no_module_on_the_path_of_the_tests_hides_one_of_the_standard_library():
    folders = (CORE.parents[1] / name for name in ("benchmarks", "tests", "tools"))
    assert {path.stem for folder in folders for path in folder.glob("*.py")} & sys.stdlib_module_names == set()
