"""Compare chunkers of source code: functions kept whole, names known, offsets, speed. See STRUCTURE.md.

python benchmarks/source_code.py --data DIR [--collect] [--size 2000]

DIR/LANGUAGE holds source files; --collect fills it from Debian packages, npm and PyPI (`SOURCES`), and from a JDK on
this machine. All chunkers count characters. Functions and names come from a walk of the syntax tree that shares no code
with the reader; those of Python from its own parser. Times are processor seconds, the minimum of 3 interleaved runs.
Prints JSON.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tree_sitter
from runner import argument_parser

from advchunk import Document, create
from advchunk.readers.code.languages import load_grammar

_GO, _RUST, _GEMS = (
    "usr/share/gocode/src/github.com",
    "usr/share/cargo/registry",
    "usr/share/rubygems-integration/all/gems",
)
# By language: the client that fetches a package, its name and version, and its files.
SOURCES: Mapping[str, Sequence[tuple[str, str, Sequence[str]]]] = {
    "bash": [
        ("apt", "bash-completion", ["usr/share/bash-completion/bash_completion", "usr/share/bash-completion/completions/ssh"]),  # noqa: E501
        ("apt", "git", ["usr/share/doc/git/contrib/subtree/git-subtree.sh"]),
    ],
    "c": [("pip", "psutil==7.0.0", ["psutil/_psutil_posix.c", "psutil/_psutil_aix.c", "psutil/arch/osx/proc.c"])],
    "cpp": [
        ("apt", "libfmt-dev", ["usr/include/fmt/core.h", "usr/include/fmt/chrono.h"]),
        ("apt", "nlohmann-json3-dev", ["usr/include/nlohmann/detail/output/serializer.hpp"]),
    ],
    "csharp": [("pip", "pythonnet==3.0.5", [f"src/runtime/{name}.cs" for name in ("MethodBinder", "Converter", "TypeManager")])],  # noqa: E501
    "go": [
        ("apt", "golang-github-spf13-cobra-dev", [f"{_GO}/spf13/cobra/{name}.go" for name in ("command", "completions")]),  # noqa: E501
        ("apt", "golang-github-gorilla-mux-dev", [f"{_GO}/gorilla/mux/route.go"]),
    ],
    "java": [("jdk", "java.base/java/util", ["ArrayDeque.java", "Optional.java", "StringJoiner.java"])],
    "javascript": [
        ("npm", "express@4.21.2", ["lib/response.js", "lib/router/index.js"]),
        ("npm", "lodash@4.17.21", ["core.js"]),
    ],
    "php": [
        ("apt", "php-twig", ["usr/share/php/Twig/Environment.php", "usr/share/php/Twig/ExpressionParser.php"]),
        ("apt", "php-guzzlehttp-psr7", ["usr/share/php/GuzzleHttp/Psr7/Uri.php"]),
    ],
    "python": [("pip", "psutil==7.0.0", ["psutil/__init__.py", "psutil/_pslinux.py", "psutil/_common.py"])],
    "ruby": [
        ("apt", "ruby-rack", [f"{_GEMS}/rack-*/lib/rack/{name}.rb" for name in ("request", "utils")]),
        ("apt", "ruby-sinatra", [f"{_GEMS}/sinatra-*/lib/sinatra/base.rb"]),
    ],
    "rust": [
        ("apt", "librust-regex-dev", [f"{_RUST}/regex-*/src/{name}.rs" for name in ("exec", "compile")]),
        ("apt", "librust-clap-3-dev", [f"{_RUST}/clap-3*/src/error/mod.rs"]),
    ],
    "sql": [("apt", "postgresql-15-partman", [f"usr/share/postgresql/15/extension/pg_partman--{name}.sql"
                                               for name in ("4.1.0--4.2.0", "4.6.2--4.7.0", "4.3.0--4.3.1")])],
    "typescript": [
        ("npm", "rxjs@7.8.1", ["src/internal/Observable.ts", "src/internal/testing/TestScheduler.ts"]),
        ("npm", "zod@4.0.0", ["src/v4/core/checks.ts"]),
    ],
}  # fmt: skip
FUNCTIONS = frozenset(
    [
        "function_definition",
        "function_declaration",
        "generator_function_declaration",
        "method_definition",
        "method_declaration",
        "constructor_declaration",
        "destructor_declaration",
        "local_function_statement",
        "function_item",
        "method",
        "singleton_method",
        "create_function",
        "arrow_function",
        "function_expression",
    ]
)
NAMED = frozenset(
    [
        "class_definition",
        "class_declaration",
        "class_specifier",
        "struct_specifier",
        "namespace_definition",
        "namespace_declaration",
        "interface_declaration",
        "trait_declaration",
        "trait_item",
        "mod_item",
        "impl_item",
        "class",
        "module",
        "internal_module",
        "abstract_class_declaration",
        "enum_declaration",
        "struct_declaration",
        "record_declaration",
    ]
)
NAME_FIELDS = ("name", "declarator", "type")
REPEAT = 3


class Function(NamedTuple):
    """A function of several lines: its span, its name and the names around it, each with its offset."""

    start: int
    end: int
    names: tuple[tuple[str, int], ...]


class Piece(NamedTuple):
    """A chunk as a chunker gives it: its text, its offsets or None, and what its metadata says of its place."""

    text: str
    span: tuple[int, int] | None
    place: str = ""


# The files.


def collect(folder: Path) -> dict[str, str]:
    """Fetch the files into ``folder``/LANGUAGE, and return the version of each package."""
    versions = dict[str, str]()
    with tempfile.TemporaryDirectory() as temporary:
        for language, packages in SOURCES.items():
            for client, package, names in packages:
                root = Path(temporary) / re.sub(r"\W", "_", package)
                if not root.exists():
                    root.mkdir()
                    versions[package] = FETCHERS[client](package, root)
                for name in names:
                    path = next((path for path in root.glob(f"**/{name}") if path.is_file()), None)
                    if path is None:
                        print(f"{package} has no {name}", file=sys.stderr)
                        continue
                    suffix = "" if path.suffix else ".sh"
                    target = folder / language / f"{path.parent.name.strip('_')}_{path.name}{suffix}"
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(path.read_bytes())
    return versions


def fetch_apt(package: str, root: Path) -> str:
    """Download and unpack a package of Debian; its version comes with the file name."""
    subprocess.run(["apt-get", "download", "-qq", package], cwd=root, check=True, stderr=subprocess.DEVNULL)
    (path,) = root.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", path, root], check=True)
    return path.name.split("_")[1]


def fetch_archive(command: Sequence[str], package: str, root: Path) -> str:
    """Download and unpack a package that is an archive."""
    subprocess.run([*command, package], cwd=root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (path,) = [*root.glob("*.tgz"), *root.glob("*.tar.gz")]
    with tarfile.open(path) as archive:
        archive.extractall(root, filter="data")
    return re.split("[=@]", package)[-1]


def fetch_jdk(package: str, root: Path) -> str:
    """Unpack the sources of a JDK that is installed."""
    path = next(path for path in Path("/usr/lib/jvm").glob("*/lib/src.zip") if path.exists())
    with zipfile.ZipFile(path) as archive:
        archive.extractall(root, [name for name in archive.namelist() if name.startswith(f"{package}/")])
    return path.parts[4]


PIP = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
FETCHERS: Mapping[str, Callable[[str, Path], str]] = {
    "apt": fetch_apt, "jdk": fetch_jdk, "npm": partial(fetch_archive, ["npm", "pack"]), "pip": partial(fetch_archive, PIP),  # noqa: E501
}  # fmt: skip


# The functions, by parsers that the reader does not use, or uses otherwise.


def functions(text: str, language: str) -> list[Function]:
    """Return the functions of several lines that have a name."""
    result = python_functions(text) if language == "python" else tree_functions(text, language)
    return [function for function in result if "\n" in text[function.start : function.end].strip()]


def python_functions(text: str) -> Iterator[Function]:
    """Yield functions according to Python's parser."""
    lines = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]

    def offset(line: int, column: int) -> int:
        start = lines[line - 1]
        return start + len(text[start:].encode()[:column].decode())

    def walk(node: ast.AST, names: tuple[tuple[str, int], ...]) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                start, end = (
                    offset(child.lineno, child.col_offset),
                    offset(child.end_lineno or 0, child.end_col_offset or 0),
                )
                inner = (*names, (child.name, text.index(child.name, start)))
                if not isinstance(child, ast.ClassDef):
                    yield Function(start, end, inner)
            yield from walk(child, inner)

    return walk(ast.parse(text), ())


