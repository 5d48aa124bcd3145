"""Parts that the adapters share: the class of each chunker, places of texts, and metadata in frameworks' models."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from types import ModuleType
from typing import Any

from advchunk import registry
from advchunk.building.layout import LINES
from advchunk.chunkers.base import Chunker, VectorsChunker
from advchunk.chunkers.catalog import chunker_class, params_of
from advchunk.chunkers.docstrings import parameter_entries
from advchunk.records import Chunk, MetadataWriter, Span, evolve, remove_written, write_metadata, written_metadata
from advchunk.text.tiling import line_ends

_NESTED = frozenset({"pages", "boxes", "sources", "speakers"})  # metadata of the core that is not flat


def flatten_spans(spans: Iterable[Span]) -> str:
    """Return spans as text ("100-102 107-109"), for stores whose metadata must be flat."""
    return " ".join(f"{start}-{end}" for start, end in spans)


def parse_spans(spans: str) -> tuple[Span, ...]:
    """Return the spans of `flatten_spans`."""
    ends = (part.partition("-") for part in spans.split())
    return tuple(Span(int(first), int(last)) for first, _, last in ends)


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The place of a text in its document: all of it (``spans`` None), or a chunk that is chunked again.

    ``spans`` are those that the chunk joins, () if not known; they begin at offset ``start``, after a context.
    ``first_line`` has the first character of the spans that is not white space; None if not known.

    >>> TextPlace((Span(10, 15), Span(30, 40)), start=5).spans_of([Span(0, 7), Span(8, 12)])
    (Span(start=10, end=12), Span(start=13, end=15), Span(start=30, end=32))
    """

    spans: tuple[Span, ...] | None = None
    start: int = 0
    first_line: int | None = None

    def spans_of(self, parts: Iterable[Span]) -> tuple[Span, ...]:
        """Return the spans of parts of the text in the document; a context has none."""
        if self.spans is None:
            return tuple(parts)
        placed, at, parts = list[Span](), self.start, list(parts)
        for first, last in self.spans:
            inside = [(max(start, at), min(end, at + last - first)) for start, end in parts]
            placed += [Span(first + start - at, first + end - at) for start, end in inside if start < end]
            at += last - first
        return tuple(placed)

    def span_of(self, part: Span) -> Span | None:
        """Return the span of a part of the text in the document; None if it is not one, or not known."""
        spans = self.spans_of([part])
        return spans[0] if len(spans) == 1 and spans[0].end - spans[0].start == part.end - part.start else None

    def with_lines(self, chunk: Chunk, text: str) -> Chunk:
        """Return a chunk of the text with the lines of the document, or without lines if these are not known."""
        lines = written_metadata(chunk.metadata)
        begins_document = self.spans is None or (not self.start and len(self.spans) == 1 and not self.spans[0].start)
        if begins_document or "start_line" not in lines:
            return chunk
        metadata = remove_written(chunk.metadata, (*LINES, "start_column", "end_column"))
        if self.first_line is not None and len(self.spans or ()) == 1 and self.spans_of(chunk.spans):
            own = text[self.start :]
            before = line_ends(text, 0, len(text) - len(own.lstrip()))
            values = {key: self.first_line + max(lines[key] - 1 - before, 0) for key in ("start_line", "end_line")}
            metadata = write_metadata(metadata, values)
        return evolve(chunk, metadata=metadata)


