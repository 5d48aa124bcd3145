"""Texts are read in the encoding that they are in, and what it is, is said."""

import logging
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.readers.encodings import decode, find_unicode, is_text

TEXTS = {
    "cp1252": "Der grüne Tee wird gedämpft, der schwarze nicht.\n“Wie heiß?” – 80 °C.",
    "cp1250": "Zelený čaj se paří, černý čaj ne. Příliš horká voda mu škodí.",
    "cp1251": "Зелёный чай пропаривают, чёрный нет. Вода не должна быть горячей.",
    "gb18030": "绿茶要蒸，红茶不用。水温八十度。",
    "cp932": "緑茶は蒸して作りますが、紅茶は違います。お湯は八十度です。",
    "cp949": "녹차는 찌지만 홍차는 그렇지 않습니다. 물은 팔십 도입니다.",
}
SIXTEEN = ["utf-16-le", "utf-16-be"]


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_encoding_of_a_file_is_found_and_said(tmp_path, caplog, encoding):
    pytest.importorskip("chardet")
    path = tmp_path / "tea.txt"
    path.write_bytes(TEXTS[encoding].encode(encoding))
    ((document, chunks),) = chunk_files(path, RecursiveChunker())
    assert (document.text, document.metadata) == (TEXTS[encoding], {"encoding": encoding})
    assert [chunk.metadata["encoding"] for chunk in chunks] == [encoding]
    assert caplog.messages == [f"{path}: read as {encoding}, which it is by its bytes; encoding= overrides it"]
    assert read_file(path, encoding="latin-1").text != document.text


@pytest.mark.parametrize("text", [*TEXTS.values(), "Green tea.", "Ja.\nNein."])
@pytest.mark.parametrize("encoding", SIXTEEN)
def test_utf_16_needs_no_mark(text, encoding):
    for own in text, "\n".join(text), f"{text}\r\n{text}":
        if any(letter.isascii() for letter in own):
            assert decode(own.encode(encoding)) == (own, encoding)


@given(st.text(st.characters(codec="ascii"), max_size=60), st.integers(0, 60))
def test_a_text_in_utf_8_with_zeros_stays_one(text, at):
    data = (text[:at] + "\0" + text[at:]).encode()
    if all(letter.isprintable() for letter in text) and len(text) > 12:
        assert decode(data).encoding == "utf-8"


@given(st.binary(max_size=80))
def test_any_bytes_are_a_text_or_one_error(data):
    logging.getLogger("advchunk").disabled = True
    with suppress(ConfigurationError):
        assert isinstance(decode(data).text, str)
    logging.getLogger("advchunk").disabled = False
    assert isinstance(is_text(data), bool)


def test_damaged_utf_8_is_no_other_encoding():
    with pytest.raises(ConfigurationError, match="must be UTF-8"):
        decode("Thé vert, thé noir, thé d’été".encode() + b"\xe9")


def test_letters_far_down_in_a_text_tell_its_encoding():
    pytest.importorskip("chardet")
    text = "Green tea is steamed.\n" * 50_000 + TEXTS["cp1251"]
    assert decode(text.encode("cp1251")).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Thé", "cp1252"), ("Tea at 80 °C", "cp1252"), ("naïve café", "cp1252"), ("Größe;Länge\n1;2\n", "cp1252")],
)
def test_a_letter_or_two_are_read_as_in_the_west(text, encoding):
    pytest.importorskip("chardet")
    assert decode(text.encode(encoding)) == (text, encoding)


def test_what_is_declared_counts_if_it_can_be():
    assert decode("Thé".encode("cp1252"), declared="ISO-8859-1") == ("Thé", "cp1252")
    assert decode("Thé".encode(), declared="iso-8859-1") == ("Thé", "utf-8")


def test_binary_data_are_no_text():
    assert not is_text(bytes(range(256)))
    assert not is_text(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert find_unicode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0") == ""
    assert is_text("天気がいい。\n".encode("utf-16-le"))


def test_a_text_in_iso_2022_jp_is_not_ascii():
    assert decode("緑茶は蒸す。".encode("iso2022_jp")).text == "緑茶は蒸す。"
    assert decode(b"tea \x1b$B \xff\x1b(B", encoding="latin-1").text.startswith("tea")
    assert decode(b"\x1b[31mtea\x1b[0m").encoding == "utf-8"
