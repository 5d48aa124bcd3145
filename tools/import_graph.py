"""The imports between the entries of core/advchunk: python tools/import_graph.py [-v] prints how many there are, and
which.

An entry is a module or package at the top of `advchunk`; an arrow goes from an entry to another that one of its modules
imports, at the top of the file or late. `LAYERS` is the diagram in CONTRIBUTING, which `tests/test_layering.py` checks.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

CORE = Path(__file__).parents[1] / "core" / "advchunk"
LAYERS = (
    {"errors"},
    {"records", "registry"},
    {"text", "engine"},
    {"models", "readers"},
    {"building"},
    {"chunkers"},
    {"enrich", "retrieval"},
    {"tables", "evaluation"},
    {"__init__"},
    {"cli"},
    {"__main__"},
)
"""The entries from the bottom up: each imports only those in lower layers."""
GROUND = {"errors", "records", "registry"}
"""Entries that all others may import, which are not counted apart."""
LAYER = {entry: number for number, layer in enumerate(LAYERS) for entry in layer}
FAMILIES = {
    "readers.code": (),
    "readers.conversations": (),
    "readers.data": (),
    "readers.mail": (),
    "readers.markups": (),
    "readers.office": (),
    "readers.pages": ("chunkers.by_page",),
    "readers.papers": ("chunkers.by_page",),
    "readers.pubmed": ("chunkers.biomedical",),
    "chunkers.biomedical": (),
    "chunkers.by_page": (),
    "chunkers.by_topic": (),
    "chunkers.experimental": (),
    "chunkers.graphrag": (),
    "enrich": (),
    "tables": (),
    "evaluation": ("cli.evaluation",),
    "cli.evaluation": (),
    "cli.viewer": (),
}
"""Packages that can be deleted: no other imports them but those listed with them, and only `registry.PACKAGES` names
them."""


def module_name(path: Path) -> str:
    """Return the dotted name of a module, such as "advchunk.readers.html"."""
    return ".".join(["advchunk", *path.relative_to(CORE).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(CORE.rglob("*.py"))}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the modules of the core that a file imports, with the line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "advchunk":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "advchunk")


def edges() -> list[tuple[str, str, str]]:
    """Return each import in the core: the module that imports, the module that is imported, and the place, as
    "path:line".
    """
    return [
        (name, other, f"{path.relative_to(CORE)}:{line}")
        for name, path in MODULES.items()
        for other, line in imports(path)
    ]


def entry(module: str) -> str:
    """Return the top entry of a module, such as "readers"; "__init__" for `advchunk` itself."""
    return [*module.split("."), "__init__"][1]


def arrows() -> dict[tuple[str, str], list[str]]:
    """Return the imports between top entries: places by pairs."""
    pairs = dict[tuple[str, str], list[str]]()
    for name, other, place in edges():
        if entry(name) != entry(other):
            pairs.setdefault((entry(name), entry(other)), []).append(f"{place} imports {other}")
    return pairs


def into_families() -> list[str]:
    """Return the imports of modules in families from outside of them."""

    def inside(module: str, *families: str) -> bool:
        return any(f"{module}.".startswith(f"advchunk.{family}.") for family in families)

    return [
        f"{place} imports {other}" for name, other, place in edges() for family, users in FAMILIES.items()
        if inside(other, family) and not inside(name, family, *users)
    ]  # fmt: skip


def main() -> None:
    """Print the number of entries and arrows; with -v, each arrow, the number of its imports, and one of them."""
    pairs = arrows()
    others = sum(target not in GROUND for _, target in pairs)
    print(
        f"{len({*map(entry, MODULES)})} entries, {len(pairs)} arrows, {others} of them not to "
        f"{', '.join(sorted(GROUND))}"
    )
    for (source, target), places in sorted(pairs.items()) if "-v" in sys.argv[1:] else ():
        print(f"{source} -> {target}: {len(places)}, such as {places[0]}")


if __name__ == "__main__":
    main()
