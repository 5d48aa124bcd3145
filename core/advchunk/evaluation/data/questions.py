"""Questions whose answers are known by place, and the documents they are asked of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from advchunk.errors import ConfigurationError, did_you_mean, require
from advchunk.records import Document, Span

_SUFFIXES = (".md", ".markdown", ".txt")
_TOLD = 5  # places of a quote that an error names


class Reference(NamedTuple):
    """A passage that answers a question: where it stands in which document."""

    document: str
    span: Span


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the passages that answer it, together.

    Parameters
    ----------
    text : what is searched for.
    references : at least one, none of them empty; they may overlap, and lie in several documents.

    Raises
    ------
    ConfigurationError : no reference, or an empty one.
    """

    text: str
    references: tuple[Reference, ...]

    def __post_init__(self) -> None:
        require(len(self.references) > 0, "a question must have a reference", self.text)
        for reference in self.references:
            start, end = reference.span
            require(0 <= start < end, "a reference must have 0 <= start < end", reference)


def read_corpus(folder: str | Path) -> list[Document]:
    """Read the Markdown and text files of a folder and those below it, each named by its path within the folder.

    The text is the file's as it stands, in UTF-8 with or without its mark, so that references count its characters.

    Raises
    ------
    ConfigurationError : no such folder; one without such a file; a file that is not UTF-8.
    """
    folder, rule = Path(folder), f"a corpus must hold files in {', '.join(_SUFFIXES)}"
    require(folder.exists(), f"{rule}, and this folder is not there", str(folder))
    require(folder.is_dir(), f"{rule}, and this is a file: pass the folder it is in", str(folder))
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES
    }
    found = [Document(_text(path), name) for name, path in sorted(files.items()) if path.is_file()]
    require(bool(found), rule, str(folder))
    return found


def read_questions(path: str | Path, documents: Sequence[Document]) -> list[Question]:
    """Read questions about ``documents``, one JSON object a line; blank lines are left out.

    A reference names its document, and gives the answer's characters or quotes it::

        {"question": "Who?", "references": [{"document": "a.md", "start": 3, "end": 9}]}
        {"question": "Why?", "references": [{"document": "a.md", "quote": "because it rains"}]}

    A quote is looked for as it stands and, if that is nowhere, with any white space for each of its own. The
    benchmark of Chroma is read too, whose questions are of one document::

        {"question": "When?", "corpus": "a", "references": [[3, 9], [20, 31]]}

    Parameters
    ----------
    documents : what the questions may refer to, each by its id or, if no other shares that, its id without suffix.

    Raises
    ------
    ConfigurationError : with file and line, what is not of this form; an unknown document; characters outside it; a
        quote that is not in it, or more than once. Also, a file without questions.

    References
    ----------
    Smith and Troynikov (2024), Evaluating Chunking Strategies for Retrieval, Chroma; the benchmark's data.
    """
    path, found = Path(path), list[Question]()
    named = _named(documents)
    # Not splitlines, which also ends a line at characters that JSON's strings may contain, such as U+2028.
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            try:
                found.append(_question(line, named))
            except ConfigurationError as error:
                msg = f"{path}, line {number}: {error}"
                raise ConfigurationError(msg) from error
    require(bool(found), "a file of questions must have one", str(path))
    return found


def write_questions(path: str | Path, questions: Iterable[Question], documents: Sequence[Document]) -> None:
    """Write questions as `read_questions` reads them, one JSON object a line.

    An answer is quoted where the quote is in its document once: so it can be read, and stays right when the document changes
    around it. Else its characters are given.

    Raises
    ------
    ConfigurationError : an answer in a document that is not there, or outside it.
    """
    texts = {document.source: document.text for document in documents}
    lines = [
        {"question": one.text, "references": [_said(reference, texts) for reference in one.references]}
        for one in questions
    ]
    # Half a surrogate pair is written as JSON escapes it, since UTF-8 has none.
    said = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    Path(path).write_bytes(said.encode("utf-8", "backslashreplace"))