def tree_functions(text: str, language: str) -> list[Function]:
    """Return functions according to the syntax tree."""
    data, result = text.encode(), list[Function]()
    characters = np.r_[0, np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)]

    def walk(node: tree_sitter.Node, names: tuple[tuple[str, int], ...]) -> None:
        inner = names
        if node.is_named and node.type in FUNCTIONS | NAMED and (name := name_node(node)):
            words = re.findall(r"\w+", (name.text or b"").decode())
            inner = (*names, *((word, int(characters[name.start_byte])) for word in words[-1:]))
            if node.type in FUNCTIONS:
                result.append(Function(int(characters[node.start_byte]), int(characters[node.end_byte]), inner))
        for child in node.children:
            walk(child, inner)

    walk(tree_sitter.Parser(load_grammar(language)).parse(data).root_node, ())
    return result


def name_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node of a name: of the definition, or of the variable or key that a function without one is the value
    of.
    """
    if node.type in {"arrow_function", "function_expression"} and node.parent is not None:
        fields = {"variable_declarator": "name", "pair": "key", "assignment_expression": "left"}
        field = fields.get(node.parent.type)
        return node.parent.child_by_field_name(field) if field else None
    if node.type == "create_function":
        return next((child for child in node.children if child.type == "object_reference"), None)
    fields = ("type",) if node.type == "impl_item" else NAME_FIELDS[:2]  # type: ignore[assignment]
    result = next((child for field in fields if (child := node.child_by_field_name(field))), None)
    while result is not None and (inner := result.child_by_field_name("declarator") or last_declarator(result)):
        result = inner
    if result is not None and result.type == "generic_type":
        result = result.child_by_field_name("type")
    return result


def last_declarator(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the declarator in a reference of C++."""
    return node.named_children[-1] if node.type == "reference_declarator" and node.named_children else None


