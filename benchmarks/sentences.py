"""Compare the sentence splitter with other libraries' on annotated sentences, as written and rewritten. See
LANGUAGES.md.

python benchmarks/sentences.py --data DIR

DIR holds `sentences/*.jsonl`: documents with "text" and "ends", the ends of sentences, in Universal Dependencies' sets.
Prints Markdown tables of F1 of the boundaries within paragraphs, and exits 1 if a target is missed.
"""
# ruff: noqa: RUF001 - quotes are the subject here

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from runner import argument_parser

from advchunk.text.sentences import plain_sentences, sentences

Splitter: TypeAlias = Callable[[str, str], Iterable[int]]
Rewriting: TypeAlias = Callable[["Text"], "Text"]

TARGETS = {"en_gum": 0.970, "en_ewt": 0.885, "de_gsd": 0.968, "ja_gsd": 0.990}  # of the text as written
MAX_LOSS = 0.02  # of each rewriting that is a target
_PARAGRAPH_END = re.compile(r"(?:\r?\n)[^\S\r\n]*\r?\n\s*")


@dataclass(frozen=True)
class Text:
    """A document and the offsets at which its sentences end."""

    text: str
    ends: frozenset[int]
    seed: str

    def rewrite(self, replace: Callable[[str, int], str | None]) -> Text:
        """Replace each character for which ``replace(character, offset)`` returns a string."""
        parts, ends, length = list[str](), set[int](), 0
        for offset, character in enumerate(self.text):
            new = replace(character, offset)
            parts.append(character if new is None else new)
            length += len(parts[-1])
            if offset + 1 in self.ends:
                ends.add(length)
        return Text("".join(parts), frozenset(ends), self.seed)

    def is_end(self, offset: int) -> bool:
        """Return True if a full stop at ``offset`` ends a sentence, after a word."""
        return self.text[offset] == "." and offset + 1 in self.ends and self.text[max(0, offset - 2) : offset].isalpha()


def with_case(change: Callable[[str], str]) -> Rewriting:
    """Return the rewriting that changes letters' case, where that keeps their number."""
    return lambda text: text.rewrite(lambda character, _: new if len(new := change(character)) == 1 else None)


def without_spaces(share: float) -> Rewriting:
    """Return the rewriting without white space after a ``share`` of the stops that end sentences."""

    def rewrite(text: Text) -> Text:
        rng = random.Random(text.seed)

        def glue(character: str, offset: int) -> str | None:
            is_glued = (
                character == " " and offset in text.ends and text.text[offset - 1] in ".!?" and rng.random() < share
            )
            return "" if is_glued else None

        return text.rewrite(glue)

    return rewrite


def with_new_lines(text: Text) -> Text:
    """Break a tenth of the lines, with CRLF."""
    rng = random.Random(text.seed)
    ends = {"\n": "\r\n"}
    return text.rewrite(lambda c, _: "\r\n" if c == " " and rng.random() < 0.1 else ends.get(c))


def with_curly_quotes(text: Text) -> Text:
    """Replace straight quotes by curly ones."""

    def curl(character: str, offset: int) -> str | None:
        opens = offset == 0 or text.text[offset - 1] in " \n(["
        return {'"': "“" if opens else "”", "'": "‘" if opens else "’"}.get(character)

    return text.rewrite(curl)


def with_citations(citation: str) -> Rewriting:
    """Return the rewriting that replaces full stops at the ends of sentences by ``citation``, which contains one."""
    return lambda text: text.rewrite(lambda _, offset: citation if text.is_end(offset) else None)


REWRITINGS: Mapping[str, Rewriting] = {
    "lower case": with_case(str.lower),
    "upper case": with_case(str.upper),
    "doubled spaces": lambda text: text.rewrite(lambda c, _: "  " if c == " " else None),
    "CRLF": with_new_lines,
    "no space after 30 % of stops": without_spaces(0.3),
    "curly quotes": with_curly_quotes,
    "citation [12].": with_citations(" [12]."),
    "citation .[3, 4]": with_citations(".[3, 4]"),
    "citation (Smith, 2010).": with_citations(" (Smith, 2010)."),
}
NOT_TARGETS: Mapping[str, Rewriting] = {"no space after any stop": without_spaces(1)}


def by_own_rules(text: str, code: str) -> Iterable[int]:
    """Yield the ends that advchunk finds."""
    edges = sentences(text, code).edges.tolist()
    return (start + len(text[start:end].rstrip()) for start, end in pairwise(edges))


