"""A GROBID server on loopback that plays a script: what it is sent, what is made of its answers, what is kept."""

import email
import json
import os
import sys
from email.policy import HTTP
from io import BytesIO

import pytest

from advchunk import ConfigurationError
from advchunk.chunkers.by_page.grobid_client import GrobidClient, kept_at
from advchunk.errors import BadModelOutput, MissingExtra, ModelUnavailable
from servers import LONG, Endpoint, breaks_off, drips, free_port, hangs, replies, resets

pytestmark = pytest.mark.slow

PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n"
TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>On töfu</title></titleStmt></fileDesc>
</teiHeader><text><body><div><head n="1">Results</head><p>It is white.</p></div></body></text></TEI>"""
ANSWER = replies(200, TEI, "application/xml")
BUSY = replies(503, "all engines busy", "text/plain")


class Grobid(Endpoint):
    """Is sent forms instead of JSON."""

    def _play(self, handler):
        data = handler.rfile.read(int(handler.headers["Content-Length"]))
        head = f"Content-Type: {handler.headers['Content-Type']}\r\n\r\n".encode()
        form = [("path", handler.path)]
        for part in email.message_from_bytes(head + data, policy=HTTP).iter_parts():
            name, reply = part.get_param("name", header="Content-Disposition"), part.get_payload(decode=True)
            form.append(
                (name, [part.get_filename(), reply.decode("latin-1")] if part.get_filename() else reply.decode())
            )
        body, connection = json.dumps(form).encode(), handler.rfile
        handler.rfile = BytesIO(body)
        handler.headers.replace_header("Content-Length", str(len(body)))
        super()._play(handler)
        handler.rfile = connection


def client(server, **params):
    return GrobidClient(server.url.removesuffix("/v1"), **{"retries": 3, "backoff": 0.01, **params})


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "paper.v2.pdf"
    path.write_bytes(PDF)
    return path


def test_a_pdf_is_sent_whole_with_what_is_asked_of_it(paper):
    with Grobid(ANSWER) as server:
        assert client(server, options={"consolidateHeader": "0"}).process(paper) == TEI
        ((asked),) = server.asked
    assert dict(asked)["path"] == "/api/processFulltextDocument"
    assert dict(asked)["input"] == ["paper.v2.pdf", PDF.decode()]
    assert [value for name, value in asked if name == "teiCoordinates"] == [
        "head", "p", "s", "figure", "formula", "note", "ref", "biblStruct",
    ]  # fmt: skip
    assert dict(asked)["segmentSentences"] == "1"
    assert dict(asked)["consolidateHeader"] == "0"


def test_bytes_are_sent_too_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Grobid(ANSWER) as server:
        assert client(server).process(PDF, keep=True) == TEI
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "trouble", [BUSY, replies(502, "gateway"), resets, breaks_off], ids=["503", "502", "reset", "cut"]
)
def test_temporary_failures_are_retried(trouble):
    with Grobid(trouble, trouble, ANSWER) as server:
        assert client(server).process(PDF) == TEI
        assert len(server.asked) == 3


def test_it_does_not_wait_longer_than_it_may():
    with Grobid(replies(503, "busy", Retry_After="3600")) as server, pytest.raises(ModelUnavailable, match="503: busy"):
        client(server, longest_wait=1).process(PDF)
    assert len(server.asked) == 1


@pytest.mark.parametrize("retries", [0, 2])
def test_a_server_that_remains_busy_is_given_up(retries):
    with Grobid(BUSY) as server, pytest.raises(ModelUnavailable, match="HTTP 503: all engines busy"):
        client(server, retries=retries).process(PDF)
    assert len(server.asked) == 1 + retries


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_refusal_quotes_the_server_and_is_not_retried(status):
    reply = replies(status, "[BAD_INPUT_DATA]\n PDF to XML conversion failed", "text/plain")
    rule = rf"refused bytes: HTTP {status}: \[BAD_INPUT_DATA\] PDF to XML conversion failed$"
    with Grobid(reply) as server, pytest.raises(ModelUnavailable, match=rule):
        client(server).process(PDF)
    assert len(server.asked) == 1


def test_a_missing_server_is_reported_at_once():
    port = free_port()
    with pytest.raises(ModelUnavailable, match=f"no GROBID server at http://127.0.0.1:{port}: "):
        GrobidClient(f"http://127.0.0.1:{port}", retries=50).process(PDF)


@pytest.mark.parametrize("slow", [hangs(LONG), drips(LONG)], ids=["hangs", "drips"])
def test_slow_requests_are_given_up(slow):
    with Grobid(slow) as server, pytest.raises(ModelUnavailable, match=r"did not finish bytes in 0\.3 s"):
        client(server, timeout=0.3).process(PDF)
    assert len(server.asked) <= 1  # none if it was given up before it arrived


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (replies(204, ""), "found no text in bytes"),
        (replies(200, ""), "found no text in bytes"),
        (replies(200, "<html>A portal"), "must answer with TEI, got '<html>A portal' for bytes"),
    ],
)
def test_an_answer_without_tei_is_an_error(answer, rule):
    with Grobid(answer) as server, pytest.raises(BadModelOutput, match=rule):
        client(server).process(PDF)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"PK\x03\x04\x14\x00", "a zip archive, such as an Office"), (b"", "nothing"), (b" " * 1024 + PDF, "b'   ")],
)
def test_files_that_are_not_pdfs_are_never_sent(tmp_path, data, kind):
    path = tmp_path / "given.pdf"
    path.write_bytes(data)
    with Grobid(ANSWER) as server:
        for pdf, name in ((data, "bytes"), (path, "given.pdf")):
            with pytest.raises(ConfigurationError, match=f"^{name} must be a PDF, got {kind}"):
                client(server).process(pdf)
        assert server.asked == []


def test_a_pdf_may_begin_with_something_else():
    with Grobid(ANSWER) as server:
        assert client(server).process(b"\n" * 1000 + PDF) == TEI


def test_tei_is_kept_beside_the_pdf_and_used_until_that_is_newer(paper):
    kept = paper.with_name("paper.v2.grobid.tei.xml")
    with Grobid(ANSWER) as server:
        for _ in range(2):
            assert client(server).process(paper, keep=True) == TEI
        assert (kept_at(paper), kept.read_text(encoding="utf-8")) == (kept, TEI)
        assert len(server.asked) == 1
        os.utime(paper, ns=(0, kept.stat().st_mtime_ns + 1))
        client(server).process(paper, keep=True)
        assert len(server.asked) == 2
        client(server).process(paper)  # is not asked to keep, nor to look
        assert len(server.asked) == 3
    assert sorted(path.name for path in paper.parent.iterdir()) == ["paper.v2.grobid.tei.xml", "paper.v2.pdf"]


def test_a_damaged_stored_file_is_one_clear_error(paper):
    kept_at(paper).write_bytes(TEI.encode()[:50] + b"\xff")
    with Grobid(ANSWER) as server:
        with pytest.raises(ConfigurationError, match=r"must be (UTF-8 unless encoding is given|well-formed)"):
            client(server).read(paper)
        assert not server.asked


def test_nothing_is_kept_of_a_failure(paper):
    with Grobid(replies(500, "no")) as server, pytest.raises(ModelUnavailable):
        client(server).process(paper, keep=True)
    assert [path.name for path in paper.parent.iterdir()] == ["paper.v2.pdf"]


def test_only_pdf_is_a_suffix_that_goes():
    names = ["a.grobid.tei.xml", "a.b.grobid.tei.xml", "a.grobid.tei.xml"]
    assert [kept_at(name).name for name in ("a.PDF", "a.b", "a")] == names


def test_a_pdf_is_read_to_a_document_that_says_where_it_comes_from(paper):
    with Grobid(ANSWER) as server:
        document, unkept = client(server).read(paper), client(server).read(PDF)
    assert (document.text, unkept.text) == ("1 Results\n\nIt is white.",) * 2
    assert document.metadata == {"title": "On töfu", "source": str(paper), "tei": str(kept_at(paper))}
    assert unkept.metadata == {"title": "On töfu"}


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ({"url": "localhost:8070"}, "url must be http"),
        ({"url": "http://me:secret@localhost"}, "url must be http"),
        ({"timeout": 0}, "timeout must be > 0 seconds, got 0"),
        ({"retries": -1}, "retries must be >= 0, got -1"),
        ({"backoff": -1}, "backoff must be >= 0, got -1"),
        ({"longest_wait": -1}, "longest_wait must be >= 0, got -1"),
    ],
)
def test_a_bad_setting_is_an_error(bad, rule):
    with pytest.raises(ConfigurationError, match=rule) as caught:
        GrobidClient(**bad)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("missing", ["httpx", "tenacity"])
def test_missing_libraries_are_named_with_their_extra(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with Grobid(ANSWER) as server, pytest.raises(MissingExtra, match=rf"{missing} is not installed.*\[grobid\]"):
        client(server).process(PDF)
