"""What a Markdown heading says, without its Markdown."""

from __future__ import annotations

import re

# A heading's block starts with its line, so with the marks of the quotes and items it stands in. A plain heading
# from another reader ("1. Introduction") must keep its number: hence marks only before # or above an underline.
_MARKS = r"(?:[ \t]*(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))*+[ \t]*+"
_ATX = re.compile(_MARKS + r"#{1,6}(?=\s|\Z)")
_SETEXT = re.compile(_MARKS + r"(?P<title>.*\S)\s*[\r\n][ \t>]*(?:=+|-+)[ \t]*", re.DOTALL)
_QUOTE_MARKS = re.compile(r"[\r\n][ \t>]*")

# The inline Markdown that headings have, and less of it than CommonMark knows: a title may as well be code or plain
# text, so snake_case, 2*3*4, a[i][j], List<T> and \\(x\\) stay.
_BRACKETED = r"(?:[^\[\]]++|\[[^\[\]]*+\])*+"
_TARGET = r"""\(\s*+(?:<[^<>]*+>|(?:[^()\s<]++|\([^()\s]*+\))*+)(?:\s++(?:"[^"]*+"|'[^']*+'))?\s*+\)"""
_TAGS = "abbr|a|big|br|b|center|code|del|div|em|font|h[1-6]|hr|img|ins|i|kbd|mark|picture|p|small|source|span|strong|"
_INLINE = re.compile(
    rf"""
    (?<!`)(?P<ticks>`++)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
  | \\(?P<escaped>[*_`<>\#])
  | !\[{_BRACKETED}\](?:{_TARGET}|\[[^\[\]]*+\])
  | (?<!\\)\[(?P<link>{_BRACKETED})\]{_TARGET}
  | (?<![\\\w])\[(?P<reference>{_BRACKETED})\]\[[^\[\]]*+\]
  | </?(?:{_TAGS}sub|sup|s|tt|u)(?:\s[^<>]*+)?/?> | <!--[^<>]*+(?<=--)>
  | (?<![\w*])(?P<stars>\*{{1,3}})(?P<starred>[^\s*][^*]*+)(?<=\S)(?P=stars)(?![\w*])
  | (?<!\w)(?P<bars>_{{1,3}})(?P<barred>[^\s_](?:[^_]|(?<=[^\W_])_(?=[^\W_]))*+)(?<=\S)(?P=bars)(?!\w)
    """,
    re.VERBOSE,
)


def heading_text(source: str) -> str:
    r"""Return what a heading says, without its Markdown; of one that says nothing, its source.

    >>> heading_text("## Results ##"), heading_text("Results and outlook\n-------"), heading_text("1. Results")
    ('Results', 'Results and outlook', '1. Results')
    >>> heading_text("# The `x_1` of **[this](https://example.org)** ![badge](badge.svg)")
    'The x_1 of this'
    """
    title = source
    if atx := _ATX.match(source):
        title = source[atx.end() :].rstrip()
        bare = title.rstrip("#")
        title = title if bare[-1:].strip() else bare  # only after white space do #'s close
    elif setext := _SETEXT.fullmatch(source):
        title = _QUOTE_MARKS.sub(" ", setext["title"])
    title = " ".join(title.split())
    return " ".join(_plain(title).split()) or title


def _plain(title: str) -> str:
    return _INLINE.sub(_said, title)


def _said(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind is None:  # an image or a tag
        return ""
    return match[kind] if kind in {"code", "escaped"} else _plain(match[kind])
