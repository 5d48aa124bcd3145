"""Read a markup line by line, by a table of rules, in linear time. Blocks are whole lines, the text stays as it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from advchunk.readers.embedded import SECTION_LEVELS
from advchunk.readers.markdown import heading_text
from advchunk.records import Block, BlockKind, Span
from advchunk.text.tiling import end_of_line, flatten

_HEAD = 20_000  # characters in which metadata are looked for
_DEEPEST = 6  # level of a heading
_INDENT, _WORD = re.compile(r"[ \t]*"), re.compile(r"\S")


class LineRule(NamedTuple):
    """A kind of block, and the lines that it consists of; ``kind`` is None for those that belong to the block below.

    ``opens`` matches the beginning of the first line. Its groups are the ``title`` of a heading; what tells the level
    of one: ``level`` by its length, the ``name`` of a section, or ``style`` by the order in which underlines appear;
    and ``marks``, as many as the level of an item, which is else told by indentation.

    ``until`` tells the last line: "blank" is the one before a blank line or another block, "line" the first, "match"
    the end of what ``opens`` matches. "deeper" and "as deep" go on while lines are indented more than, or as much as,
    the first, "same" while ``opens`` matches. Another value is the pattern of the last line, in which ``{close}`` is
    what that group of ``opens`` matched; without such a line, the block ends as with "blank". ``interrupts`` is False
    if a paragraph above must end with a blank line; ``after`` is what the block above ends with.
    """

    kind: BlockKind | None
    opens: str
    until: str = "blank"
    interrupts: bool = True
    after: str = ""


class _Open(NamedTuple):
    """A block whose last line is not read yet; its kind is None while its lines belong to the block below."""

    kind: BlockKind | None
    start: int
    level: int = 0


@dataclass(frozen=True)
class Markup:
    """A reader of a markup. ``rules`` are tried in order; other lines are paragraphs. ``fields`` are patterns of
    metadata with a group ``title``; ``environments`` matches what opens (``begin``) and closes a list, if these nest
    lists.
    """

    rules: Sequence[LineRule]
    fields: Mapping[str, str] = field(default_factory=dict)
    environments: str = ""

    def blocks(self, text: str) -> tuple[Block, ...]:
        """Return the blocks, which are whole lines without the last line end; all but white space is in one."""
        return tuple(_Scan(self, flatten(text)).blocks())

    def read_metadata(self, text: str) -> dict[str, str]:
        """Return the metadata that the beginning of a text declares."""
        head = flatten(text[:_HEAD])
        matches = {name: re.search(pattern, head, re.MULTILINE) for name, pattern in self.fields.items()}
        return {name: title for name, match in matches.items() if match and (title := _title(match))}

    @cached_property
    def compiled(self) -> Sequence[tuple[LineRule, re.Pattern[str]]]:
        """The rules with their patterns."""
        return [(rule, re.compile(rule.opens)) for rule in self.rules]


class _Scan:
    """The state of reading a text."""

    def __init__(self, markup: Markup, flat: str) -> None:
        self._markup, self._flat = markup, flat
        self._open: _Open | None = None
        self._end = 0  # of the last line that is not blank
        self._absent = set[str]()  # patterns of last lines that no line matches any more
        self._styles, self._columns, self._depth = list[str](), list[int](), 0

    def blocks(self) -> Iterator[Block]:
        flat, at = self._flat, int(self._flat.startswith("\ufeff"))
        while at < len(flat):
            line_end = end_of_line(flat, at)
            if not _WORD.search(flat, at, line_end):
                yield from self._close()
                at = line_end + 1
                continue
            rule, match = self._match(at)
            if match is None:
                if self._open is None or self._open.kind is None:
                    self._begin("paragraph", at)
            elif rule.kind is None:
                if self._open is None or self._open.kind:
                    yield from self._close()
                    self._open = _Open(None, at)
            else:
                is_prefixed = self._open is not None and self._open.kind is None
                yield from () if is_prefixed else self._close()
                self._begin(rule.kind, at, self._level(rule, match))
                if (end := self._last_end(rule, match, line_end)) is not None:
                    self._end = at + len(flat[at:end].rstrip())
                    yield from self._close(_title(match) if rule.kind == "heading" else None)
                    at = end if rule.until == "match" else end + 1
                    continue
            for own in re.finditer(self._markup.environments or "(?!)", flat[at:line_end]):
                self._depth = max(self._depth + (1 if own["begin"] else -1), 0)
            self._end = at + len(flat[at:line_end].rstrip())
            at = line_end + 1
        yield from self._close()

    def _begin(self, kind: BlockKind, at: int, level: int = 0) -> None:
        """Open a block, which begins with the lines that belong to it."""
        self._open = _Open(kind, self._open.start if self._open else at, level)
        if kind == "heading" or (kind == "paragraph" and _indent(self._flat, at) == 0):
            self._columns.clear()

    def _close(self, title: str | None = None) -> Iterator[Block]:
        if self._open:
            kind, start, level = self._open
            yield Block(kind or "paragraph", Span(start, self._end), level, title)
        self._open = None

    def _match(self, at: int) -> tuple[LineRule, re.Match[str] | None]:
        is_apart = self._open is None or self._open.kind in {None, "item"}
        for rule, pattern in self._markup.compiled:
            if (rule.interrupts or is_apart) and self._flat.endswith(rule.after, 0, self._end if rule.after else None):
                match = pattern.match(self._flat, at)
                if match and (not rule.after or self._open is None):
                    return rule, match
        return self._markup.rules[0], None

    def _last_end(self, rule: LineRule, match: re.Match[str], line_end: int) -> int | None:
        """Return the end of the last line of a block, None if blank lines and other blocks end it."""
        if rule.until in {"line", "match"}:
            return match.end() if rule.until == "match" else end_of_line(self._flat, match.end())
        if rule.until in {"deeper", "as deep", "same"}:
            return self._run_end(rule, match, line_end)
        if rule.until == "blank":
            return None
        closing = rule.until
        for name, own in match.groupdict().items():
            closing = closing.replace(f"{{{name}}}", re.escape(own or ""))
        if closing not in self._absent:
            pattern = re.compile(closing, re.MULTILINE | re.IGNORECASE)
            if last := _balanced_end(self._flat, pattern, match):
                return end_of_line(self._flat, last)
            self._absent.add(closing)
        return None

    def _run_end(self, rule: LineRule, match: re.Match[str], line_end: int) -> int:
        flat, last, at = self._flat, line_end, line_end + 1
        column = _indent(flat, match.start()) + (rule.until == "deeper")
        pattern = re.compile(rule.opens)
        while at < len(flat):
            end = end_of_line(flat, at)
            if _WORD.search(flat, at, end):
                goes_on = pattern.match(flat, at) if rule.until == "same" else _indent(flat, at) >= column
                if not goes_on:
                    break
                last = end
            elif rule.until == "same":
                break
            at = end + 1
        return last

    def _level(self, rule: LineRule, match: re.Match[str]) -> int:
        groups = match.groupdict()
        if rule.kind == "heading":
            if style := groups.get("style"):
                style += "over" * bool(groups.get("over"))
                self._styles += [style] * (style not in self._styles)
                level = self._styles.index(style) + 1
            else:
                level = SECTION_LEVELS[groups["name"]] if "name" in groups else len(groups["level"])
            return min(level, _DEEPEST)
        if rule.kind != "item" or self._markup.environments or "marks" in groups:
            return max(self._depth, len(groups.get("marks") or ""), 1) if rule.kind == "item" else 0
        column = _indent(self._flat, match.start())
        while self._columns and self._columns[-1] > column:
            self._columns.pop()
        if not self._columns or self._columns[-1] < column:
            self._columns.append(column)
        return len(self._columns)


def _balanced_end(flat: str, closing: re.Pattern[str], opening: re.Match[str]) -> int | None:
    """Return the end of what closes a block, and all that its group ``again`` opens within; None if nothing does."""
    depth, is_nesting = 1, "again" in closing.groupindex
    for match in closing.finditer(flat, opening.end()):
        depth += 1 if is_nesting and match["again"] else -1
        if not depth:
            return match.end()
    return None


def _indent(flat: str, at: int) -> int:
    indent = _INDENT.match(flat, at)
    return len(indent[0].expandtabs(8)) if indent else 0


def _title(match: re.Match[str]) -> str:
    """Return the title of a heading in one line; that of LaTeX without its commands."""
    return heading_text(match[0].strip()) if match[0].lstrip().startswith("\\") else " ".join(match["title"].split())
