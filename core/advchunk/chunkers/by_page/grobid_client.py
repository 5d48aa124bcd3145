"""Client of a GROBID server, which converts PDFs to TEI; ``httpx`` and ``tenacity`` are imported at the first call.

References
----------
GROBID, "GROBID Service API", https://grobid.readthedocs.io/en/latest/Grobid-service.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from advchunk.engine import call_in_thread
from advchunk.engine.threads import run_coroutine
from advchunk.errors import BadModelOutput, ModelUnavailable, first_line, import_extra, require
from advchunk.models.atomic import open_atomic
from advchunk.models.connection import is_plain_url
from advchunk.models.retrying import TransientError, retry_after, retrying
from advchunk.readers.encodings import decode
from advchunk.readers.magic import require_pdf
from advchunk.readers.papers import tei
from advchunk.readers.writing import squeeze
from advchunk.records import Document

PDF: TypeAlias = str | os.PathLike[str] | bytes
_COORDINATES = ("head", "p", "s", "figure", "formula", "note", "ref", "biblStruct")
_SHOWN = 300  # characters of a response in an error
_BUSY = (429, 502, 503, 504)  # 503: no engine is free


@dataclass(frozen=True)
class GrobidClient:
    r"""Client of a running GROBID server, such as ``docker run --rm -p 8070:8070 grobid/grobid:0.8.2-crf`` starts.

    It requests the full text with coordinates and sentences.

    Parameters
    ----------
    url : address of the server, without user, password or query.
    timeout : seconds that a PDF may take, > 0; a timeout is not retried.
    retries : how many times a PDF is sent again when no engine is free or the connection breaks, >= 0.
    backoff, longest_wait : seconds before the first retry, and the maximum before any, >= 0. Each wait is random, up to
        twice as long as the one before; or as long as the server asks, and a little more.
    options : more fields of a request, such as ``{"consolidateHeader": "0"}``.

    >>> client = GrobidClient("http://localhost:8070", timeout=300)
    >>> client.process(b"PK\x03\x04 ...")
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: bytes must be a PDF, got a zip archive, such as an Office document or EPUB
    """

    url: str = "http://localhost:8070"
    _: KW_ONLY
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 1.0
    longest_wait: float = 60.0
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(is_plain_url(self.url), "url must be http(s)://host:port, without user, password or query", "another")
        require(self.timeout > 0, "timeout must be > 0 seconds", self.timeout)
        require(self.retries >= 0, "retries must be >= 0", self.retries)
        require(self.backoff >= 0, "backoff must be >= 0 seconds", self.backoff)
        require(self.longest_wait >= 0, "longest_wait must be >= 0 seconds", self.longest_wait)

    def process(self, pdf: PDF, *, keep: bool = False) -> str:
        """Return the TEI of a PDF.

        Parameters
        ----------
        pdf : path or content of a PDF.
        keep : write the TEI next to the PDF, as ``paper.grobid.tei.xml``, and read that file next time, unless the PDF
            is newer. Nothing is written for bytes.

        Raises
        ------
        ConfigurationError : not a PDF; nothing is sent.
        ModelUnavailable : the server is unreachable, refuses the PDF, takes too long, or remains busy.
        BadModelOutput : the server found no text, or did not answer with TEI.
        MissingExtra : ``httpx`` or ``tenacity`` is not installed.
        """
        return run_coroutine(self.aprocess(pdf, keep=keep))

    async def aprocess(self, pdf: PDF, *, keep: bool = False) -> str:
        """Await `process`."""
        if keep and not isinstance(pdf, bytes) and (kept := await call_in_thread(_read_kept, pdf)) is not None:
            return kept
        name = "bytes" if isinstance(pdf, bytes) else Path(pdf).name
        data = pdf if isinstance(pdf, bytes) else await call_in_thread(Path(pdf).read_bytes)
        require_pdf(data, name)
        text: str = await retrying(self, "grobid")(self._post, name, data)
        if keep and not isinstance(pdf, bytes):
            await call_in_thread(_write_kept, pdf, text)
        return text

    def read(self, pdf: PDF, *, keep: bool = True) -> Document:
        """Return the document in a PDF, by `process` and `readers.papers.tei.read`.

        Its metadata has ``source``, the path of the PDF, and ``tei``, the path of the file kept next to it.
        """
        return run_coroutine(self.aread(pdf, keep=keep))

    async def aread(self, pdf: PDF, *, keep: bool = True) -> Document:
        """Await `read`."""
        text, metadata = await self.aprocess(pdf, keep=keep), dict[str, str]()
        if not isinstance(pdf, bytes):
            metadata = {"source": os.fspath(pdf)} | ({"tei": str(kept_at(pdf))} if keep else {})
        return await call_in_thread(partial(tei.read, text, metadata=metadata))

    async def _post(self, name: str, data: bytes) -> str:
        httpx = import_extra("httpx", "grobid")
        try:
            async with asyncio.timeout(self.timeout), httpx.AsyncClient(timeout=self.timeout) as client:
                response = await client.post(
                    f"{self.url.rstrip('/')}/api/processFulltextDocument",
                    files={"input": (name, data, "application/pdf")},
                    data={"teiCoordinates": list(_COORDINATES), "segmentSentences": "1", **self.options},
                    headers={"Accept": "application/xml"},
                )
        except (httpx.HTTPError, TimeoutError) as error:
            raise self._failure(error, name) from None
        return self._tei(response, name)

    def _failure(self, error: Exception, name: str) -> ModelUnavailable:
        kind = type(error).__name__
        if kind in {"ConnectError", "ConnectTimeout"}:
            return ModelUnavailable(f"no GROBID server at {self.url}: {first_line(error)}")
        if "Timeout" in kind:
            return ModelUnavailable(f"GROBID at {self.url} did not finish {name} in {self.timeout:g} s")
        return TransientError(f"GROBID at {self.url} broke off at {name}: {kind}: {first_line(error)}")

    def _tei(self, response: Any, name: str) -> str:
        status, text = response.status_code, str(response.content.decode("utf-8", "replace"))
        if status == 200 and "<TEI" in text[:4096]:
            return text
        if status in (200, 204):
            problem = f"must answer with TEI, got {squeeze(text)[:80]!r} for" if text.strip() else "found no text in"
            msg = f"GROBID at {self.url} {problem} {name}"
            raise BadModelOutput(msg)
        msg = f"GROBID at {self.url} refused {name}: HTTP {status}: {squeeze(text)[:_SHOWN]}"
        wait = retry_after(response)
        if status not in _BUSY or (wait or 0) > self.longest_wait:
            raise ModelUnavailable(msg)
        raise TransientError(msg, wait)


def kept_at(pdf: str | os.PathLike[str]) -> Path:
    """Return the path where the TEI of a PDF is kept: next to it, named as by GROBID's own clients.

    >>> str(kept_at("papers/seals.pdf"))
    'papers/seals.grobid.tei.xml'
    """
    path = Path(pdf)
    return path.with_name((path.stem if path.suffix.lower() == ".pdf" else path.name) + ".grobid.tei.xml")


def _read_kept(pdf: str | os.PathLike[str]) -> str | None:
    """Return the kept TEI of a PDF, unless the PDF is newer."""
    path = kept_at(pdf)
    fresh = path.is_file() and path.stat().st_mtime_ns >= Path(pdf).stat().st_mtime_ns
    return decode(path.read_bytes()).text if fresh else None


def _write_kept(pdf: str | os.PathLike[str], text: str) -> None:
    """Write the TEI of a PDF next to it, atomically."""
    with open_atomic(kept_at(pdf), encoding="utf-8", newline="") as file:
        file.write(text)
