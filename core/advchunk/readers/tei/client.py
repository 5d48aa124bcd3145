"""A GROBID server, which makes TEI of a PDF; ``httpx`` and ``tenacity`` are imported at the first call.

References
----------
GROBID, "GROBID Service API", https://grobid.readthedocs.io/en/latest/Grobid-service.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from advchunk.engine import call_in_thread, call_with_timeout
from advchunk.errors import (
    BadModelOutput,
    ConfigurationError,
    ModelUnavailable,
    first_line,
    import_extra,
    require,
)
from advchunk.models.retrying import Passing, repeating, retry_after
from advchunk.readers.files import decode_text
from advchunk.readers.magic import require_pdf
from advchunk.readers.writing import squeezed
from advchunk.records import Document

PDF: TypeAlias = str | os.PathLike[str] | bytes
OnError: TypeAlias = Callable[[PDF, Exception], None] | None
_FAILURES = (OSError, BadModelOutput, ConfigurationError)

_COORDINATES = ("head", "p", "s", "figure", "formula", "note", "ref", "biblStruct")
_SAID = 300  # characters of what the server says of a failure
_BUSY = (429, 502, 503, 504)  # 503: no engine is free


class _Sent(NamedTuple):
    name: str
    data: bytes


@dataclass(frozen=True)
class GrobidClient:
    r"""A GROBID server that is running, such as ``docker run --rm -p 8070:8070 grobid/grobid:0.8.2-crf`` starts.

    It is asked for the full text with coordinates and sentences.

    Parameters
    ----------
    url : where it listens; without user, password or query.
    timeout : seconds that a PDF may take, > 0. What took longer is not asked for again.
    retries : how often a PDF is sent again when no engine is free or the connection broke, >= 0.
    backoff, longest_wait : seconds before the first repetition, and before any, at most, >= 0. Each waits up to twice as
        long as the one before, at random; or as long as the server says, and a little more.
    concurrency : PDFs at a time, >= 1; no more than the server has engines (``concurrency`` in its grobid.yaml, 10).
    options : more fields of a request, such as ``{"consolidateHeader": "0"}``.

    Raises
    ------
    ConfigurationError : a parameter breaks its rule.

    Examples
    --------
    >>> client = GrobidClient("http://localhost:8070", timeout=300)
    >>> client.process(b"PK\x03\x04 ...")
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: bytes must be a PDF, got a zip, such as Office documents and EPUB are
    """

    url: str = "http://localhost:8070"
    _: KW_ONLY
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 1.0
    longest_wait: float = 60.0
    concurrency: int = 4
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        url = urlsplit(self.url)
        bare = "@" not in url.netloc and not url.query and not url.fragment
        plain = url.scheme in ("http", "https") and bool(url.hostname) and bare
        require(plain, "url must be http(s)://host:port, without user, password or query", "another")
        require(self.timeout > 0, "timeout must be > 0 seconds", self.timeout)
        require(self.retries >= 0, "retries must be >= 0", self.retries)
        require(self.backoff >= 0, "backoff must be >= 0 seconds", self.backoff)
        require(self.longest_wait >= 0, "longest_wait must be >= 0 seconds", self.longest_wait)
        require(self.concurrency >= 1, "concurrency must be >= 1", self.concurrency)

    def process(self, pdf: PDF, *, keep: bool = False) -> str:
        """Return the TEI of a PDF.

        Parameters
        ----------
        pdf : a path, or the bytes of one.
        keep : write the TEI beside the PDF, as ``paper.grobid.tei.xml``, and take it from there next time, unless the PDF is
            newer. Bytes have no place, so nothing is kept of them.

        Raises
        ------
        ConfigurationError : this is no PDF; nothing is sent.
        ModelUnavailable : no server is there, it refuses the PDF, it takes too long, or it remains busy.
        BadModelOutput : it found no text, or answered with something else than TEI.
        MissingExtra : ``httpx`` or ``tenacity`` is not installed.
        """
        if keep and (known := _kept(pdf)) is not None:
            return known
        sent = _sent(pdf)
        text: str = repeating(self, "Retrying", "grobid")(self._once, sent) if self.retries else self._once(sent)
        return _keep(pdf, text) if keep else text

    async def aprocess(self, pdf: PDF, *, keep: bool = False) -> str:
        """Await `process`."""
        if keep and (known := await call_in_thread(_kept, pdf)) is not None:
            return known
        sent = await call_in_thread(_sent, pdf)
        text: str = await (
            repeating(self, "AsyncRetrying", "grobid")(self._aonce, sent) if self.retries else self._aonce(sent)
        )
        return await call_in_thread(_keep, pdf, text) if keep else text

    def read(self, pdf: PDF, *, keep: bool = True) -> Document:
        """Return the document that a PDF holds, by way of `process` and `readers.tei.read`.

        Its metadata says where it comes from: ``source``, and ``tei``, the file that is kept beside it.
        """
        return _document(pdf, self.process(pdf, keep=keep), keep)

    async def aread(self, pdf: PDF, *, keep: bool = True) -> Document:
        """Await `read`."""
        text = await self.aprocess(pdf, keep=keep)
        return await call_in_thread(_document, pdf, text, keep)

    def read_many(self, pdfs: Iterable[PDF], *, keep: bool = True, on_error: OnError = None) -> list[Document]:
        """Return the document of each PDF, with at most ``concurrency`` of them under way.

        Parameters
        ----------
        on_error : called with a PDF that fails, and why; it is then left out. None raises the first failure.
        """
        with ThreadPoolExecutor(self.concurrency) as pool:
            futures = [(pdf, pool.submit(self.read, pdf, keep=keep)) for pdf in _several(pdfs)]
            found = list[Document]()
            try:
                for pdf, future in futures:
                    try:
                        found.append(future.result())
                    except _FAILURES as error:
                        _handle(pdf, error, on_error)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        return found

    async def aread_many(self, pdfs: Iterable[PDF], *, keep: bool = True, on_error: OnError = None) -> list[Document]:
        """Await `read_many`."""
        slots = asyncio.Semaphore(self.concurrency)

        async def one(pdf: PDF) -> Document | None:
            async with slots:
                try:
                    return await self.aread(pdf, keep=keep)
                except _FAILURES as error:
                    _handle(pdf, error, on_error)
                    return None

        tasks = [asyncio.create_task(one(pdf)) for pdf in _several(pdfs)]
        try:
            return [found for found in await asyncio.gather(*tasks) if found is not None]
        finally:
            for task in tasks:
                task.cancel()

    def _once(self, sent: _Sent) -> str:
        httpx = import_extra("httpx", "grobid")

        def post() -> Any:
            with httpx.Client(timeout=self.timeout) as client:
                return client.post(**self._request(sent))

        try:
            answer = call_with_timeout(self.timeout, post)
        except (httpx.HTTPError, TimeoutError) as error:
            raise self._failure(error, sent) from None
        return self._answer(answer, sent)

    async def _aonce(self, sent: _Sent) -> str:
        httpx = import_extra("httpx", "grobid")
        try:
            async with asyncio.timeout(self.timeout), httpx.AsyncClient(timeout=self.timeout) as client:
                answer = await client.post(**self._request(sent))
        except (httpx.HTTPError, TimeoutError) as error:
            raise self._failure(error, sent) from None
        return self._answer(answer, sent)

    def _request(self, sent: _Sent) -> dict[str, Any]:
        return {
            "url": f"{self.url.rstrip('/')}/api/processFulltextDocument",
            "files": {"input": (sent.name, sent.data, "application/pdf")},
            "data": {"teiCoordinates": list(_COORDINATES), "segmentSentences": "1", **self.options},
            "headers": {"Accept": "application/xml"},
        }

    def _failure(self, error: Exception, sent: _Sent) -> ModelUnavailable:
        kind = type(error).__name__
        if kind in {"ConnectError", "ConnectTimeout"}:
            return ModelUnavailable(f"no GROBID server at {self.url}: {first_line(error)}")
        if "Timeout" in kind:
            return ModelUnavailable(f"GROBID at {self.url} did not finish {sent.name} in {self.timeout:g} s")
        return Passing(f"GROBID at {self.url} broke off at {sent.name}: {kind}: {first_line(error)}")

    def _answer(self, answer: Any, sent: _Sent) -> str:
        """Return the TEI that came, or raise."""
        status: int = answer.status_code
        text: str = answer.content.decode("utf-8", "replace")
        if status == 200 and "<TEI" in text[:4096]:
            return text
        if status in (200, 204):
            said = "found no text in" if not text.strip() else f"must answer with TEI, got {squeezed(text)[:80]!r} for"
            msg = f"GROBID at {self.url} {said} {sent.name}"
            raise BadModelOutput(msg)
        msg = f"GROBID at {self.url} refused {sent.name}: HTTP {status}: {squeezed(text)[:_SAID]}"
        wait = retry_after(answer)
        if status not in _BUSY or (wait or 0) > self.longest_wait:
            raise ModelUnavailable(msg)
        raise Passing(msg, wait)


def kept_at(pdf: str | os.PathLike[str]) -> Path:
    """Return where the TEI of a PDF is kept: beside it, under the name that GROBID's own clients give it.

    >>> str(kept_at("papers/seals.pdf"))
    'papers/seals.grobid.tei.xml'
    """
    path = Path(pdf)
    return path.with_name((path.stem if path.suffix.lower() == ".pdf" else path.name) + ".grobid.tei.xml")


def _sent(pdf: PDF) -> _Sent:
    """Return what is sent of a PDF, if it is one."""
    name, data = ("bytes", pdf) if isinstance(pdf, bytes) else (Path(pdf).name, Path(pdf).read_bytes())
    require_pdf(data, name)
    return _Sent(name, data)


def _kept(pdf: PDF) -> str | None:
    """Return the TEI that is kept of a PDF, unless the PDF is newer."""
    if isinstance(pdf, bytes):
        return None
    path = kept_at(pdf)
    fresh = path.is_file() and path.stat().st_mtime_ns >= Path(pdf).stat().st_mtime_ns
    return decode_text(path.read_bytes()) if fresh else None


def _keep(pdf: PDF, text: str) -> str:
    """Write the TEI of a PDF beside it, whole or not at all."""
    if not isinstance(pdf, bytes):
        path = kept_at(pdf)
        part = path.with_name(f"{path.name}.{uuid4().hex}.part")
        try:
            part.write_text(text, encoding="utf-8", newline="")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return text


def _document(pdf: PDF, text: str, keep: bool) -> Document:
    from advchunk.readers import tei

    if isinstance(pdf, bytes):
        return tei.read(text)
    return tei.read(text, metadata={"source": os.fspath(pdf)} | ({"tei": str(kept_at(pdf))} if keep else {}))


def _several(pdfs: Iterable[PDF]) -> list[PDF]:
    require(not isinstance(pdfs, (str, bytes, os.PathLike)), "pdfs must be several; for one there is read", pdfs)
    return list(pdfs)


def _handle(pdf: PDF, error: Exception, on_error: OnError) -> None:
    if on_error is None:
        raise error
    on_error(pdf, error)
