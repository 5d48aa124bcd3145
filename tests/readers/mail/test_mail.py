"""Mail, also of Outlook: headers as metadata, quotations apart, attachments as documents, anything hostile refused."""

from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from office_files import attachment, compound, message_streams, outlook

from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.cli import files, main
from advchunk.errors import Unreadable
from advchunk.readers.mail.messages import read, read_all
from blocks import blocks_of, damaged

SENT = int((datetime(2026, 3, 3, 9, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7
HEADERS = {"title": "Tea for two", "from": "ann@tea.org", "to": "Bob"}


def message(text="Green tea?\n\nAnn wrote:\n> Which tea?\n> Or rum?\nNone.\n\n-- \nBob\n", **headers):
    mail = EmailMessage()
    for name, value in {
        "Subject": "Tee für zwei",
        "From": "Bob <b@x.org>",
        "Date": "Tue, 03 Mar 2026 10:00:00 +0100",
        **headers,
    }.items():
        mail[name] = value
    mail.set_content(text)
    return mail


def test_headers_are_metadata_and_quotations_blocks():
    document = read(message().as_bytes(), id="tea.eml")
    headers = {"title": "Tee für zwei", "from": "Bob <b@x.org>", "date": "2026-03-03T10:00:00+01:00"}
    assert document.metadata == {**headers, "signature": "Bob"}
    texts = ["Green tea?", "Ann wrote:", "> Which tea?\n> Or rum?", "None."]
    assert blocks_of(document) == [("quote" if text[0] == ">" else "paragraph", 0, text) for text in texts]


@pytest.fixture
def outlook_reader():
    """The reader of messages of Outlook, if its library is installed."""
    pytest.importorskip("olefile")
    from advchunk.readers.mail import outlook

    return outlook


def attached(kind):
    """Return a message with a table, a picture, and a message."""
    if kind == "msg":
        pytest.importorskip("olefile")
        inner = message_streams({"0037": "Inner", "1000": "Inner text."}, is_inner=True, sent=SENT)
        parts = ("prices.csv", b"tea,price\ngreen,2\n"), ("../cup.png", b"\x89PNG"), ("", inner)
        return outlook(attached=[attachment(*part) for part in parts])
    mail = message()
    mail.add_attachment("tea,price\ngreen,2\n", filename="prices.csv", subtype="csv")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="../cup.png")
    mail.add_attachment(message("Inner text.", Subject="Inner"))
    return mail.as_bytes()


@pytest.mark.parametrize("kind", ["eml", "msg"])
def test_attachments_are_documents_in_their_formats_and_others_are_said(kind, tmp_path):
    path = tmp_path / f"tea.{kind}"
    path.write_bytes(attached(kind))
    first, table, inner = (own for own, _ in chunk_files(path, RecursiveChunker(), on_error="raise"))
    names = [str(path), f"{path}/prices.csv", f"{path}/attachment 3"]
    assert [first.id, table.id, inner.id] == names
    assert first.metadata["attachments"] == names[1:]
    assert first.metadata["unread_attachments"] == [f"{path}/../cup.png"]
    assert first.metadata["left_out"] == "attachments: 1"
    assert table.blocks[0].kind == "table"
    assert (inner.text, inner.metadata["attached_to"]) == ("Inner text.", str(path))
    assert inner.metadata["date"].startswith("2026-03-03T")
    with pytest.raises(ConfigurationError, match="one document"):
        read_file(path)


def test_what_is_left_out_of_a_page_is_counted_with_attachments():
    mail = message("")
    mail.set_content("<nav><p>Home</p></nav><p>Green.</p>", subtype="html")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="cup.png")
    assert read(mail.as_bytes()).metadata["left_out"] == "attachments: 1; menus: 1"


def test_html_is_read_if_there_is_no_text(outlook_reader):
    html = b"<h1>Kinds</h1><p>Green.</p>"
    streams = {**message_streams({"0037": "Tea"}), "__substg1.0_10130102": html}
    mail = b"Subject: Tea\nContent-Type: text/html\n\n" + html
    for document in read(mail), outlook_reader.read(compound(streams)):
        assert blocks_of(document) == [("heading", 1, "Kinds"), ("paragraph", 0, "Green.")]


def test_a_mailbox_has_its_messages_and_lines_that_begin_like_one(tmp_path):
    path = tmp_path / "all.mbox"
    start = b"From b@x.org Tue Mar  3 10:00:00 2026\n"
    path.write_bytes(start + message("One.\n").as_bytes() + b"\n" + start + b"Subject: Two\n\n>From here on.\n")
    documents = [document for document, _ in chunk_files(path, RecursiveChunker())]
    assert [(document.id, document.text) for document in documents] == [
        (f"{path}, message 1", "One."),
        (f"{path}, message 2", "From here on."),
    ]


def test_messages_in_messages_end():
    mail = message("Innermost.")
    for _ in range(8):
        outer = message("Outer.")
        outer.add_attachment(mail)
        mail = outer
    assert len(read_all(mail.as_bytes(), id="a.eml")) == 4


@pytest.mark.parametrize("data", [b"", b"only text", b"\xff\xfe\x00\x01"])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ConfigurationError, match="a message must begin with headers"):
        read(data, id="x.eml")


