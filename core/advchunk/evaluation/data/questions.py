"""Questions with the places of their answers, and the documents they are about."""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from advchunk.errors import ConfigurationError, check_fields, checked, did_you_mean, require
from advchunk.readers.formats import tells_format
from advchunk.records import Document, Span

_log = logging.getLogger("advchunk")
_SUFFIXES = (".md", ".markdown", ".txt")
_MAX_LINES = 5  # of a repeated quote, in an error message


class Reference(NamedTuple):
    """A passage that answers a question: its document and span."""

    document: str
    span: Span


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the passages that together answer it: one or more, none empty, which may overlap."""

    text: str
    references: tuple[Reference, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        require(len(self.references) > 0, "a question must have a reference", self.text)
        for reference in self.references:
            start, end = reference.span
            require(0 <= start < end, "a reference must have 0 <= start < end", reference)


@checked
def read_corpus(folder: str | Path) -> list[Document]:
    """Read the Markdown and text files of a folder and its subfolders, each named by its path within the folder.

    Files are UTF-8 with or without a byte order mark. Texts are not changed, so that references count their characters.
    Files of other formats, such as PDFs, are left out, which the log says.
    """
    folder, rule = Path(folder), f"a corpus must be a folder with files in {', '.join(_SUFFIXES)}"
    require(folder.exists(), f"{rule}, and this path does not exist", str(folder))
    require(folder.is_dir(), f"{rule}, and this is a file: pass its folder", str(folder))
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    names = {name: path for name, path in paths.items() if path.suffix.lower() in _SUFFIXES}
    require(bool(names), rule, str(folder))
    if others := sorted(name for name in paths.keys() - names if tells_format(name) and not name.endswith(".jsonl")):
        reason = "%d of %d files are left out, such as %r: only Markdown and text are evaluated, so write the text of "
        _log.warning(f"{reason}others (read_file(path).text) to .txt files", len(others), len(paths), others[0])
    return [Document(_read_text(path), name) for name, path in sorted(names.items())]


@checked
def read_questions(path: str | Path, documents: Sequence[Document]) -> list[Question]:
    """Read questions about ``documents``, one JSON object per line; blank lines are skipped.

    A reference names its document and gives the span of the answer, or quotes it::

        {"question": "Who?", "references": [{"document": "a.md", "start": 3, "end": 9}]}
        {"question": "Why?", "references": [{"document": "a.md", "quote": "because it rains"}]}

    A quote is matched exactly or, failing that, regardless of its white space. The format of
    Chroma's benchmark, whose questions are about one document each, is also supported::

        {"question": "When?", "corpus": "a", "references": [[3, 9], [20, 31]]}

    Raises `ConfigurationError`, with file and line, for another format, an unknown document, a span outside it, or a
    quote that it does not contain exactly once; and for a file without questions. See Smith and Troynikov (2024),
    Evaluating Chunking Strategies for Retrieval, Chroma; the benchmark's data.

    Documents are referred to by id or, if that is unique, by id without suffix.
    """
    path, questions = Path(path), list[Question]()
    ids = [document.source for document in documents]
    require(len(set(ids)) == len(ids), "documents must have unique ids", ids)
    stems = [str(PurePath(name).with_suffix("")) if name else name for name in ids]
    by_name = {stem: document for stem, document in zip(stems, documents, strict=True) if stems.count(stem) == 1}
    by_name |= dict(zip(ids, documents, strict=True))
    # Not splitlines, which also splits at characters that JSON strings may contain, such as U+2028.
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if line.strip():
            try:
                questions.append(_parse_question(line, by_name))
            except ConfigurationError as error:
                msg = f"{path}, line {number}: {error}"
                raise ConfigurationError(msg) from error
    require(bool(questions), "a file of questions must not be empty", str(path))
    return questions


@checked
def write_questions(path: str | Path, questions: Iterable[Question], documents: Sequence[Document]) -> None:
    """Write questions in the format of `read_questions`, one JSON object per line.

    An answer that occurs once in its document is quoted, which survives changes elsewhere; any other is a span.
    """
    texts, content = {document.source: document.text for document in documents}, ""
    for question in questions:
        references = [_reference_to_dict(reference, texts) for reference in question.references]
        content += json.dumps({"question": question.text, "references": references}, ensure_ascii=False) + "\n"
    # UTF-8 cannot encode a lone surrogate; written as JSON's escape, it can be read again.
    Path(path).write_bytes(content.encode("utf-8", "backslashreplace"))


@checked
def find_quote(quote: str, text: str) -> Span:
    """Return the span of a quote, which must occur once, exactly or, failing that, regardless of its white space."""
    words = [re.escape(word) for word in quote.split()]
    require(bool(words), "a quote must not be blank", quote)
    # Lookahead, since a quote may overlap its own next occurrence.
    for pattern in (re.escape(quote), r"\s+".join(words)):
        spans = [Span(*match.span(1)) for match in re.finditer(f"(?=({pattern}))", text)]
        if spans:
            lines = [text.count("\n", 0, span.start) + 1 for span in spans[:_MAX_LINES]]
            more = f" and {len(spans) - _MAX_LINES} more" if len(spans) > _MAX_LINES else ""
            require(len(spans) == 1, f"a quote must be in its document once, not on lines {lines}{more}", quote)
            return spans[0]
    msg = f"a quote must be in its document, got {quote!r}"
    raise ConfigurationError(msg)


def _parse_question(line: str, by_name: Mapping[str, Document]) -> Question:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        msg = f"not JSON ({error})"
        raise ConfigurationError(msg) from error
    kinds = {"question": str, "references": list}
    valid = isinstance(data, dict) and all(isinstance(data.get(key), kind) for key, kind in kinds.items())
    require(valid, 'a line must be {"question": ..., "references": [...]}', data)
    references = tuple(_parse_reference(item, data.get("corpus"), by_name) for item in data["references"])
    return Question(data["question"], references)


def _parse_reference(data: Any, corpus: Any, by_name: Mapping[str, Document]) -> Reference:
    """Return a reference of either form, checked to be in its document."""
    if isinstance(data, list) and len(data) == 2:
        data = {"document": corpus, "start": data[0], "end": data[1]}
    valid = isinstance(data, dict) and set(data) in ({"document", "start", "end"}, {"document", "quote"})
    require(valid, 'a reference must have "document" and either "quote" or "start" and "end"', data)
    name = data["document"]
    exists = isinstance(name, str) and name in by_name
    require(exists, f"a reference must name an existing document{did_you_mean(str(name), by_name)}", name)
    document = by_name[name]
    if "quote" in data:
        require(isinstance(data["quote"], str), "a quote must be a string", data["quote"])
        return Reference(document.source, find_quote(data["quote"], document.text))
    start, end = data["start"], data["end"]
    inside = type(start) is int and type(end) is int and 0 <= start < end <= len(document.text)
    require(inside, f"a reference must have 0 <= start < end <= {len(document.text)}", [start, end])
    return Reference(document.source, Span(start, end))


def _reference_to_dict(reference: Reference, texts: Mapping[str, str]) -> dict[str, Any]:
    name, (start, end) = reference
    require(name in texts, "a reference must name an existing document", name)
    require(end <= len(texts[name]), f"a reference must end within its document of {len(texts[name])} characters", end)
    quote, place = texts[name][start:end], dict[str, Any](start=start, end=end)
    with suppress(ConfigurationError):
        find_quote(quote, texts[name])
        place = {"quote": quote}
    return {"document": name, **place}


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 ({error.reason})"
        raise ConfigurationError(msg) from error
