"""Write the stubs of the packages whose names are imported on first use, for type checkers; --check compares.

A stub has the lazy names of a package, and the classes that are made from the registrations of the chunkers.
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
HEADER = "# Written by tools/write_stubs.py from the lazy names and the registrations.\n"


def stub_of_package(package: str, classes: Mapping[str, str] | None = None) -> str:
    """Return the stub of a package: its lazy names, further classes with their modules, and its rows."""
    loaded = import_module(package)
    places = registry.LAZY_NAMES[package].items()
    names = {name: f"{package}{module}" if module.startswith(".") else module for name, module in places}
    rows = "\nREGISTRATIONS: tuple[Registration, ...]\n" if hasattr(loaded, "REGISTRATIONS") else ""
    typed = "from advchunk.registry import Registration\n" if rows else ""
    version = "\n__version__: str\n" if package == "advchunk" else ""
    return f"{HEADER}{typed}{_imports({**names, **(classes or {})})}{rows}{version}"


def stub_of_adapter(package: str, module: str) -> str:
    """Return the stub of an adapter package."""
    # No star import: the documentation's reader of stubs does not follow one.
    module = f"{package}.{module}"
    return stub_of_package(package, dict.fromkeys(import_module(module).__all__, module))


def stub_of_classes(package: str, module: str, function: str, suffix: str, decorator: str = "") -> str:
    """Return the stub of an adapter's module with a class for each chunker."""
    adapters = import_module(f"{package}.{module}")
    imports, classes = {"Any": "typing", "Chunker": "advchunk"}, list[str]()
    if decorator:
        imports["dataclass"] = "dataclasses"
    for row in registry.rows_of("chunker", ours=True):
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


def _stub_path(package: str) -> Path:
    return ROOT / "core" / package.replace(".", "/") / "__init__.pyi"


def stubs() -> dict[Path, str]:
    """Return the text of each stub by its path."""
    chunkers = {row.attribute: row.path.partition(":")[0] for row in registry.rows_of("chunker", ours=True)}
    for path in (ROOT / "core/advchunk").rglob("__init__.py"):
        import_module(".".join(path.parent.relative_to(ROOT / "core").parts))
    ours = [package for package in registry.LAZY_NAMES if package.partition(".")[0] == "advchunk"]
    written = {
        **{_stub_path(package): stub_of_package(package) for package in ours},
        _stub_path("advchunk"): stub_of_package("advchunk", chunkers),
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
