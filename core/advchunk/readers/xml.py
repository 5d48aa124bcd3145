"""Parse XML that may be hostile: no entity is expanded, nothing is fetched, and size, depth and memory are bounded."""

from __future__ import annotations

from collections.abc import Mapping
from html.entities import html5
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from advchunk.errors import ConfigurationError

# What a real document never has. Together they keep the tree of any text under some 300 MB.
LONGEST = 50_000_000
"""Characters of a text."""
DEEPEST = 200
"""Elements within each other."""
MOST = 500_000
"""Elements in all, and attributes in all."""

_SLICE = 2**16
_NAME = 250  # characters of a name with its namespace, which the tree has once more for each distinct name
_TOKEN = 2**20  # bytes of a tag or comment: expat before 2.6 reads one again for every slice (CVE-2023-52425)


def parse(text: str) -> Element:
    r"""Parse an XML text into its root element; names are in Clark notation, ``{namespace}name``.

    Nothing outside the text is read. A document type may be named, as PubMed and JATS do, and entities that HTML knows
    by name (``&nbsp;``) are read as there, but for attributes, which expat leaves them out of; those that the text
    defines itself are refused. Comments and processing instructions are left out, and an encoding declaration is passed
    over: a str is decoded already.

    Raises
    ------
    ConfigurationError : XML that is malformed or truncated, defines entities, or is too large, too deep or has too many
        elements; with the line and column.

    Examples
    --------
    >>> parse("<p>Weight fell by <b>12&nbsp;%</b>.</p>").find("b").text
    '12\xa0%'
    >>> parse("<p>Weight fell")
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: XML must be well-formed: no element found, at line 1, column 15
    """
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))  # nothing may stand before a declaration, and often does
    if len(text) > LONGEST:
        msg = f"XML must be at most {LONGEST:,} characters, got {len(text):,}"
        raise ConfigurationError(msg)
    return _Parser(text.count("\n", 0, start)).read(text[start:])


class _Parser:
    def __init__(self, lines_before: int) -> None:
        self._lines, self._depth, self._elements, self._attributes = lines_before, 0, 0, 0
        self._tree, self._names, self._fed = TreeBuilder(), dict[str, str](), 0
        # The encoding given here overrides any declaration.
        self._expat = parser = expat.ParserCreate("utf-8", "}")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # else entities are errors where no document type is named
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._tree.data
        parser.EntityDeclHandler = self._defined
        parser.ExternalEntityRefHandler = self._external
        parser.SkippedEntityHandler = self._skipped

    def read(self, text: str) -> Element:
        try:
            for at in range(0, len(text), _SLICE):
                self._feed(text[at : at + _SLICE])
            self._expat.Parse(b"", True)
        except expat.ExpatError as error:
            self._refuse(f"XML must be well-formed: {expat.ErrorString(error.code)}", error.lineno, error.offset)
        root: Element = self._tree.close()
        return root

    def _feed(self, piece: str) -> None:
        data = piece.encode("utf-8", "surrogatepass")  # lone surrogates are refused by expat, which knows where
        self._expat.Parse(data, False)
        self._fed += len(data)
        if self._fed - self._expat.CurrentByteIndex > _TOKEN:
            self._refuse(f"a tag or comment of XML must be at most {_TOKEN:,} bytes")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        self._attributes += len(attributes)
        if self._depth > DEEPEST:
            self._refuse(f"XML must be nested at most {DEEPEST} deep")
        if max(self._elements, self._attributes) > MOST:
            self._refuse(f"XML must have at most {MOST:,} elements and as many attributes")
        self._tree.start(self._clark(name), {self._clark(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._tree.end(self._clark(name))

    def _clark(self, name: str) -> str:
        if name not in self._names:
            if len(name) > _NAME:
                self._refuse(f"a name in XML must be at most {_NAME} characters, its namespace included")
            self._names[name] = f"{{{name}" if "}" in name else name
        return self._names[name]

    def _defined(self, name: str, *_: Any) -> NoReturn:
        self._refuse(f"XML must not define entities, as it does {name!r}")

    def _external(self, context: str | None, *_: Any) -> NoReturn:
        self._refuse(f"XML must not refer to anything outside it, as it does by {context!r}")

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if is_parameter:
            return  # of a document type, which is not read
        if (said := html5.get(f"{name};")) is None:
            self._refuse(f"XML must not use an entity that is not known, as it does {name!r}")
        self._tree.data(said)

    def _refuse(self, rule: str, line: int = 0, column: int = 0) -> NoReturn:
        line, column = line or self._expat.CurrentLineNumber, column or self._expat.CurrentColumnNumber
        msg = f"{rule}, at line {line + self._lines}, column {column + 1}"
        raise ConfigurationError(msg) from None