# The chunkers.


def ours(name: str, size: int) -> Callable[[Path, str, str], list[Piece]]:
    """Return a chunker of this package with all defaults but the size."""
    chunker = create(name, max_tokens=size, tokenizer="characters", markup="code")

    def split(path: Path, text: str, language: str) -> list[Piece]:  # noqa: ARG001 - as the others
        chunks = chunker.chunk(Document(text, str(path)))
        return [Piece(chunk.text, (chunk.start, chunk.end), str(chunk.metadata.get("section", ""))) for chunk in chunks]

    return split


def langchain(size: int) -> Callable[[Path, str, str], list[Piece]]:
    """Return LangChain's splitter by the separators of a language."""
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    names = {"bash": None, "javascript": "js", "typescript": "ts", "sql": None}

    def split(path: Path, text: str, language: str) -> list[Piece]:  # noqa: ARG001
        name = names.get(language, language)
        options: dict[str, Any] = {"chunk_size": size, "chunk_overlap": 0, "add_start_index": True}
        if name is None:
            splitter = RecursiveCharacterTextSplitter(**options)
        else:
            splitter = RecursiveCharacterTextSplitter.from_language(Language(name), **options)
        pieces = splitter.create_documents([text])
        starts = [piece.metadata["start_index"] for piece in pieces]
        return [
            Piece(piece.page_content, (start, start + len(piece.page_content)))
            for piece, start in zip(pieces, starts, strict=True)
        ]

    return split


def llamaindex(size: int) -> Callable[[Path, str, str], list[Piece]]:
    """Return LlamaIndex's splitter by syntax trees."""
    from llama_index.core import Document as Source
    from llama_index.core.node_parser import CodeSplitter

    def split(path: Path, text: str, language: str) -> list[Piece]:  # noqa: ARG001
        nodes = CodeSplitter(language, max_chars=size).get_nodes_from_documents([Source(text=text)])
        spans = [(node.start_char_idx, node.end_char_idx) for node in nodes]  # type: ignore[attr-defined]
        return [
            Piece(node.get_content(), None if start is None or end is None else (start, end))
            for node, (start, end) in zip(nodes, spans, strict=True)
        ]

    return split


def chonkie(size: int) -> Callable[[Path, str, str], list[Piece]]:
    """Return chonkie's splitter by syntax trees."""
    from chonkie import CodeChunker

    def split(path: Path, text: str, language: str) -> list[Piece]:  # noqa: ARG001
        chunks = CodeChunker("character", chunk_size=size, language=language).chunk(text)
        return [Piece(chunk.text, (chunk.start_index, chunk.end_index)) for chunk in chunks]

    return split


CHUNKERS: Mapping[str, Callable[[int], Callable[[Path, str, str], list[Piece]]]] = {
    "advchunk recursive": partial(ours, "recursive"),
    "advchunk universal-semantic": partial(ours, "universal-semantic"),
    "advchunk optimal-semantic": partial(ours, "optimal-semantic"),
    "LangChain from_language": langchain,
    "LlamaIndex CodeSplitter": llamaindex,
    "chonkie CodeChunker": chonkie,
}


# The measures.


def locate(text: str, pieces: Sequence[Piece]) -> list[tuple[int, int] | None]:
    """Return the true spans of chunks: where their text next occurs; None if it is not in the text."""
    spans, at = list[tuple[int, int] | None](), 0
    for piece in pieces:
        start = text.find(piece.text, at)
        start = text.find(piece.text) if start < 0 else start
        spans.append(None if start < 0 else (start, start + len(piece.text)))
        at = start + 1 if start >= 0 else at
    return spans


