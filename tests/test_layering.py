"""The core stays free of frameworks, each layer of the kernel imports only those below it, and rooms import only the kernel."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from advchunk import registry

CORE = Path(__file__).parents[1] / "core" / "advchunk"
# The kernel, from the ground up. Modules in one layer do not import each other.
LAYERS = [
    {"errors", "lazy"},
    {"signal"},
    {"records", "registry"},
    {"engine", "text"},
    {"models", "readers"},
    {"building"},
    {"chunkers"},
    {"__init__"},
    {"enrich", "retrieval"},
    {"evaluation", "tables"},
    {"cli"},
    {"__main__"},
]
KERNEL = {name: i for i, layer in enumerate(LAYERS) for name in layer}
ROOMS = {*registry._ROOMS}
LAYER = KERNEL


def tree(path):
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """Return the packages of the core that a module imports, also where it does so late."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "advchunk":
            parts = node.module.split(".")
            yield from parts[1:2] or (alias.name if alias.name in LAYER else "__init__" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("advchunk."))


def test_imports_point_down():
    up = [
        f"{path.relative_to(CORE)} imports {other}"
        for path in sorted(CORE.rglob("*.py"))
        for package in [path.relative_to(CORE).parts[0].removesuffix(".py")]
        for other in imported(path)
        if other != package and LAYER[other] >= LAYER[package]
    ]
    assert up == []


def test_there_are_rooms():
    assert {"chunkers.by_topic", "chunkers.experimental", "readers.pages", "cli.viewer"} <= ROOMS


def test_modules_import_no_circle():
    modules = {module_name(path): path for path in CORE.rglob("*.py")}
    graph = {name: module_imports(path, modules) - {name} for name, path in modules.items()}
    while leaves := [name for name, others in graph.items() if not others & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph


def module_name(path):
    return ".".join(["advchunk", *path.relative_to(CORE).with_suffix("").parts]).removesuffix(".__init__")


def module_imports(path, modules):
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
            names |= inner or {node.module} & modules.keys()
    return names


def test_no_public_name_is_defined_twice():
    places = {}
    for path in CORE.rglob("*.py"):
        for node in tree(path).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith(
                "_"
            ):
                places.setdefault(node.name, []).append(str(path.relative_to(CORE)))
    # Each reader is a module with `read`, or with `blocks` if the text stays as it is, and may have `read_all` and `restore_layout`.
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
    assert core < 0.05 * numpy  # calls, which are the same on a busy machine
    assert chunker < numpy


def run_python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True).stdout


def modules_after(code):
    """Return the modules of the core that are loaded after some code."""
    listing = "import sys; print(*[name for name in sys.modules if name.startswith('advchunk.')])"
    return run_python(f"{code}\n{listing}").split()


def test_importing_the_core_loads_few_modules():
    assert len(modules_after("import advchunk")) <= 40


def parts(room, modules):
    """Return the modules of a room, without its table, which is its ``__init__``."""
    return [name for name in modules if name.startswith(f"advchunk.{room}.") and ".numerics" not in name]


@pytest.mark.parametrize("name", ["recursive", "mst-semantic", "texttiling"])
def test_using_a_chunker_loads_its_room_alone(name):
    modules = modules_after(f"import advchunk; advchunk.create({name!r}, experimental=True).chunk('Tea. Milk.')")
    used = {room for room in ROOMS if parts(room, modules)}
    own = {room for room in ROOMS for row in registry.rows("chunker") if row.name == name and f".{room}." in row.path}
    assert used == own & ROOMS
    assert len(modules) <= 92


ENTERED = """
import os, sys
{imports}
def entered(call):
    codes = set()
    def profile(frame, event, _):
        if event == "call":
            codes.add(frame.f_code)
    sys.setprofile(profile)
    call()
    sys.setprofile(None)
    names = ("advchunk", "langchain_advchunk")
    ours = {{c for c in codes if any(f"{{os.sep}}{{name}}{{os.sep}}" in c.co_filename for name in names)}}
    functions = [code for code in ours if not code.co_name.startswith("<")]  # Python 3.12 enters no comprehensions
    return len({{code.co_filename for code in ours}}), len(functions)
{call}  # the first call loads models and words
print(*entered(lambda: {call}))
"""
SIX_LINES = "Tea is good.\n\nGreen tea is made of leaves.\nIt is drunk hot.\n\nMilk is white."


@pytest.mark.parametrize(
    ("imports", "call", "files", "functions"),
    [
        ("from advchunk import RecursiveChunker", f"RecursiveChunker().chunk({SIX_LINES!r})", 13, 56),
        ("from advchunk import RecursiveChunker", f"RecursiveChunker(max_tokens=8).chunk({SIX_LINES!r})", 19, 111),
        (
            "from langchain_advchunk import RecursiveSplitter\nfrom langchain_core.documents import Document",
            f"RecursiveSplitter().split_documents([Document({SIX_LINES!r})])",
            16,
            92,
        ),
    ],
)
def test_a_short_text_enters_few_files_and_functions(imports, call, files, functions):
    code = ENTERED.format(imports=imports, call=call)
    entered = map(int, run_python(code).split())
    assert all(number <= most for number, most in zip(entered, (files, functions), strict=True))


def test_no_module_on_the_path_of_the_tests_hides_one_of_the_standard_library():
    folders = (CORE.parents[1] / name for name in ("benchmarks", "tests", "tools"))
    assert {path.stem for folder in folders for path in folder.glob("*.py")} & sys.stdlib_module_names == set()
