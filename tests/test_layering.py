"""The core stays free of frameworks, and each layer imports only those below it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "core" / "advchunk"
# From the ground up. Modules in one layer do not import each other.
LAYERS = [
    {"errors"},
    {"plugins", "records"},
    {"engine", "text"},
    {"numerics", "sizes"},
    {"models"},
    {"readers"},
    {"layout"},
    {"retrieval"},
    {"chunkers"},
    {"distributed", "enrich", "evaluation", "viewer", "__init__"},
    {"cli"},
    {"__main__"},
]
LAYER = {name: i for i, layer in enumerate(LAYERS) for name in layer}


def imported(path):
    """Return the packages of the core that a module imports, also where it does so late."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "advchunk":
            parts = node.module.split(".")
            yield from parts[1:2] or (alias.name if alias.name in LAYER else "__init__" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("advchunk."))


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_imports_point_down(path):
    package = path.relative_to(CORE).parts[0].removesuffix(".py")
    for other in imported(path):
        assert other == package or LAYER[other] < LAYER[package], f"{package} imports {other}"


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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
            names |= inner or {node.module} & modules.keys()
    return names


def test_no_public_name_is_defined_twice():
    places = {}
    for path in CORE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith(
                "_"
            ):
                places.setdefault(node.name, []).append(str(path.relative_to(CORE)))
    # Each reader is a module with `read`.
    assert {name: paths for name, paths in places.items() if len(paths) > 1 and name != "read"} == {}


def test_the_top_level_is_small():
    assert len([path for path in CORE.iterdir() if not path.name.startswith("__") and path.name != "py.typed"]) <= 17


def test_importing_the_core_loads_numpy_and_nothing_heavier():
    code = "import advchunk, sys; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CORE.parent)
    loaded = {name for name in run.stdout.split() if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert loaded - {"sitecustomize", "usercustomize", "editables"} <= {"advchunk", "numpy"}


CALLS = """
import sys

def calls(module):
    number = 0

    def count(frame, event, _):
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    __import__(module)
    sys.setprofile(None)
    return number

print(calls("numpy"), calls("advchunk"))
"""


def test_importing_the_core_takes_little_more_than_importing_numpy():
    run = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, check=True)
    numpy, core = map(int, run.stdout.split())
    assert core < 2.5 * numpy  # calls, which are the same on a busy machine


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
print(*entered(lambda: {call}), *entered(lambda: {call}))
"""
SIX_LINES = "Tea is good.\n\nGreen tea is made of leaves.\nIt is drunk hot.\n\nMilk is white."


@pytest.mark.parametrize(
    ("imports", "call", "files", "functions"),
    [
        ("from advchunk import RecursiveChunker", f"RecursiveChunker().chunk({SIX_LINES!r})", 13, 49),
        ("from advchunk import RecursiveChunker", f"RecursiveChunker(max_tokens=8).chunk({SIX_LINES!r})", 18, 97),
        (
            "from langchain_advchunk import RecursiveSplitter\nfrom langchain_core.documents import Document",
            f"RecursiveSplitter().split_documents([Document({SIX_LINES!r})])",
            16,
            85,
        ),
    ],
)
def test_a_short_text_enters_few_files_and_functions(imports, call, files, functions):
    code = ENTERED.format(imports=imports, call=call)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    all_files, _, _, warm_functions = map(int, run.stdout.split())  # the first call loads models and words
    assert all_files <= files
    assert warm_functions <= functions