def measure(text: str, language: str, pieces: Sequence[Piece], size: int) -> dict[str, int]:
    """Return counts for one file."""
    spans = locate(text, pieces)
    covered = np.zeros(len(text) + 1, dtype=np.int64)
    for span in filter(None, spans):
        covered[span[0]] += 1
        covered[span[1]] -= 1
    is_covered = np.cumsum(covered)[:-1] > 0
    is_text = np.array([not letter.isspace() for letter in text])
    counts = {
        "chunks": len(pieces),
        "exact": sum(p.span is not None and text[slice(*p.span)] == p.text for p in pieces),
        "over": sum(len(piece.text) > size for piece in pieces),
        "letters": int(is_text.sum()),
        "kept": int((is_text & is_covered).sum()),
        "fitting": 0,
        "whole": 0,
        "parts": 0,
        "named": 0,
    }
    for start, end, names in functions(text, language):
        around = [i for i, s in enumerate(spans) if s and s[0] < end and start < s[1]]
        line = text.rfind("\n", 0, start) + 1
        if end - (start if text[line:start].strip() else line) <= size:  # with its indentation
            counts["fitting"] += 1
            counts["whole"] += any(s and s[0] <= start and end <= s[1] for s in spans)
        for i in around:
            span, words = spans[i] or (0, 0), set(re.findall(r"\w+", pieces[i].place))
            counts["parts"] += 1
            counts["named"] += all(word in words or span[0] <= at < span[1] for word, at in names)
    return counts


def run(files: Mapping[str, Sequence[Path]], size: int) -> dict[str, Any]:
    """Run all chunkers on all files; those whose library is missing are named."""
    figures: dict[str, Any] = {"chunkers": {}, "languages": {}, "missing": {}}
    splitters = dict[str, Callable[[Path, str, str], list[Piece]]]()
    for name, make in CHUNKERS.items():
        try:
            splitters[name] = make(size)
        except ImportError as error:
            figures["missing"][name] = str(error)
    totals: dict[str, dict[str, float]] = {name: {} for name in splitters}
    for language, paths in files.items():
        for path in paths:
            text = path.read_bytes().decode("utf-8-sig")
            times = dict.fromkeys(splitters, np.inf)
            for _ in range(REPEAT):
                for name, split in splitters.items():
                    start = time.process_time()
                    pieces = split(path, text, language)
                    times[name] = min(times[name], time.process_time() - start)
                    if name not in figures["languages"].setdefault(language, {}).get(path.name, {}):
                        row = measure(text, language, pieces, size)
                        figures["languages"][language].setdefault(path.name, {"characters": len(text)})[name] = row
            for name, total in totals.items():
                row = figures["languages"][language][path.name][name]
                for key, value in {**row, "seconds": times[name], "characters": len(text)}.items():
                    total[key] = total.get(key, 0) + value
    figures["chunkers"] = totals
    figures["versions"] = {
        name: version(name) for name in ("langchain-text-splitters", "llama-index-core", "tree-sitter")
    }
    return figures


def table(figures: Mapping[str, Any]) -> str:
    """Return the totals as a Markdown table."""
    rows = ["| | chunks | functions whole | names known | exact offsets | text kept | over the size | kB a second |"]
    rows.append("|---" * 8 + "|")
    for name, row in figures["chunkers"].items():
        shares = [
            f"{int(row[part]):,} of {int(row[whole]):,} ({row[part] / max(row[whole], 1):.1%})"
            for part, whole in (("whole", "fitting"), ("named", "parts"), ("exact", "chunks"))
        ]
        cells = [f"{int(row['chunks']):,}", *shares, f"{row['kept'] / row['letters']:.2%}", f"{int(row['over'])}"]
        rows.append(f"| {name} | {' | '.join(cells)} | {row['characters'] / 1000 / row['seconds']:,.0f} |")
    return "\n".join(rows)


def main() -> None:
    """Run the comparison."""
    parser = argument_parser(__doc__)
    parser.add_argument("--collect", action="store_true")
    parser.add_argument("--size", type=int, default=2000)
    arguments = parser.parse_args()
    packages = collect(arguments.data) if arguments.collect else {}
    folders = sorted(path for path in arguments.data.iterdir() if path.is_dir())
    figures = run({folder.name: sorted(folder.iterdir()) for folder in folders}, arguments.size)
    print(table(figures), file=sys.stderr)
    print(json.dumps({**figures, "packages": packages}, indent=1))


if __name__ == "__main__":
    main()
