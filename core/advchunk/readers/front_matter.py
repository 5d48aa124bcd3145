"""Read the simple values of the front matter of a Markdown text: a title, authors, a date, and the like."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress

_KEYS: Mapping[str, str] = {
    "title": "title", "author": "authors", "authors": "authors", "description": "description", "date": "published_at",
    "lang": "language", "language": "language",
}  # fmt: skip
_ENTRY = re.compile(r"^(\w{1,20})[ \t]*+([:=])[ \t]*+(\S[^\r\n]{0,1000}+)(?![\r\n]{1,2}[ \t]+\S)", re.MULTILINE)
_TABLE = re.compile(r"^\[", re.MULTILINE)
_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}(?!\d)")
_COMMENT = re.compile(r"[ \t]#")
_NO_SCALARS = tuple("[{&*!|>%@`#?")  # at the start, no plain scalar of YAML
_NO_TEXTS = frozenset({"null", "~", "true", "false", "yes", "no", "on", "off"})


def front_matter_metadata(text: str) -> dict[str, str]:
    """Return one-line values of front matter, under the names that web pages have, without lists and nested values."""
    is_toml = text.lstrip("\ufeff").startswith("+++")
    table = _TABLE.search(text) if is_toml else None
    metadata = dict[str, str]()
    for key, sign, written in _ENTRY.findall(text[: table.start()] if table else text):
        name, value = _KEYS.get(key.lower()), _scalar(written.rstrip(), is_toml=is_toml)
        if name and value and is_toml == (sign == "="):
            date = _DATE.match(value)
            value = value if name != "published_at" else date[0] if date else ""
            metadata |= {name: value} if value else {}
    return metadata


def _scalar(written: str, *, is_toml: bool) -> str:
    """Return the text of a scalar; "" if it is none, or not simple."""
    quote, value = written[0], _COMMENT.split(written)[0].strip()
    if quote == '"':
        with suppress(ValueError):
            return str(json.loads(value)).strip()
        return ""
    if quote == "'":
        value = written[: written.find(quote, 1) + 1] if is_toml else value
        inner = value[1:-1] if len(value) > 1 and value.endswith("'") else ""
        return "" if "'" in inner.replace("''", "") else inner.replace("''", "'").strip()
    if is_toml:
        return value if _DATE.match(value) else ""
    is_plain = not value.startswith(_NO_SCALARS) and ": " not in value and not value.endswith(":")
    return value if is_plain and value.lower() not in _NO_TEXTS else ""
