"""Read source code, also broken code: Tree-sitter parses its definitions, and the text is not changed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from advchunk.errors import ConfigurationError, did_you_mean
from advchunk.readers.code.languages import LANGUAGES, detect_language, is_definition, load_grammar
from advchunk.records import Block, Document, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMENTS = frozenset(["comment", "line_comment", "block_comment", "marginalia", "attribute_item", "decorator"])
_WRAPPERS = frozenset([
    "ambient_declaration", "decorated_definition", "declaration", "export_statement", "expression_statement",
    "field_declaration", "lexical_declaration", "statement", "template_declaration", "type_declaration",
    "variable_declaration",
])  # fmt: skip
_NAMES = ("name", "declarator", "key", "property", "left", "operator", "type")  # fields, the first that is there counts
_MAX_NAME = 200  # characters; only broken code has longer ones
_MAX_DEPTH = 200  # of syntax trees; below it, nothing is a block of its own
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^()]*\])?\s*\)\Z")
_MARGIN = re.compile(rb"^[^\S\n]*+(?P<blank>\n|\Z)?", re.MULTILINE)
_LONE_RETURN = re.compile(r"\r(?!\n)")

Part = Literal["header", "wrapper", "body"]
"""How a node relates to its definition: as its header, in which nothing is a block; as a wrapper, such as ``export``,
in which definitions are; or as its body, in which statements are, too."""


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None, language: str = "") -> Document:
    r"""Read source code with its definitions as blocks (`code_blocks`).

    ``language`` is one of `languages.LANGUAGES`; by default it is detected (`languages.detect_language`).

    >>> from advchunk import RecursiveChunker
    >>> document = read("class Pot:\n    def boil(self):\n        ...\n\n    def pour(self):\n        ...\n", id="tea.py")
    >>> [(chunk.text, chunk.metadata["section"]) for chunk in RecursiveChunker(max_tokens=12).chunk(document)]
    [('class Pot:\n    def boil(self):\n        ...\n\n', 'Pot'), ('    def pour(self):\n        ...\n', 'Pot.pour')]
    """  # noqa: E501
    name = language or detect_language(id, text, metadata)
    if name not in LANGUAGES:
        places = "the name of its file (the document's id, or source in its metadata) or language in its metadata"
        got = f"got {name or id!r}{did_you_mean(name, LANGUAGES)}"
        msg = f"the language of code must be known from {places}, one of {', '.join(LANGUAGES)}, {got}"
        raise ConfigurationError(msg)
    return Document(text, id, code_blocks(text, name), metadata or {}, markup="code")


def code_blocks(text: str, language: str) -> tuple[Block, ...]:
    """Return the blocks of source code, which cover it, except for white space between them.

    A definition is code with its name as title and its depth as level; one that contains others is a heading, which
    ends where its first statement or definition begins. Comments and decorators above one are a heading without title.
    Other statements end at blank lines; the first has the title "", because it is in no definition but those around it.
    """
    grammar = load_grammar(language)
    from tree_sitter import Parser

    # Without what disturbs the parser: byte order marks, NUL, lone surrogates, returns.
    source = _LONE_RETURN.sub("\n", text.replace("\0", " ").replace("\ufeff", " ")).encode("utf-8", "replace")
    root = Parser(grammar).parse(source).root_node
    outline = _Outline(source, _definitions(root, frozenset(LANGUAGES[language].definitions.split())))
    outline.add_parts(root, 1, "body")
    return _blocks(text, _offsets(text, source, [part.start for part in outline.parts]), outline.parts)


def _offsets(text: str, source: bytes, starts: Sequence[int]) -> list[int]:
    """Return offsets in the text for offsets in its encoding."""
    if len(text) == len(source):
        return list(starts)
    is_first = (np.frombuffer(source, np.uint8) & 0xC0) != 0x80
    characters: list[int] = np.r_[0, np.cumsum(is_first)][list(starts)].tolist()
    return characters


class _Part(NamedTuple):
    """The start of a block: of a definition, a comment above one, or statements."""

    start: int
    level: int
    title: str | None  # None for statements that continue others
    is_comment: bool = False


def _blocks(text: str, starts: Sequence[int], parts: Sequence[_Part]) -> tuple[Block, ...]:
    """Return the blocks of the parts that start at ``starts``; the first takes what is before it."""
    result, lead = list[Block](), len(text) - len(text.lstrip())
    parts, starts = (parts, starts) if parts else ([_Part(0, 1, "")], [lead])
    edges = [min(text.rfind("\n", 0, lead) + 1, starts[0]), *starts[1:], len(text)]
    levels = [*(part.level for part in parts[1:]), 0]
    for (start, end), part, below in zip(pairwise(edges), parts, levels, strict=True):
        last = start + len(text[start:end].rstrip())
        is_heading = part.is_comment or (bool(part.title) and below > part.level)
        if last > start:
            result.append(Block("heading" if is_heading else "code", Span(start, last), part.level, part.title))
    return tuple(result)


class _Outline:
    """Collects the parts of a syntax tree, given its definitions, of which those without a name do not count."""

    def __init__(self, source: bytes, definitions: Sequence[Node]) -> None:
        self.parts = list[_Part]()
        self._lines = _lines(source)
        self._names = {node.id: name for node in definitions if (name := _name(node))}
        self._starts = sorted(node.start_byte for node in definitions if node.id in self._names)

    def add_parts(self, node: Node, level: int, kind: Part, before: tuple[int, ...] = (), depth: int = 0) -> None:
        """Add the parts in a node; ``before`` are starts of paragraphs of comments above that are in no part yet."""
        is_decorated = node.type == "decorated_definition"
        first = node.start_byte if kind == "wrapper" and not is_decorated else None
        before = before or ((node.start_byte,) if is_decorated else ())
        body = node.child_by_field_name("body") if kind == "header" else None
        for child in node.named_children:
            start, name = child.start_byte, self._names.get(child.id)
            has_definitions = self._has_definitions(child, depth)
            if child.type in _COMMENTS:
                starts = kind != "wrapper" and start in self._lines and (not before or self._is_after_blank(start))
                before += (start,) * starts
                continue
            if kind == "header":
                if not has_definitions:
                    continue
                is_body = body is not None and child.id == body.id
                self.add_parts(child, level, "body" if is_body else "header", before, depth + 1)
            elif name:
                self._add_definition(start if first is None else first, level, name, before)
                first = None
                self.add_parts(child, level + 1, "header", (), depth + 1)
            elif has_definitions and child.type in _WRAPPERS:
                self.add_parts(child, level, "wrapper", before, depth + 1)
            elif has_definitions or kind == "body":
                self._add_statement(start, level, before)
                if has_definitions:
                    self.add_parts(child, level, "body", (), depth + 1)
            else:
                continue
            before = ()
        if before and kind == "body":
            self._add_statement(before[0], level)

    def _has_definitions(self, node: Node, depth: int) -> bool:
        """Return True if a definition is in a node, and starts after it if the node is one."""
        after = node.start_byte + (node.id in self._names)
        place = bisect_left(self._starts, after)
        return depth < _MAX_DEPTH and place < len(self._starts) and self._starts[place] < node.end_byte

    def _add_definition(self, start: int, level: int, title: str, before: Sequence[int]) -> None:
        """Add a definition and the comments above it; the first of a file is a statement if a blank line is below."""
        if before and not self.parts and (len(before) > 1 or self._is_after_blank(start)):
            self._add(_Part(before[0], level, ""))
            before = before[1:]
        if before:
            self._add(_Part(before[0], level, "", is_comment=True))
        self._add(_Part(start, level, title))

    def _add_statement(self, start: int, level: int, before: Sequence[int] = ()) -> None:
        """Add a statement that begins a line, unless it continues the statements above."""
        start = min([start, *before])
        if start not in self._lines:
            return
        last = self.parts[-1] if self.parts else None
        if last is None or last.title or last.is_comment or last.level != level:
            self._add(_Part(start, level, ""))
        elif self._is_after_blank(start):
            self._add(_Part(start, level, None))

    def _add(self, part: _Part) -> None:
        start, _ = self._lines.get(part.start, (part.start, False))
        if self.parts and start <= self.parts[-1].start:
            start = self.parts.pop().start
        self.parts.append(part._replace(start=start))

    def _is_after_blank(self, start: int) -> bool:
        """Return True if a line starts here, and the one above is blank."""
        return self._lines.get(start, (0, False))[1]


def _lines(source: bytes) -> dict[int, tuple[int, bool]]:
    """Return the start of each line by the offset of its first character, and True if the line above is blank."""
    lines, is_after_blank = dict[int, tuple[int, bool]](), False
    for margin in _MARGIN.finditer(source):
        if margin["blank"] is None:
            lines[margin.end()] = margin.start(), is_after_blank
        is_after_blank = margin["blank"] is not None
    return lines


def _definitions(root: Node, types: Container[str]) -> list[Node]:
    """Return the definitions of a syntax tree. A query of Tree-sitter can take quadratic time."""
    cursor = root.walk()
    definitions: list[Node] = []
    while True:
        node = cursor.node
        if node is not None and node.type in types and is_definition(node):
            definitions.append(node)
        if not cursor.goto_first_child():
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return definitions


def _name(node: Node) -> str:
    """Return the name of a definition, with dots between its parts; "" if it has none."""
    if node.type.startswith("create_"):  # SQL
        named = next((child for child in node.named_children if child.type == "object_reference"), None)
    elif node.type == "impl_item":  # Rust
        named = node.child_by_field_name("type")
    else:
        named = next((child for field in _NAMES if (child := node.child_by_field_name(field))), None)
    while named is not None and (inner := _declared(named)):
        named = inner
    name = _text(named)
    if (receiver := node.child_by_field_name("receiver")) and (owner := _RECEIVER.search(_text(receiver))):  # Go
        name = f"{owner[1]}.{name}"
    if node.type == "impl_item":
        name = name.partition("<")[0]
    name = " ".join(name.replace("::", ".").strip("\"'.").split())
    return name if len(name) <= _MAX_NAME else ""


def _declared(node: Node) -> Node | None:
    """Return the node inside a declarator of C."""
    if inner := node.child_by_field_name("declarator"):
        return inner
    return node.named_children[-1] if node.type == "reference_declarator" and node.named_children else None


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""
