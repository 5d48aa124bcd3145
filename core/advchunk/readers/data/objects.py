"""Read JSON, JSON Lines and YAML as text of records with paths, without places in the file, which escapes strings."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from advchunk.errors import Unreadable, first_line, import_extra
from advchunk.readers.budget import check, most
from advchunk.readers.json import load_json
from advchunk.readers.writing import Writer, pipe_table, squeeze
from advchunk.records import Block, BlockKind, Document, Span, written_metadata

_CELL = 60  # characters of the longest value of a table
_LINE = 200  # characters of a list that is written in one line
_PART = re.compile(r"(?:\A\s*|\n\n)(?=\S)")  # members of members are indented
_PATH = re.compile(r"(?!- )((?:(?!:[ \n])[^\n])+)\n(?=\S)")


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    r"""Read JSON: a list of flat records that have the same keys is a table, any other record is a block of its own.

    A record stays whole while it fits, and chunks have its path as ``section`` and ``json_path``, "" for the root.

    >>> document = read('{"shop": "Tea & Co", "orders": [{"id": 1, "items": [{"tea": "green"}]}]}')
    >>> print(document.text)
    shop: Tea & Co
    <BLANKLINE>
    orders[0]
    id: 1
    items:
      - tea: green
    >>> [block.title for block in document.blocks]
    ['', 'orders[0]']
    """
    return write(load_json(text), "json", id, metadata)


def read_yaml(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read YAML, also several documents, as JSON (`read`); values stay as they are written, such as "1.10" and "on"."""
    yaml = import_extra("yaml", "yaml")
    try:
        values = _from_events(yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)))
    except (yaml.YAMLError, UnicodeError, KeyError, TypeError) as error:
        msg = f"YAML must be well-formed: {first_line(error)}"
        raise Unreadable(msg) from None
    return write(values[0] if len(values) == 1 else values, "yaml", id, metadata)


def _from_events(events: Iterable[Any]) -> list[Any]:
    """Return the documents of YAML, whose own loaders call themselves, and end the process where a text is deep."""
    documents, anchors, stack = list[Any](), dict[str, Any](), list[tuple[Any, list[str]]]()
    for event in events:
        kind = type(event).__name__
        if kind in {"SequenceEndEvent", "MappingEndEvent"}:
            stack.pop()
        if kind not in {"AliasEvent", "ScalarEvent", "SequenceStartEvent", "MappingStartEvent"}:
            continue
        value = anchors[event.anchor] if kind == "AliasEvent" else getattr(event, "value", [] if kind[0] == "S" else {})
        if event.anchor:
            anchors[event.anchor] = value
        if not stack:
            documents.append(value)
        elif isinstance(stack[-1][0], list):
            stack[-1][0].append(value)
        elif keys := stack[-1][1]:
            stack[-1][0][keys.pop()] = value
        else:
            hash(value)  # a list or a mapping is no key
            keys.append(value)
        if kind.endswith("StartEvent"):
            stack.append((value, []))
            check("levels", len(stack), "YAML must be nested")
    return documents


