"""Client of a GROBID server, which converts PDFs to TEI; ``httpx`` and ``tenacity`` are imported at the first call.

References
----------
GROBID, "GROBID Service API", https://grobid.readthedocs.io/en/latest/Grobid-service.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from advchunk.engine.threads import run_coroutine
from advchunk.errors import ModelUnavailable, first_line, import_extra, require, require_answer
from advchunk.models.atomic import open_atomic
from advchunk.models.connection import TransientError, is_plain_url, retry_after, retrying
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
        for name in ("retries", "backoff", "longest_wait"):
            require(getattr(self, name) >= 0, f"{name} must be >= 0", getattr(self, name))

    def process(self, pdf: PDF, *, keep: bool = False) -> str:
        """Return the TEI of a PDF.

        Parameters
        ----------
        pdf : path or content of a PDF.
        keep : write the TEI of a path beside it, as ``paper.grobid.tei.xml``, and read that unless the PDF is newer.

        Raises
        ------
        ConfigurationError : not a PDF; nothing is sent.
        ModelUnavailable : the server is unreachable, refuses the PDF, takes too long, or remains busy.
        BadModelOutput : the server found no text, or did not answer with TEI.
        MissingExtra : ``httpx`` or ``tenacity`` is not installed.
        """
        path = None if isinstance(pdf, bytes) else Path(pdf)
        kept = kept_at(path) if path and keep else None
        if path and kept and kept.is_file() and kept.stat().st_mtime_ns >= path.stat().st_mtime_ns:
            return decode(kept.read_bytes()).text
        data, name = (pdf, "bytes") if isinstance(pdf, bytes) else (Path(pdf).read_bytes(), Path(pdf).name)
        require_pdf(data, name)
        text: str = run_coroutine(retrying(self, "grobid")(self._post, name, data))
        if kept:
            with open_atomic(kept, encoding="utf-8", newline="") as file:
                file.write(text)
        return text

    def read(self, pdf: PDF, *, keep: bool = True) -> Document:
        """Return the document in a PDF; its metadata has ``source``, its path, and ``tei``, the path of the TEI."""
        text, metadata = self.process(pdf, keep=keep), dict[str, str]()
        if not isinstance(pdf, bytes):
            metadata = {"source": os.fspath(pdf)} | ({"tei": str(kept_at(pdf))} if keep else {})
        return tei.read(text, metadata=metadata)

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
        problem = f"must answer with TEI, got {squeeze(text)[:80]!r} for" if text.strip() else "found no text in"
        require_answer(status not in (200, 204), f"GROBID at {self.url} {problem} {name}")
        msg = f"GROBID at {self.url} refused {name}: HTTP {status}: {squeeze(text)[:_SHOWN]}"
        wait = retry_after(response)
        if status not in _BUSY or (wait or 0) > self.longest_wait:
            raise ModelUnavailable(msg)
        raise TransientError(msg, wait)


def kept_at(pdf: str | os.PathLike[str]) -> Path:
    """Return the path of a PDF's TEI: next to it, named ``*.grobid.tei.xml`` as by GROBID's own clients."""
    path = Path(pdf)
    return path.with_name((path.stem if path.suffix.lower() == ".pdf" else path.name) + ".grobid.tei.xml")
