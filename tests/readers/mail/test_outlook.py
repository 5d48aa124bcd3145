"""Messages of Outlook: read as other mail, with their dates and attachments; damaged ones are refused."""

import random
from datetime import UTC, datetime

import pytest
from office_files import attachment, compound, message_streams, outlook

from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.errors import Unreadable
from advchunk.readers.mail.outlook import read, read_all

pytest.importorskip("olefile")
SENT = int((datetime(2026, 3, 3, 9, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7
HEADERS = {"title": "Tea for two", "from": "ann@tea.org", "to": "Bob"}


def test_headers_are_metadata_and_quotations_blocks():
    document = read(outlook(body="Green tea?\r\n\r\nBob wrote:\r\n> Which?\r\n", sent=SENT), id="tea.msg")
    assert document.metadata == {**HEADERS, "date": "2026-03-03T09:00:00+00:00"}
    parts = [(block.kind, document.text[slice(*block.span)]) for block in document.blocks]
    assert parts == [("paragraph", "Green tea?"), ("paragraph", "Bob wrote:"), ("quote", "> Which?")]
    strings = {
        "0C1A": "Ann",
        "5D01": "ann@tea.org",
        "0E04": "Bob; Lee, Cy",
        "0E03": "Di",
        "1035": "<1@tea>",
        "1042": "<0@tea>",
    }
    document = read(compound(message_streams({**strings, "0037": "Line\nbreak", "1000": "Tea."})))
    assert document.metadata == {
        "title": "Line break", "from": "Ann <ann@tea.org>", "to": "Bob; Lee, Cy", "cc": "Di", "message_id": "<1@tea>",
        "in_reply_to": "<0@tea>",
    }  # fmt: skip


def test_attachments_are_documents_in_their_formats_and_others_are_said(tmp_path):
    inner = message_streams({"0037": "Inner", "1000": "Inner text."}, is_inner=True, sent=SENT)
    attached = [
        attachment("prices.csv", b"tea,price\ngreen,2\n"),
        attachment("cup.png", b"\x89PNG"),
        attachment("", inner),
    ]
    path = tmp_path / "tea.msg"
    path.write_bytes(outlook(attached=attached))
    documents = [document for document, _ in chunk_files(path, RecursiveChunker(), on_error="raise")]
    assert [document.id for document in documents] == [str(path), f"{path}/prices.csv", f"{path}/attachment 3"]
    assert documents[0].metadata["attachments"] == [f"{path}/prices.csv", f"{path}/attachment 3"]
    assert documents[0].metadata["unread_attachments"] == [f"{path}/cup.png"]
    assert documents[1].blocks[0].kind == "table"
    assert documents[2].text == "Inner text."
    assert documents[2].metadata["attached_to"] == str(path)
    assert documents[2].metadata["date"] == "2026-03-03T09:00:00+00:00"
    with pytest.raises(ConfigurationError, match="one document"):
        read_file(path)


def test_messages_are_in_each_other_at_most_so_deep():
    streams = message_streams({"0037": "0", "1000": "Text 0."}, is_inner=True)
    for number in range(1, 9):
        inner = attachment("m", streams)
        streams = message_streams(
            {"0037": str(number), "1000": f"Text {number}."}, is_inner=number < 8, attached=[inner]
        )
    documents = read_all(compound(streams), id="m")
    assert [document.text for document in documents] == [f"Text {number}." for number in (8, 7, 6, 5)]
    assert documents[-1].metadata["unread_attachments"] == ["m/m/m/m/m"]


def test_html_is_read_if_there_is_no_text_and_compressed_text_alone_is_said():
    streams = message_streams({"0037": "Tea"})
    html = read(compound({**streams, "__substg1.0_10130102": b"<h1>Kinds</h1><p>Green.</p>"}))
    assert [block.kind for block in html.blocks] == ["heading", "paragraph"]
    rich = read(compound({**streams, "__substg1.0_10090102": b"LZFu"}), id="tea.msg")
    assert rich.metadata["unread_attachments"] == ["tea.msg/text in compressed RTF"]


@pytest.mark.parametrize(
    ("page", "text"), [(1251, "Зелёный чай"), (932, "緑茶"), (0, "Green tea"), (77777, "Green tea")]
)
def test_strings_may_be_in_the_code_page_of_the_message(page, text):
    encoding = f"cp{page}" if page in {1251, 932} else "ascii"
    streams = message_streams({})
    streams["__properties_version1.0"] += bytes.fromhex("0300fd3f00000000") + page.to_bytes(8, "little")
    document = read(
        compound(
            {**streams, "__substg1.0_0037001E": text.encode(encoding), "__substg1.0_1000001E": text.encode(encoding)}
        )
    )
    assert (document.metadata["title"], document.text) == (text, text)


def test_damaged_files_are_read_or_refused():
    generator, data = random.Random(0), outlook(sent=SENT, attached=[attachment("prices.csv", b"tea,price\ngreen,2\n")])
    refused = 0
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(generator.randint(1, 8)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        if generator.random() < 0.3:
            del damaged[generator.randrange(len(damaged)) :]
        try:
            read_all(bytes(damaged), id="x")
        except ConfigurationError as error:
            refused += str(error).startswith("x")
    assert refused


@pytest.mark.parametrize(
    "data", [b"", b"Subject: Tea\n\nTea.", compound({"WordDocument": b"\0" * 64})], ids=["empty", "mail", "doc"]
)
def test_other_files_are_refused(data):
    with pytest.raises(Unreadable, match=r"x\.msg must be an Outlook message"):
        read(data, id="x.msg")