def find_quote(quote: str, text: str) -> Span:
    r"""Return where a quote stands, its white space exact or, if that is nowhere, any.

    Raises
    ------
    ConfigurationError : a quote that is empty, is not in the text, or more than once.

    >>> find_quote("it  rains", "Because it\nrains.")
    Span(start=8, end=16)
    """
    words = [re.escape(word) for word in quote.split()]
    require(bool(words), "a quote must say something", quote)
    # Each looks ahead, as a quote may overlap its own next occurrence.
    for pattern in (re.escape(quote), r"\s+".join(words)):
        spans = [Span(*match.span(1)) for match in re.finditer(f"(?=({pattern}))", text)]
        if spans:
            lines = [text.count("\n", 0, span.start) + 1 for span in spans[:_TOLD]]
            more = f" and {len(spans) - _TOLD} more" if len(spans) > _TOLD else ""
            require(len(spans) == 1, f"a quote must be in its document once, not on the lines {lines}{more}", quote)
            return spans[0]
    msg = f"a quote must be in its document, got {quote!r}"
    raise ConfigurationError(msg)


def quote_span(quote: str, text: str) -> Span | None:
    """Return where `find_quote` finds a quote; None if it is nowhere, in several places, or empty."""
    try:
        return find_quote(quote, text)
    except ConfigurationError:
        return None


def _named(documents: Sequence[Document]) -> Mapping[str, Document]:
    """Return the documents by id and, where that is clear, by id without suffix."""
    ids = [document.source for document in documents]
    require(len(set(ids)) == len(ids), "documents must differ in their ids", ids)
    stems = [str(PurePath(name).with_suffix("")) if name else name for name in ids]
    clear = {stem: doc for stem, doc in zip(stems, documents, strict=True) if stems.count(stem) == 1}
    return clear | dict(zip(ids, documents, strict=True))


def _question(line: str, named: Mapping[str, Document]) -> Question:
    """Return the question that a line of JSON says."""
    try:
        said = json.loads(line)
    except json.JSONDecodeError as error:
        msg = f"not JSON ({error})"
        raise ConfigurationError(msg) from error
    right = (
        isinstance(said, dict) and isinstance(said.get("question"), str) and isinstance(said.get("references"), list)
    )
    require(right, 'a line must be {"question": ..., "references": [...]}', said)
    return Question(said["question"], tuple(_reference(one, said.get("corpus"), named) for one in said["references"]))


def _reference(said: Any, corpus: Any, named: Mapping[str, Document]) -> Reference:
    """Return a reference of either form, once it is known to be in its document."""
    if isinstance(said, list) and len(said) == 2:
        said = {"document": corpus, "start": said[0], "end": said[1]}
    right = isinstance(said, dict) and set(said) in ({"document", "start", "end"}, {"document", "quote"})
    require(right, 'a reference must have "document" and either "quote" or "start" and "end"', said)
    name = said["document"]
    known = isinstance(name, str) and name in named
    require(known, f"a reference must name a document that is there{did_you_mean(str(name), named)}", name)
    document = named[name]
    if "quote" in said:
        require(isinstance(said["quote"], str), "a quote must be a string", said["quote"])
        return Reference(document.source, find_quote(said["quote"], document.text))
    start, end = said["start"], said["end"]
    whole = type(start) is int and type(end) is int
    inside = whole and 0 <= start < end <= len(document.text)
    require(inside, f"a reference must have 0 <= start < end <= {len(document.text)}", [start, end])
    return Reference(document.source, Span(start, end))


def _said(reference: Reference, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a reference as a line of JSON has it."""
    name, (start, end) = reference
    require(name in texts, "a reference must name a document that is there", name)
    require(end <= len(texts[name]), f"a reference must end in its document's {len(texts[name])} characters", reference)
    quote = texts[name][start:end]
    return {"document": name, **({"quote": quote} if quote_span(quote, texts[name]) else {"start": start, "end": end})}


def _text(path: Path) -> str:
    """Return a file's text with its line ends as they are."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 ({error.reason})"
        raise ConfigurationError(msg) from error