def write(value: Any, markup: str, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Return the document of a value of JSON or YAML (`read`)."""
    writer = Writer(markup)
    try:
        check("values", _number_of_values(value, {}), "data must have")
        parts = [*_parts(value, "")]
    except RecursionError:  # with a budget that was raised
        msg = "data must be nested less deep than the stack of Python"
        raise Unreadable(msg) from None
    for kind, path, part in parts:
        writer.metadata = {"json_path": path}
        if kind == "table":
            writer.add("caption", path, 1, title=path)
        writer.add(kind, part, int(kind == "code"), title=path if kind == "code" else None)
    title = value.get("title") if isinstance(value, Mapping) else None
    titled = {"title": squeeze(title)} if isinstance(title, str) and title.strip() else {}
    return writer.document(id, {**titled, **(metadata or {})})


def restore_layout(chunk: Document) -> Document | None:
    """Return the text of a chunk of data, which begins at its ``json_path``, with records and tables; else None."""
    own = written_metadata(chunk.metadata).get("json_path")
    if not isinstance(own, str):
        return None
    text, blocks = chunk.text, list[Block]()
    starts = [part.end() for part in _PART.finditer(text)]
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end].rstrip()
        path = _PATH.match(text, start) if blocks or not own else None
        kind: BlockKind = "table" if part.startswith("| ") else "code"
        title = None if kind == "table" else path[1] if path else "" if blocks else own
        if kind == "code" and text.startswith("| ", end) and "\n" not in part:
            kind, title = "caption", part
        blocks.append(Block(kind, Span(start, start + len(part)), int(kind != "table"), title))
    return replace(chunk, blocks=tuple(blocks), markup="json")


def _parts(value: Any, path: str) -> Iterator[tuple[BlockKind, str, str]]:
    """Yield the records and tables of a value: kind, path, and text of each."""
    if isinstance(value, Mapping):
        inner = {key: item for key, item in value.items() if _has_records(item)}
        own = {key: item for key, item in value.items() if key not in inner}
        if own:
            yield _record(own, path)
        for key, item in inner.items():
            yield from _parts(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and _is_table(value):
        keys = [*value[0]]
        rows = [[str(key) for key in keys], *([_scalar(row[key]) for key in keys] for row in value)]
        yield "table", path, pipe_table(rows)
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        yield from (_record(item, f"{path}[{i}]") for i, item in enumerate(value))
    elif value is not None:
        yield _record(value, path)


def _record(value: Any, path: str) -> tuple[BlockKind, str, str]:
    lines = "\n".join(_lines(value))
    return "code", path, f"{path}\n{lines}" if path and lines.strip() else lines


def _lines(value: Any) -> Iterator[str]:
    """Yield the lines of a value, in which members of members are indented."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _member(f"{squeeze(str(key))}:", item)
    elif isinstance(value, list) and not _is_short(value):
        for item in value:
            yield from _member("-", item)
    else:
        text = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
        yield from text.rstrip().split("\n")


def _member(label: str, item: Any) -> Iterator[str]:
    first, *more = _lines(item) if item not in (None, "", [], {}) else ("",)
    is_parted = bool(item) and (isinstance(item, Mapping) or (isinstance(item, list) and not _is_short(item)))
    if label != "-" and (more or is_parted):
        first, more = "", [first, *more]
    yield f"{label} {first}".rstrip()
    yield from (f"  {line}".rstrip() for line in more)


def _number_of_values(value: Any, numbers: dict[int, int], depth: int = 0) -> int:
    """Return the number of values in a value, each as often as it occurs: an alias of YAML counts each time."""
    if not isinstance(value, (Mapping, list)):
        return 1
    check("levels", depth + 1, "data must be nested")
    if id(value) not in numbers:
        items = value.values() if isinstance(value, Mapping) else value
        numbers[id(value)] = 1 + sum(_number_of_values(item, numbers, depth + 1) for item in items)
    return numbers[id(value)]


def _has_records(value: Any) -> bool:
    """Return True for a list of records, and for an object that has one."""
    lists = value.values() if isinstance(value, Mapping) else [value]
    return any(isinstance(items, list) and any(isinstance(item, Mapping) for item in items) for items in lists)


def _is_table(value: Sequence[Any]) -> bool:
    """Return True for two or more flat records that have the same keys and short values."""
    if len(value) < 2 or not all(isinstance(row, Mapping) and row.keys() == value[0].keys() for row in value):
        return False
    has_columns = 1 < len(value[0]) <= most("columns")
    return has_columns and all(_is_cell(item) for row in value for item in row.values())


def _is_cell(value: Any) -> bool:
    return not isinstance(value, (Mapping, list)) and len(_scalar(value)) <= _CELL and "\n" not in _scalar(value)


def _is_short(value: Sequence[Any]) -> bool:
    return all(map(_is_cell, value)) and sum(map(len, map(_scalar, value))) <= _LINE


def _scalar(value: Any) -> str:
    """Return a value as text; truth and null are written as in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str).strip('"')
