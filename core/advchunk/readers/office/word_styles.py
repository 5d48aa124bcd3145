"""The styles of Word files, and their lists with the numbers that Word shows."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from advchunk.readers.counting import PRIVATE, bullet, format_count
from advchunk.readers.office.package import child_at, every, is_on, number, value
from advchunk.readers.writing import squeeze
from advchunk.records import BlockKind

_CODE = ("source code", "html preformatted", "preformatted text", "code", "plain code", "macro text")
_KINDS: Mapping[str, BlockKind] = {  # of paragraphs, by the names of styles, which Word stores in English
    **dict.fromkeys(_CODE, "code"), **dict.fromkeys(("quote", "intense quote", "block text"), "quote"),
    "caption": "caption", "bibliography": "reference",
}  # fmt: skip
_CONTENTS = re.compile(r"toc \d|table of (?:figures|authorities)")
_HEADING = re.compile(r"heading ?([1-9])")
_NESTED = re.compile(r"list (?:bullet|number) ([2-5])")  # styles whose indentation shows the depth of their items
SCRIPTS = {"superscript": "sup", "subscript": "sub", "baseline": ""}


def kind_of_style(name: str) -> tuple[BlockKind | None, int, bool]:
    """Return block kind, heading level, and whether it is a table of contents, by the name of a style."""
    name = name.lower()
    heading = _HEADING.fullmatch(name)
    level = int(heading[1]) if heading else int(name == "title")
    return _KINDS.get(name), level, bool(_CONTENTS.fullmatch(name))


class Style(NamedTuple):
    """A style with what it inherits; ``script`` is as in `join_scripts`, ``numbered_by`` the style with its list."""

    kind: BlockKind = "paragraph"
    level: int = 0
    script: str = ""
    hidden: bool | None = None
    num: str = ""
    depth: int = 0
    numbered_by: str = ""
    is_contents: bool = False
    is_title: bool = False
    nesting: int = 0


class Styles(dict[str, Style]):
    """The styles of a file by id, each read when it is needed; that of one that is not defined follows from its id."""

    def __init__(self, root: Any) -> None:
        super().__init__({"": Style()})
        self._elements = {value(style, key="w:styleId"): style for style in every(root, "w:style")}
        paragraphs = (id for id, own in self._elements.items() if value(own, key="w:type") == "paragraph")
        self.default = next((id for id in paragraphs if is_on(self._elements[id], key="w:default", default="0")), "")

    def __missing__(self, id: str) -> Style:
        self[id] = Style()  # if it is based on itself
        element = self._elements.get(id)
        base, name = self[value(element, "w:basedOn")], value(element, "w:name") or id
        kind, level, is_contents = kind_of_style(name)
        outline = number(element, "w:pPr/w:outlineLvl", -1)
        hidden, list_ = is_on(element, "w:rPr/w:vanish"), child_at(element, "w:pPr/w:numPr")
        self[id] = Style(
            kind or base.kind,
            (level or base.level * (not base.is_title)) if outline < 0 else (outline + 1) % 10,  # 9 is no heading
            SCRIPTS.get(value(element, "w:rPr/w:vertAlign"), base.script),
            base.hidden if hidden is None else hidden,
            value(list_, "w:numId", default=base.num) or base.num,
            number(list_, "w:ilvl", base.depth),
            base.numbered_by if list_ is None else id,
            base.is_contents or is_contents,
            name.lower() == "title",
            int(nested[1]) - 1 if (nested := _NESTED.fullmatch(name.lower())) else base.nesting,
        )
        return self[id]


class _Level(NamedTuple):
    """One level of a list: how its numbers are written, and after which level they begin again."""

    start: int
    form: str
    text: str
    restart: int
    is_legal: bool
    style: str


class Numbering:
    """The lists of a file, and how far each has been counted; lists with the same definition count on."""

    def __init__(self, root: Any, styles: Styles) -> None:
        definitions = {value(own, key="w:abstractNumId"): own for own in every(root, "w:abstractNum")}
        nums = {value(num, key="w:numId"): num for num in every(root, "w:num")}
        self._lists = dict[str, tuple[str, dict[int, _Level], dict[int, int]]]()  # definition, levels, own starts
        self._counts, self._begun = dict[str, dict[int, int]](), set[tuple[str, int]]()
        for id, num in nums.items():
            definition = value(num, "w:abstractNumId")
            if link := value(definitions.get(definition), "w:numStyleLink"):
                definition = value(nums.get(styles[link].num), "w:abstractNumId") or definition
            levels, starts = dict(map(_level, every(definitions.get(definition), "w:lvl"))), dict[int, int]()
            for override in every(num, "w:lvlOverride"):
                levels.update(map(_level, every(override, "w:lvl")))
                if child_at(override, "w:startOverride") is not None:
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
        for deeper in [own for own in counts if own > depth]:
            if deeper not in levels or depth < levels[deeper].restart:
                del counts[deeper]
        if level.form == "bullet":
            return bullet(level.text)

        def written(sign: re.Match[str]) -> str:
            if (own := levels.get(at := int(sign[1]) - 1)) is None:
                return ""
            form = "decimal" if level.is_legal and at < depth else own.form
            return format_count(counts.get(at, starts.get(at, own.start)), form)

        return squeeze(PRIVATE.sub("", re.sub("%([1-9])", written, level.text)))


def _level(level: Any) -> tuple[int, _Level]:
    form = value(level, "w:numFmt") or value(level, "mc:AlternateContent/mc:Fallback/w:numFmt") or "decimal"
    depth, text, is_legal = number(level, key="w:ilvl"), value(level, "w:lvlText"), bool(is_on(level, "w:isLgl"))
    restart = number(level, "w:lvlRestart", depth)
    return depth, _Level(number(level, "w:start"), form, text, restart, is_legal, value(level, "w:pStyle"))