@pytest.mark.parametrize("charset", [b"x-unknown", b"utf-8", b"ascii"])
def test_text_in_a_wrong_charset_is_not_lost(charset):
    data = (
        b'Subject: T\nContent-Type: text/plain; charset="'
        + charset
        + b'"\nContent-Transfer-Encoding: 8bit\n\nTh\xe9 vert.\n'
    )
    assert read(data).text == "Thé vert."


@given(st.data())
def test_damaged_messages_give_documents_or_one_clear_error(data):
    mail = message()
    mail.add_attachment("tea,price\n", filename="prices.csv", subtype="csv")
    whole = mail.as_bytes()
    at, change = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.binary(max_size=3))
    changed = whole[:at] + change + whole[at + data.draw(st.integers(0, 9)) :]
    try:
        documents = read_all(changed, id="x.eml")
    except ConfigurationError:
        return
    assert all(isinstance(document.text, str) for document in documents)


def test_html_is_read_if_the_text_beside_it_is_blank():
    mail = message("\n")
    mail.add_alternative("<p>Green tea.</p>", subtype="html")
    assert read(mail.as_bytes()).text == "Green tea."


def test_mail_attached_as_text_is_not_read_without_end():
    mail = message("Innermost.")
    for _ in range(30):
        outer = message("Outer.")
        outer.add_attachment(mail.as_bytes().decode("ascii", "replace"), filename="next.eml")
        mail = outer
    (document,) = read_all(mail.as_bytes(), id="a.eml")
    assert document.metadata["unread_attachments"] == ["a.eml/next.eml"]


def test_a_signature_is_metadata_and_text_after_a_line_of_dashes_is_kept():
    document = read(message("Green.\n\n-- \nBob\nTea Ltd\n").as_bytes())
    assert (document.text, document.metadata["signature"]) == ("Green.", "Bob\nTea Ltd")
    long = "\n".join(f"Line {i}." for i in range(20))
    document = read(message(f"Green.\n\n-- \n{long}\n").as_bytes())
    assert long in document.text
    assert "signature" not in document.metadata
    document = read(message("Green.\n-- \nBlack.\n-- \nBob\n").as_bytes())
    assert (document.text, document.metadata["signature"]) == ("Green.\n-- \nBlack.", "Bob")


def test_a_text_that_is_not_in_the_declared_encoding_says_which_it_is_in():
    pytest.importorskip("chardet")
    data = b"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n" + "Der grüne Tee wird gedämpft.".encode("cp1252")
    document = read(data)
    assert (document.text, document.metadata["encoding"]) == ("Der grüne Tee wird gedämpft.", "cp1252")
    declared = data.replace(b"utf-8", b"iso-8859-1")
    assert "encoding" not in read(declared).metadata


