"""Parse XML that may be hostile: no entity is expanded, nothing is fetched, and size, depth and memory are bounded."""

from collections.abc import Mapping
from html.entities import html5
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from advchunk.errors import ConfigurationError
from advchunk.readers.budget import check, most

MAX_XML_LENGTH = most("characters")
"""Maximum characters of a text, for readers of other packages."""
_SLICE = 2**16
_MAX_NAME = 250  # characters of a name with its namespace, which the tree stores once for each distinct name
_MAX_TAG = 2**20  # bytes of a tag or comment: expat before 2.6 rereads one for every slice (CVE-2023-52425)


def parse_xml(text: str, *, namespaces: bool = True) -> Element:
    """Parse XML into its root element; names are ``{namespace}name``, or without ``namespaces`` just ``name``.

    Nothing outside the text is read. Document types are accepted, because PubMed and JATS declare them. HTML's named
    entities (``&nbsp;``) are replaced, except in attributes, where expat drops them. Comments, processing instructions
    and the encoding declaration are ignored. Raise `ConfigurationError`, with the line and column, if the XML is
    malformed or truncated, defines entities, is too large or too deep, or has too many elements.
    """
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))  # often precede the declaration, which XML forbids
    check("characters", len(text), "XML must be")
    root = _Parser(text.count("\n", 0, start)).parse(text[start:])
    for element in () if namespaces else root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


class _Parser:
    def __init__(self, lines_before: int) -> None:
        self._lines_before, self._depth, self._elements, self._attributes = lines_before, 0, 0, 0
        self._tree, self._names, self._fed = TreeBuilder(), dict[str, str](), 0
        self._most = most("levels"), most("elements")  # with the text, they keep the tree under about 300 MB
        # This encoding overrides any declaration.
        self._expat = parser = expat.ParserCreate("utf-8", "}")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # otherwise entities are errors in texts without a document type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._tree.data
        parser.EntityDeclHandler = lambda name, *_: self._fail(f"XML must not define entities, got {name!r}")
        rule = "XML must not refer to external entities"
        parser.ExternalEntityRefHandler = lambda context, *_: self._fail(f"{rule}, got {context!r}")
        parser.SkippedEntityHandler = self._replace_entity

    def parse(self, text: str) -> Element:
        try:
            for start in range(0, len(text), _SLICE):
                # expat rejects lone surrogates, and reports their position
                data = text[start : start + _SLICE].encode("utf-8", "surrogatepass")
                self._expat.Parse(data, False)
                self._fed += len(data)
                if self._fed - self._expat.CurrentByteIndex > _MAX_TAG:
                    self._fail(f"an XML tag or comment must be at most {_MAX_TAG:,} bytes")
            self._expat.Parse(b"", True)
        except expat.ExpatError as error:
            self._fail(f"XML must be well-formed: {expat.ErrorString(error.code)}", error.lineno, error.offset)
        root: Element = self._tree.close()
        return root

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        self._attributes += len(attributes)
        if self._depth > self._most[0]:
            check("levels", self._depth, "XML must be nested", self._place())
        if max(self._elements, self._attributes) > self._most[1]:
            check("elements", max(self._elements, self._attributes), "XML must have", self._place())
        self._tree.start(self._clark(name), {self._clark(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._tree.end(self._clark(name))

    def _clark(self, name: str) -> str:
        if name not in self._names:
            if len(name) > _MAX_NAME:
                self._fail(f"an XML name must be at most {_MAX_NAME} characters, including its namespace")
            self._names[name] = f"{{{name}" if "}" in name else name
        return self._names[name]

    def _replace_entity(self, name: str, is_parameter: bool) -> None:
        if is_parameter:
            return  # of a document type, which is not read
        if (text := html5.get(f"{name};")) is None:
            self._fail(f"XML must not use unknown entities, got {name!r}")
        self._tree.data(text)

    def _fail(self, rule: str, line: int = 0, column: int = 0) -> NoReturn:
        msg = f"{rule}{self._place(line, column)}"
        raise ConfigurationError(msg) from None

    def _place(self, line: int = 0, column: int = 0) -> str:
        line, column = line or self._expat.CurrentLineNumber, column or self._expat.CurrentColumnNumber
        return f", at line {line + self._lines_before}, column {column + 1}"
