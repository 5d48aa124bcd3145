"""The styles of Word files, and their lists with the numbers that Word shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from advchunk.readers.counting import bullet, format_count
from advchunk.readers.office.package import every, find, is_on, number, value
from advchunk.readers.writing import squeeze
from advchunk.records import BlockKind

_CODE = ("source code", "html preformatted", "preformatted text", "code", "plain code", "macro text")
_KINDS: Mapping[str, BlockKind] = {  # of paragraphs, by the names of styles, which Word stores in English
    **dict.fromkeys(_CODE, "code"),
    **dict.fromkeys(("quote", "intense quote", "block text"), "quote"),
    "caption": "caption",
    "bibliography": "reference",
}
_CONTENTS = re.compile(r"toc \d|table of (?:figures|authorities)")
_HEADING = re.compile(r"heading ?([1-9])")
_MAX_CHAIN = 100  # styles that are based on each other
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def kind_of_style(name: str) -> tuple[BlockKind | None, int, bool]:
    """Return the kind of the paragraphs of a style, their level, and whether they are a table of contents, by its name.

    >>> kind_of_style("heading 2"), kind_of_style("Quote"), kind_of_style("toc 1"), kind_of_style("Body")
    ((None, 2, False), ('quote', 0, False), (None, 0, True), (None, 0, False))
    """
    name = name.lower()
    heading = _HEADING.fullmatch(name)
    level = int(heading[1]) if heading else int(name == "title")
    return _KINDS.get(name), level, bool(_CONTENTS.fullmatch(name))


class Style(NamedTuple):
    """What a style and those that it is based on say; ``level`` is that of a heading, ``numbered_by`` has its list."""

    kind: BlockKind = "paragraph"
    level: int = 0
    num: str = ""
    depth: int = 0
    numbered_by: str = ""
    hidden: bool | None = None
    align: str = ""
    is_contents: bool = False
    is_title: bool = False


class Styles:
    """The styles of a file by id; one that is not defined is known by an id such as "Heading1"."""

    def __init__(self, root: Any) -> None:
        self._elements = {value(style, key="w:styleId") or "": style for style in every(root, "w:style")}
        self.default, self._known = "", dict[str, Style]()
        for id, style in self._elements.items():
            is_default = value(style, key="w:default") in {"1", "true"}
            if is_default and value(style, key="w:type") == "paragraph":
                self.default = id
                break

    def __getitem__(self, id: str) -> Style:
        chain = list[str]()
        while id not in self._known and id not in chain and len(chain) < _MAX_CHAIN:
            chain.append(id)
            id = value(self._elements.get(id), "w:basedOn") or ""
        style = self._known.get(id, Style())
        for own in reversed(chain):
            style = self._known[own] = self._read(own, style) if own else style
        return style

    def _read(self, id: str, base: Style) -> Style:
        element = self._elements.get(id)
        name = value(element, "w:name") or id
        kind, level, is_contents = kind_of_style(name)
        outline = number(element, "w:pPr/w:outlineLvl", -1)
        hidden, list_ = is_on(element, "w:rPr/w:vanish"), find(element, "w:pPr/w:numPr")
        return Style(
            kind or base.kind,
            (level or base.level * (not base.is_title)) if outline < 0 else (outline + 1) % 10,  # 9 is no heading
            value(list_, "w:numId", default=base.num) or base.num,
            number(list_, "w:ilvl", base.depth),
            base.numbered_by if list_ is None else id,
            base.hidden if hidden is None else hidden,
            value(element, "w:rPr/w:vertAlign") or base.align,
            base.is_contents or is_contents,
            name.lower() == "title",
        )


class _Level(NamedTuple):
    """One level of a list: how its numbers are written, and after which level they begin again."""

    start: int
    form: str
    text: str
    restart: int
    is_legal: bool
    style: str | None


class Numbering:
    """The lists of a file, and how far each has been counted; lists with the same definition count on."""

    def __init__(self, root: Any, styles: Styles) -> None:
        definitions, links = dict[str, dict[int, _Level]](), dict[str, str]()
        for element in every(root, "w:abstractNum"):
            id = value(element, key="w:abstractNumId") or ""
            definitions[id] = dict(map(_level, every(element, "w:lvl")))
            if link := value(element, "w:numStyleLink"):
                links[id] = link
        nums = {value(num, key="w:numId") or "": num for num in every(root, "w:num")}
        self._lists = dict[str, tuple[str, dict[int, _Level], dict[int, int]]]()  # definition, levels, own starts
        self._counts, self._begun = dict[str, dict[int, int]](), set[tuple[str, int]]()
        for id, num in nums.items():
            definition = value(num, "w:abstractNumId") or ""
            if definition in links:
                definition = value(nums.get(styles[links[definition]].num), "w:abstractNumId") or definition
            levels, starts = dict(definitions.get(definition, {})), dict[int, int]()
            for override in every(num, "w:lvlOverride"):
                levels.update(map(_level, every(override, "w:lvl")))
                if find(override, "w:startOverride") is not None:
                    starts[number(override, key="w:ilvl")] = number(override, "w:startOverride")
            self._lists[id] = definition, levels, starts

    def depth(self, num: str, style: str) -> int | None:
        """Return the level of a list that belongs to a style."""
        levels = self._lists[num][1] if style and num in self._lists else {}
        return next((depth for depth, level in levels.items() if level.style == style), None)

    def label(self, num: str, depth: int) -> str:
        """Count a paragraph of a list, and return its number, or "-" if it has a bullet."""
        definition, levels, starts = self._lists.get(num, ("", {}, {}))
        if depth not in levels:
            return ""
        counts, level = self._counts.setdefault(definition, {}), levels[depth]
        if depth in starts and (num, depth) not in self._begun:
            counts.pop(depth, None)
        self._begun.add((num, depth))
        counts[depth] = counts[depth] + 1 if depth in counts else starts.get(depth, level.start)
        for deeper in [deeper for deeper in counts if deeper > depth]:
            if deeper not in levels or depth < levels[deeper].restart:
                del counts[deeper]
        if level.form == "bullet":
            return bullet(level.text)

        def written(sign: re.Match[str]) -> str:
            at = int(sign[1]) - 1
            if (own := levels.get(at)) is None:
                return ""
            form = "decimal" if level.is_legal and at < depth else own.form
            return format_count(counts.get(at, starts.get(at, own.start)), form)

        return squeeze(_PRIVATE.sub("", re.sub("%([1-9])", written, level.text)))


def _level(level: Any) -> tuple[int, _Level]:
    form = value(level, "w:numFmt") or value(level, "mc:AlternateContent/mc:Fallback/w:numFmt") or "decimal"
    depth, text, is_legal = number(level, key="w:ilvl"), value(level, "w:lvlText") or "", bool(is_on(level, "w:isLgl"))
    restart = number(level, "w:lvlRestart", depth)
    return depth, _Level(number(level, "w:start"), form, text, restart, is_legal, value(level, "w:pStyle"))