def test_a_message_is_done_with_its_attachments(tmp_path):
    mail = message()
    mail.add_attachment("tea,price\ngreen,2\n", filename="prices.csv", subtype="csv")
    path, out = tmp_path / "tea.eml", tmp_path / "out.jsonl"
    path.write_bytes(mail.as_bytes())
    names = [document.id for document, _ in chunk_files(tmp_path, RecursiveChunker())]
    assert [*chunk_files(tmp_path, RecursiveChunker(), done=names[:1])] == []
    arguments = ["chunk", str(path), "-m", "recursive", "-f", "jsonl", "--out", str(out)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    whole = out.read_text("utf-8")
    with suppress(KeyboardInterrupt), files.open_resumable(str(out), set(), RecursiveChunker().fingerprint()) as file:
        file.write(whole[:-20])
        raise KeyboardInterrupt
    out.unlink()
    assert CliRunner().invoke(main, [*arguments, "--resume"]).exit_code == 0
    assert out.read_text("utf-8") == whole


_PARTS = (
    "--{0}\r\nContent-Type: text/plain\r\n\r\n{1}\r\n--{0}\r\nContent-Type: text/html\r\n\r\n"
    "<h1>Recall</h1><p>Send back the cups with the number 4711.</p>\r\n--{0}--\r\n"
)


@pytest.mark.parametrize(
    ("header", "boundary"),
    [
        ("; boundary==_a:b(1)", "=_a:b(1)"),
        ("; boundary=other", "cups"),
        ("", "cups"),
        ('"""; boundary="=cups"', "=cups"),
    ],
)
def test_parts_are_found_without_a_valid_boundary(header, boundary):
    text = _PARTS.format(boundary, "Send back the cups with the number 4711.")
    data = f"Subject: Tea\r\nContent-Type: multipart/alternative{header}\r\n\r\n{text}"
    assert read(data.encode()).text == "Send back the cups with the number 4711."


def test_a_plain_part_that_says_less_is_not_taken_for_the_message():
    text = _PARTS.format("x", "This program cannot show HTML.")
    data = f"Subject: Tea\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n{text}"
    assert read(data.encode()).text == "Recall\n\nSend back the cups with the number 4711."


@pytest.mark.parametrize(("declared", "encoding"), [("us-ascii", "iso2022_jp"), ("iso-8859-1", "utf-8")])
def test_a_charset_that_the_bytes_belie_is_not_believed(declared, encoding):
    data = f"Subject: Tea\nContent-Type: text/plain; charset={declared}\n\n".encode() + "緑茶。".encode(encoding)
    assert read(data).text == "緑茶。"


def test_headers_of_outlook_are_metadata(outlook_reader):
    document = outlook_reader.read(
        outlook(body="Green tea?\r\n\r\nBob wrote:\r\n> Which?\r\n", sent=SENT), id="tea.msg"
    )
    assert document.metadata == {**HEADERS, "date": "2026-03-03T09:00:00+00:00"}
    parts = [("paragraph", 0, "Green tea?"), ("paragraph", 0, "Bob wrote:"), ("quote", 0, "> Which?")]
    assert blocks_of(document) == parts
    strings = {
        "0C1A": "Ann",
        "5D01": "ann@tea.org",
        "0E04": "Bob; Lee, Cy",
        "0E03": "Di",
        "1035": "<1@tea>",
        "1042": "<0@tea>",
    }
    document = outlook_reader.read(compound(message_streams({**strings, "0037": "Line\nbreak", "1000": "Tea."})))
    assert document.metadata == {
        "title": "Line break", "from": "Ann <ann@tea.org>", "to": "Bob; Lee, Cy", "cc": "Di", "message_id": "<1@tea>",
        "in_reply_to": "<0@tea>",
    }  # fmt: skip


def test_messages_are_in_each_other_at_most_so_deep(outlook_reader):
    streams = message_streams({"0037": "0", "1000": "Text 0."}, is_inner=True)
    for number in range(1, 9):
        inner = attachment("m", streams)
        streams = message_streams(
            {"0037": str(number), "1000": f"Text {number}."}, is_inner=number < 8, attached=[inner]
        )
    documents = outlook_reader.read_all(compound(streams), id="m")
    assert [document.text for document in documents] == [f"Text {number}." for number in (8, 7, 6, 5)]
    assert documents[-1].metadata["unread_attachments"] == ["m/m/m/m/m"]


def test_compressed_text_alone_is_said(outlook_reader):
    streams = {**message_streams({"0037": "Tea"}), "__substg1.0_10090102": b"LZFu"}
    document = outlook_reader.read(compound(streams), id="tea.msg")
    assert document.metadata["unread_attachments"] == ["tea.msg/text in compressed RTF"]


@pytest.mark.parametrize(
    ("page", "text"), [(1251, "Зелёный чай"), (932, "緑茶"), (0, "Green tea"), (77777, "Green tea")]
)
def test_strings_may_be_in_the_code_page_of_the_message(page, text, outlook_reader):
    encoding = f"cp{page}" if page in {1251, 932} else "ascii"
    streams = message_streams({})
    streams["__properties_version1.0"] += bytes.fromhex("0300fd3f00000000") + page.to_bytes(8, "little")
    document = outlook_reader.read(
        compound(
            {**streams, "__substg1.0_0037001E": text.encode(encoding), "__substg1.0_1000001E": text.encode(encoding)}
        )
    )
    assert (document.metadata["title"], document.text) == (text, text)


def test_damaged_messages_of_outlook_are_read_or_refused(outlook_reader):
    refused = 0
    for data in damaged(attached("msg"), 0):
        try:
            outlook_reader.read_all(data, id="x")
        except ConfigurationError as error:
            refused += str(error).startswith("x")
    assert refused


@pytest.mark.parametrize(
    "data", [b"", b"Subject: Tea\n\nTea.", compound({"WordDocument": b"\0" * 64})], ids=["empty", "mail", "doc"]
)
def test_other_files_are_refused(data, outlook_reader):
    with pytest.raises(Unreadable, match=r"x\.msg must be an Outlook message"):
        outlook_reader.read(data, id="x.msg")


def test_mail_that_is_nested_deeper_than_python_recurses_is_refused(tmp_path):
    parts = "".join(f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(1500))
    for name, text in {
        "parts": f"From: a@b.org\n{parts}\n\nTea.\n",
        "comments": f"From: {'(' * 3000}\n\nTea.\n",
    }.items():
        (tmp_path / f"{name}.eml").write_text(text)
        with pytest.raises(Unreadable, match="nested so deeply"):
            read_file(tmp_path / f"{name}.eml")
