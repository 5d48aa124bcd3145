"""Find the encoding of a text: by its mark, by its bytes, by its declaration, and else by its statistics."""

import codecs
import logging
import re
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple

from advchunk.errors import ConfigurationError, require
from advchunk.readers import formats, magic

UTF_8 = "utf-8"

_log = logging.getLogger("advchunk")

_HEAD = 2048  # bytes within which XML and HTML must declare their encoding
_DECLARED = re.compile(rb"""<(?:\?xml\b[^>]*?\bencoding|meta\b[^>]*?\bcharset)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_EXCLUDED = ("utf", "unicode", "raw", "idna", "punycode")  # a text that is not UTF-8 cannot declare these
_ALIASES = dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii"), "cp1252")  # as in browsers
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",  # noqa: E501
}  # fmt: skip
# As in browsers, the bytes that cp1252 does not define are control characters.
_CP1252 = "".join(bytes([i]).decode("cp1252", "ignore") or chr(i) for i in range(256))

_ISO_2022 = re.compile(rb"\x1b\$[@B].*?\x1b\([BJ]", re.DOTALL)  # Japanese between two escape sequences
_SAMPLE = 2**16  # bytes that tell UTF-16
_LINES, _BEFORE, _LONGEST = 500, 200, 1000  # that statistics look at, and bytes of each
_FOREIGN = re.compile(rb"[\x80-\xff]")
_SPACES = "\t\n\r\f "
_LEAST = 4  # letters that tell UTF-16 without a mark
_ONE_SCRIPT = 0.8  # share of the letters of a text in UTF-16 that are in one block of 256, or in ASCII
# Encodings in use. Others, such as those of DOS and Macintosh, would be taken for these.
_CANDIDATES = (
    "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "koi8-r", "koi8-u",  # noqa: E501
    "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-15", "gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949", "euc_kr",  # noqa: E501
)  # fmt: skip
_FEW, _UNSURE = 2, 0.1  # letters outside ASCII that say too little, and the confidence below which they do


class Decoded(NamedTuple):
    """A text, and the encoding in which it was."""

    text: str
    encoding: str

    @property
    def about(self) -> dict[str, str]:
        """The metadata of the text: its ``encoding``, unless it is UTF-8."""
        return {} if self.encoding == UTF_8 else {"encoding": self.encoding}


def decode(data: bytes, name: str = "", encoding: str | None = None, declared: str = "") -> Decoded:
    """Decode the bytes of a text, dropping the byte order mark and keeping line endings, so that spans fit the file.

    Without ``encoding``, it is that of the byte order mark, ISO-2022-JP by its escapes, UTF-8, UTF-16, or the
    ``declared`` one (XML and HTML declare theirs within), the first that fits; else the most likely one, which the log
    says and needs chardet (the extra "encodings"). ``name`` is that of the file. Damaged UTF-8 is an error.

    >>> decode("天気がいい。".encode("utf-16")), decode("Thé".encode("cp1252"), declared="iso-8859-1").about
    (Decoded(text='天気がいい。', encoding='utf-16'), {'encoding': 'cp1252'})
    """
    if encoding is not None:
        return _decode_as(data, encoding)
    if marked := find_unicode(data) or _iso_2022(data):
        return _decode_as(data, marked)
    try:
        return Decoded(data.decode("utf-8-sig"), UTF_8)
    except UnicodeDecodeError as error:
        first = error
    own = _DECLARED.search(data, 0, _HEAD)
    for declaration in filter(None, (own[1].decode("ascii") if own else "", declared)):
        with suppress(LookupError, UnicodeDecodeError):
            if not declaration.lower().startswith(_EXCLUDED):
                codec = _ALIASES.get(declaration.lower(), declaration)
                return Decoded(data.decode(codec), codecs.lookup(codec).name)
    kind = magic.file_type(data)
    head = data[:_HEAD].decode("latin-1")
    is_html = not own and not kind and "html" in {formats.detect_format(head), formats.detect_file_format(name, head)}
    if not kind and (likely := _likely(data, is_sure=is_html)):
        with suppress(UnicodeDecodeError):
            decoded = Decoded(data.decode(likely), likely)
            _log.warning("%s: read as %s, which it is by its bytes; encoding= overrides it", name or "a text", likely)
            return decoded
    if is_html:
        return Decoded(data.decode("latin-1").translate(dict(enumerate(_CP1252))), "cp1252")
    got = kind or f"byte {first.object[first.start]:#04x} at {first.start}"
    hint = "" if kind or _chardet() else "; pip install 'advchunk[encodings]' finds others"
    msg = f"text files must be UTF-8 unless encoding is given, got {got}{hint}"
    raise ConfigurationError(msg) from None


def contradicts(data: bytes, declared: str) -> bool:
    """Return True if bytes tell another encoding than the declared one: UTF-8, or ISO-2022-JP, which looks ASCII."""
    if _ISO_2022.search(data):
        return "2022" not in declared
    return not (data.isascii() or declared.lower().startswith("utf")) and _is_utf8(data)


def find_unicode(data: bytes) -> str:
    """Return the encoding of a text in UTF-16 or UTF-32; "" if it is in another."""
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if marked or b"\0" not in data[:_SAMPLE] or len(data) % 2:
        return marked
    spaces, head = dict[str, int](), data[:_SAMPLE]
    is_utf8 = _is_utf8(head) and _is_prose(head.decode(UTF_8, "ignore").replace("\0", ""))
    for name in ("utf-16-le", "utf-16-be"):
        text = head.decode(name, "replace").removesuffix("\ufffd")
        if len(text) >= _LEAST and _is_prose(text) and "\ufffd" not in text:
            blocks = Counter(ord(letter) >> 8 for letter in text)
            most = max(Counter({**blocks, 0: 0}).values()) + blocks[0]
            if most >= _ONE_SCRIPT * len(text) or not is_utf8:
                spaces[name] = sum(text.count(space) - text.count(chr(ord(space) << 8)) for space in _SPACES)
    return max(spaces, key=spaces.__getitem__, default="")


def is_text(head: bytes) -> bool:
    """Return True for the beginning of a text in any encoding, which may end within a character."""
    if find_unicode(head[: len(head) & ~1]):
        return True
    if b"\0" in head or magic.file_type(head):
        return False
    if _is_utf8(head):
        return True
    head = head[: max(map(head.rfind, (b" ", b"\n"))) + 1] or head
    with suppress(UnicodeDecodeError):
        return _is_prose(head.decode(_likely(head) or "ascii"))
    return False


def _is_prose(text: str) -> bool:
    """Return True for a text without control characters."""
    return all(letter.isprintable() or letter in _SPACES for letter in set(text))


def _is_utf8(head: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder(UTF_8)().decode(head)  # which may end within a character
        return True
    return False


def _likely(data: bytes, *, is_sure: bool = False) -> str:
    """Return the likely, or sure, encoding of lines with letters outside ASCII; "" if none, or for damaged UTF-8."""
    chardet = _chardet()
    firsts = ((line, _FOREIGN.search(line)) for line in BytesIO(data))
    near = (line[max(at.start() - _BEFORE, 0) : at.start() + _LONGEST] for line, at in firsts if at)
    if chardet is None or b"\0" in data or not (sample := b"".join(islice(near, _LINES))):
        return ""
    valid, every = sample.decode(UTF_8, "ignore"), sample.decode(UTF_8, "replace")
    if sum(not letter.isascii() for letter in valid) > every.count("\ufffd"):
        return ""
    answer = chardet.detect(sample, include_encodings=_CANDIDATES)
    is_unsure, number = answer["confidence"] < _UNSURE, sum(byte > 127 for byte in sample)
    if not answer["encoding"] or (is_sure and is_unsure):
        return ""
    if number <= _FEW and is_unsure:
        return "cp1252" if 2 * number < len(sample) else ""
    return codecs.lookup(answer["encoding"]).name


@cache
def _chardet() -> Any:
    try:
        return import_module("chardet")
    except ImportError:
        return None


def _decode_as(data: bytes, encoding: str) -> Decoded:
    require(isinstance(encoding, str), "encoding must be the name of a text encoding, such as 'cp1252'", encoding)
    try:
        return Decoded(data.decode(encoding).removeprefix("\ufeff"), codecs.lookup(encoding).name)
    except UnicodeDecodeError as error:
        msg = f"the file must be {encoding}, got byte {data[error.start]:#04x} at {error.start}"
    except (LookupError, ValueError):  # also of names with NUL, or that cannot be encoded
        msg = f"encoding must be the name of a text encoding, such as 'cp1252', got {encoding!r}"
    raise ConfigurationError(msg)


def _iso_2022(data: bytes) -> str:
    """Return the encoding of a text in ISO-2022-JP, which is ASCII to other decoders; "" for another text."""
    if _ISO_2022.search(data):
        with suppress(UnicodeDecodeError):
            data.decode("iso2022_jp_ext")
            return "iso2022_jp_ext"
    return ""
