"""Write the stubs of the packages whose names are imported on first use, for type checkers; --check compares.

A stub has the names that the package declares, and the classes that are made from the registrations of the chunkers.
"""

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from advchunk import registry
from advchunk.chunkers.catalog import chunker_class, params_of
from advchunk.chunkers.frameworks import adapter_base, own_resources

ROOT = Path(__file__).parents[1]
HEADER = "# Written by tools/write_stubs.py from the registrations.\n"


def stub_of_core() -> str:
    """Return the stub of `advchunk`."""
    import advchunk

    names = {name: f"advchunk{module}" for name, module in vars(advchunk)["_NAMES"].items()}
    names |= {row.attribute: row.path.partition(":")[0] for row in registry.rows("chunker", ours=True)}
    return f"{HEADER}{_imports(names)}\n__version__: str\n"


def stub_of_adapter(package: str, module: str) -> str:
    """Return the stub of an adapter package."""
    names = {name: package + inner for name, inner in vars(import_module(package))["_NAMES"].items()}
    # No star import: the documentation's reader of stubs does not follow one.
    names |= dict.fromkeys(import_module(f"{package}.{module}").__all__, f"{package}.{module}")
    return f"{HEADER}{_imports(names)}"


def stub_of_classes(package: str, module: str, function: str, suffix: str, decorator: str = "") -> str:
    """Return the stub of an adapter's module with a class for each chunker."""
    adapters = import_module(f"{package}.{module}")
    imports, classes = {"Any": "typing", "Chunker": "advchunk"}, list[str]()
    if decorator:
        imports["dataclass"] = "dataclasses"
    for row in registry.rows("chunker", ours=True):
        chunker: Any = chunker_class(row.name)
        params, base = params_of(chunker), adapter_base(chunker, adapters.bases, suffix)
        imports |= {params.__name__: params.__module__, base.__name__: base.__module__}
        own = own_resources(chunker, base, adapters.RESOURCE_NAMES)
        body = "".join(f"    {field.name}: Any = ...\n" for field in own) or "    ...\n"
        name = chunker.__name__.removesuffix("Chunker") + suffix
        classes.append(f"{decorator}class {name}({base.__name__}, {params.__name__}):\n{body}")
    base = getattr(adapters.bases, f"Linear{suffix}")
    imports[base.__name__] = base.__module__
    maker = f"def {function}(chunker: type[Chunker]) -> type[{base.__name__}]: ...\n"
    plain = "".join(
        f"from {source} import {name}\n" for name, source in sorted(imports.items(), key=lambda item: item[::-1])
    )
    return f"{HEADER}{plain}\n{maker}\n" + "\n".join(classes)


def _imports(names: Mapping[str, str]) -> str:
    return "".join(f"from {module} import {name} as {name}\n" for name, module in sorted(names.items()))


def stubs() -> dict[Path, str]:
    """Return the text of each stub by its path."""
    written = {
        ROOT / "core/advchunk/__init__.pyi": stub_of_core(),
        ROOT / "langchain_advchunk/__init__.pyi": stub_of_adapter("langchain_advchunk", "splitters"),
        ROOT / "langchain_advchunk/splitters.pyi": stub_of_classes(
            "langchain_advchunk", "splitters", "splitter_class", "Splitter", "@dataclass(kw_only=True, eq=False)\n"
        ),
        ROOT / "llamaindex_advchunk/__init__.pyi": stub_of_adapter("llamaindex_advchunk", "node_parsers"),
        ROOT / "llamaindex_advchunk/node_parsers.pyi": stub_of_classes(
            "llamaindex_advchunk", "node_parsers", "node_parser_class", "NodeParser"
        ),
    }
    return {path: _sorted_and_formatted(path, text) for path, text in written.items()}


def _sorted_and_formatted(path: Path, text: str) -> str:
    for command in (["check", "--select", "I", "--fix-only"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(path), "-"]
        text = subprocess.run(ruff, cwd=ROOT, input=text, capture_output=True, encoding="utf-8", check=True).stdout
    return text


def main() -> None:
    """Write or compare the stubs."""
    outdated = {path: text for path, text in stubs().items() if not path.exists() or path.read_text("utf-8") != text}
    if "--check" in sys.argv[1:] and outdated:
        sys.exit(f"out of date: {', '.join(path.name for path in outdated)}; run make tables")
    for path, text in outdated.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