def by_plain_rule(text: str, code: str) -> Iterable[int]:  # noqa: ARG001
    """Yield the ends that the rule of universal chunking finds."""
    edges = plain_sentences(text).edges.tolist()
    return (start + len(text[start:end].rstrip()) for start, end in pairwise(edges))


def by_paragraph(split: Callable[[str, str], Iterable[str]]) -> Splitter:
    """Return a splitter that finds, in each paragraph, the strings that ``split`` returns."""

    def ends(text: str, code: str) -> Iterable[int]:
        start = 0
        for stop in [*(match.start() for match in _PARAGRAPH_END.finditer(text)), len(text)]:
            for sentence in split(text[start:stop], code):
                at = text.find(sentence.strip(), start)
                if at >= 0 and sentence.strip():
                    start = at + len(sentence.strip())
                    yield start
            start = stop

    return ends


def peers(texts: Sequence[Text]) -> dict[str, Splitter]:
    """Return other libraries' splitters. Punkt learns, without annotations, from ``texts``, as its paper proposes."""
    import pysbd
    from nltk.tokenize.punkt import PunktSentenceTokenizer
    from nupunkt import sent_tokenize
    from sentencex import segment

    punkt = PunktSentenceTokenizer("\n\n".join(text.text for text in texts))
    segmenters: dict[str, Any] = {code: pysbd.Segmenter(language=code, clean=False) for code in ("en", "de", "ja")}
    return {
        "sentencex": by_paragraph(lambda text, code: segment(code, text)),
        "punkt": by_paragraph(lambda text, _: punkt.tokenize(text)),
        "pySBD": by_paragraph(lambda text, code: segmenters[code].segment(text)),
        "nupunkt": by_paragraph(lambda text, _: map(str, sent_tokenize(text))),
        "plain rule": by_plain_rule,
    }


def scores(texts: Iterable[Text], split: Splitter, code: str) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the ends within paragraphs."""
    hits = extra = missed = 0
    for text in texts:
        free = {match.start() for match in _PARAGRAPH_END.finditer(text.text)} | {len(text.text)}
        gold, ends = text.ends - free, set(split(text.text, code)) - free
        hits, extra, missed = hits + len(gold & ends), extra + len(ends - gold), missed + len(gold - ends)
    precision, recall = hits / max(1, hits + extra), hits / max(1, hits + missed)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def read(path: Path) -> list[Text]:
    """Read the documents of a set."""
    documents = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [Text(document["text"], frozenset(document["ends"]), document["document"]) for document in documents]


def speed(texts: Sequence[Text], code: str) -> float:
    """Return the megabytes of UTF-8 a CPU second that `sentences` takes, the best of three."""
    text = "\n\n".join(text.text for text in texts)
    seconds = list[float]()
    for _ in range(3):
        start = time.process_time()
        sentences(text, code)
        seconds.append(time.process_time() - start)
    return len(text.encode()) / 1e6 / min(seconds)


def main() -> int:
    """Print the tables; return 1 if a target is missed."""
    parser = argument_parser(__doc__)
    sets = {name: read(parser.parse_args().data / "sentences" / f"{name}.jsonl") for name in TARGETS}
    missed = list[str]()
    print("| set | splitter | precision | recall | F1 | lower case | upper case |\n|---|---|---|---|---|---|---|")
    for name, texts in sets.items():
        code = name[:2]
        cased = [[REWRITINGS[case](text) for text in texts] for case in ("lower case", "upper case")]
        for peer, split in {"**advchunk**": by_own_rules, **peers(texts)}.items():
            precision, recall, f1 = scores(texts, split, code)
            others = " | ".join(f"{scores(rewritten, split, code)[2]:.3f}" for rewritten in cased)
            print(f"| {name} | {peer} | {precision:.3f} | {recall:.3f} | {f1:.3f} | {others} |")
    print(f"\n| rewriting | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
    base = {name: scores(texts, by_own_rules, name[:2])[2] for name, texts in sets.items()}
    missed += [f"{name}: {base[name]:.4f} < {target}" for name, target in TARGETS.items() if base[name] < target]
    for label, rewrite in {"none": lambda text: text, **REWRITINGS, **NOT_TARGETS}.items():
        row = {name: scores(map(rewrite, texts), by_own_rules, name[:2])[2] for name, texts in sets.items()}
        print(f"| {label} | {' | '.join(f'{f1:.3f}' for f1 in row.values())} |")
        if label in REWRITINGS:
            missed += [f"{name}, {label}: {f1:.4f}" for name, f1 in row.items() if f1 < base[name] - MAX_LOSS]
    print("\n" + ", ".join(f"{name}: {speed(texts, name[:2]):.0f} MB/s" for name, texts in sets.items()))
    print(f"\nMissed: {'; '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