def flatten_places(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with places as text: pages "3 4", boxes "3:72,90.5,540,700" (the page, then the edges)."""
    flat = dict(metadata)
    if isinstance(pages := flat.get("pages"), list):
        flat["pages"] = " ".join(map(str, pages))
    if isinstance(speakers := flat.get("speakers"), list):
        flat["speakers"] = "; ".join(speakers)
    if isinstance(boxes := flat.get("boxes"), list):
        flat["boxes"] = " ".join(f"{page}:{','.join(f'{edge:.10g}' for edge in box)}" for page, *box in boxes)
    return flat


def framework_metadata(chunk: Chunk, values: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a chunk with ``values`` of an adapter; what the core wrote is flat, too."""
    writer = MetadataWriter(chunk.metadata)
    names = _NESTED.intersection(writer.keys)
    flat = flatten_places({name: chunk.metadata[writer.keys[name]] for name in names}) if names else {}
    if names and is_of_corpus(chunk):
        flat["sources"] = json.dumps(flat["sources"])
    return writer.write({**flat, **values})


def level_of(metadata: Mapping[str, Any]) -> int:
    """Return the level of a chunk of ours by its metadata; 0 for those of other splitters."""
    level = written_metadata(metadata).get("level")
    return level if isinstance(level, int) else 0


def is_of_corpus(chunk: Chunk) -> bool:
    """Return True for a summary of a corpus or a part of it, which belongs to no document."""
    return not chunk.spans and "sources" in written_metadata(chunk.metadata)


def parent_id(chunk: Chunk, chunks: Sequence[Chunk]) -> str | None:
    """Return the id of the chunk above, of its document's ``chunks`` or of the corpus; None for a root."""
    if chunk.parent is None:
        return None
    # A parent in a corpus may come with another document: its id is in the metadata.
    return written_metadata(chunk.metadata).get("parent_id") or chunks[chunk.parent].id


def adapter_classes(
    module: str, suffix: str, make: Callable[[type[Chunker]], type]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module with adapters named in ``suffix``, made on first use."""
    home = vars(sys.modules[module])

    def names() -> dict[str, str]:
        return {row.attribute.removesuffix("Chunker") + suffix: row.name for row in registry.rows_of("chunker")}

    def load(name: str) -> Any:
        if name == "__all__":
            return sorted(names())
        if not name.endswith(suffix) or name not in names():
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return home.setdefault(name, make(chunker_class(names()[name])))

    return load, lambda: sorted({*home, *names()})


def pickled_by(make: Callable[[type[Chunker]], type]) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Return ``__reduce_ex__`` for the adapters that ``make`` returns, which are found again by their chunker."""

    def reduce(self: Any, protocol: Any) -> tuple[Any, ...]:
        reduced: Any = object.__reduce_ex__(self, max(protocol, 2))
        rebuild, arguments, *rest = reduced
        chunker = type(self).chunker_class
        if type(self) is make(chunker):
            rebuild, arguments = _new_adapter, (make, chunker)
        return (rebuild, arguments, *rest)

    return reduce


def _new_adapter(make: Callable[[type[Chunker]], type], chunker: type[Chunker]) -> Any:
    adapter: Any = make(chunker)
    return adapter.__new__(adapter)


def adapter_base(chunker: Any, bases: ModuleType, suffix: str) -> Any:
    """Return the class of the module ``bases`` from which the adapter of a chunker inherits."""
    names = chunker.__dataclass_fields__
    if issubclass(chunker, VectorsChunker):
        return getattr(bases, f"Embedding{suffix}")
    kind = "Lexical" if "word_splitter" in names else "LanguageModel" if "lm" in names else "Linear"
    return getattr(bases, kind + suffix)


def own_resources(chunker: Any, base: Any, aliases: Mapping[str, str]) -> list[Field[Any]]:
    """Return the resources of a chunker that the base of its adapter does not have, by their names there."""
    inherited = getattr(base, "model_fields", None) or {field.name for field in fields(base)}
    lent = [field for field in fields(chunker) if field.metadata.get("resource") and field.name != "vectors"]
    return [field for field in lent if aliases.get(field.name, field.name) not in inherited]


def describe_adapter(chunker: type[Chunker], own: Iterable[str], corpus: str) -> str:
    """Return the docstring of a chunker's adapter, ``corpus`` being the paragraph on the results for a corpus."""
    params = params_of(chunker)
    summary = (chunker.__doc__ or "").partition("\n")[0].partition(" (`")[0].rstrip(".")
    paragraphs = [f"{summary} (`{params.__module__}.{params.__name__}`)."]
    paragraphs += [corpus] if chunker.is_corpus_level else []
    entries = parameter_entries(chunker.__doc__ or "", own)
    return "\n\n".join([*paragraphs, *([f"Parameters\n----------\n{entries}"] if entries else [])])
