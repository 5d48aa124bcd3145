"""Source code, whose functions and classes stay whole while they fit."""

from collections.abc import Mapping

from advchunk.readers import row

SUFFIXES: Mapping[str, str] = {
    "bash": "sh bash ksh zsh", "c": "c", "cpp": "cpp cc cxx c++ h hpp hh hxx h++ ipp inl", "csharp": "cs csx",
    "go": "go", "java": "java", "javascript": "js mjs cjs jsx", "php": "php phtml", "python": "py pyi pyw",
    "ruby": "rb rake gemspec", "rust": "rs", "sql": "sql", "tsx": "tsx", "typescript": "ts mts cts",
}  # fmt: skip
"""Suffixes of files, without dots, by language."""

_SUFFIXES = tuple(f".{suffix}" for suffixes in SUFFIXES.values() for suffix in suffixes.split())
_DETECT = f"{__name__}.languages:detect"
REGISTRATIONS = (
    row("code", "code.reader", "source code, by Tree-sitter", extra="code", suffixes=_SUFFIXES, detect=_DETECT),
)
