"""Random texts that are hard to chunk: of many scripts, repeated marks, broken markup, and real files in other
forms.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

# Ranges of code points. The last has control characters, separators and half of a surrogate pair.
POOLS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "ascii": ((0x20, 0x7E), (0x0A, 0x0A)),
    "latin": ((0x20, 0x7E), (0xA0, 0x24F)),
    "greek and cyrillic": ((0x370, 0x4FF), (0x20, 0x20)),
    "hebrew and arabic": ((0x590, 0x6FF), (0x20, 0x20)),
    "indic and thai": ((0x900, 0xDFF), (0xE00, 0xE7F), (0x20, 0x20)),
    "cjk": ((0x3000, 0x30FF), (0x4E00, 0x4FFF), (0xFF00, 0xFFEF)),
    "hangul": ((0xAC00, 0xAFFF), (0x20, 0x20)),
    "emoji": ((0x1F300, 0x1F6FF), (0x200D, 0x200D), (0xFE0F, 0xFE0F), (0x1F3FB, 0x1F3FF), (0x20, 0x20)),
    "combining": ((0x61, 0x7A), (0x300, 0x36F), (0x20, 0x20)),
    "punctuation": ((0x2000, 0x206F), (0x21, 0x2F), (0x3001, 0x3011), (0x20, 0x20)),
    "controls": ((0x00, 0x20), (0x7F, 0xA0), (0x2028, 0x2029), (0x61, 0x63), (0xFEFF, 0xFEFF), (0xD800, 0xD801)),
}
WORDS = [
    "the",
    "cat",
    "court",
    "ruled",
    "that",
    "law",
    "3.5",
    "Fig.",
    "e.g.",
    "Dr.",
    "et",
    "al.",
    "p<0.05",
    "U.S.",
    "naïve",
    "Übergrößen",
    "don't",
    "“quoted”",
    "(see",
    "[12])",
    "https://a.b/c?d=e",
    "x_1",
    "東京",
    "は",
    "雨です。",
    "Москва",
    "мир",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "สวัสดี",
    "안녕",
    "🦛",
    "👨\u200d👩\u200d👧",
    "I.",
    "II.",
    "No.",
    "5",
    "…",
    "—",
    "and",
    "but",
    "however",
]
ENDS = (
    ". ",
    "! ",
    "? ",
    "; ",
    ", ",
    ".\n",
    "\n\n",
    "。",
    "！",
    " ",
    ".) ",
    '." ',
    "...",
    "\r\n",
    "\r\n\r\n",
    "\u2028",
    "\x0c",
    "\x85",
)
MARKS = (
    *"'\"`*_~#|-=+.,;:!?()[]{}<>/\\$%&@^0aあ。、「」\uff08\uff09…—·\u200b\u0301",
    "<li>",
    "</p>",
    "<!--",
    "```",
    "| ",
    "- ",
    "> ",
    "\n# ",
    "\n\n",
    "\n",
    "\r\n",
    "\t",
)
LINES = (
    "# Title", "## Part {n}", "###### Deep", "Setext\n======", "Setext\n---", "- item {n}", "  - nested", "    - deeper", "1. one", "10) ten",  # noqa: E501
    "> quote", "> > both", "```python\nx = {n}. + 2.\n\nfor i in x:\n    "
                           "pass\n```", "~~~\nopen", "```", "| a | b |\n|---|:-:|\n| {n} | 2 |\n| 3 | \\| |",
    "|x|\n|-|", "$$\ne = mc^2\n$$", "\\[ x \\]", "<div><p>raw</p>", "</div>", "<table><tr><td>1</td><td>2</td></tr></table>", "<!-- a comment -->",  # noqa: E501
    "![image](a.png)", "[link](b \"c\")", "[ref]: http://a.b", "Text with `code` and **bold "
                                                               "_both_**.", "A line.  \nA break.", "***", "---", "    indented code",  # noqa: E501
    "Table 1. A caption.", "Term\n: definition", "[^1]: A note.", "- [ ] a task", "BACKGROUND: It rose by {n}% (95% "
                                                                                  "CI 1.2-3.4).", "",
)  # fmt: skip
TAGS = (
    "<html><body>", "<h1>Title {n}</h1>", "<h2>Part</h2>", "<p>A paragraph of {n} words.", "</p>", "<ul><li>one<li>two</ul>", "<ol>", "</ol>",  # noqa: E501
    "<table><tr><th>a<th>b</tr><tr><td>{n}<td>2</table>", "<pre>x = 1\n\ny = 2</pre>", "<code>z</code>", "<blockquote>said</blockquote>",  # noqa: E501
    "<script>var a = "
    "'<p>';</script>", "<style>p {}</style>", "<a href='b'>link</a>", "&amp; &lt;p&gt; "
                                                                      "&#12354; &nbsp;", "<br>", "<!-- no -->",
    "<div><div>", "</div>", "plain text. More text! ", "<td>stray", "<", "<p", "</html>",
)  # fmt: skip


def pool(rng: random.Random) -> str:
    """Return random characters of one of the `POOLS`, or of two."""
    ranges = [bounds for name in rng.sample([*POOLS], rng.choice((1, 1, 2))) for bounds in POOLS[name]]
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(_length(rng)))


def prose(rng: random.Random) -> str:
    """Return sentences of mixed scripts with all kinds of ends, or none."""
    ends = rng.sample(ENDS, rng.choice((1, 3, 6)))
    words = (rng.choice(WORDS) + (rng.choice(ends) if rng.random() < 0.15 else " ") for _ in range(_length(rng) // 6))
    return "".join(words)


def marks(rng: random.Random) -> str:
    """Return runs of repeated marks, with words between them."""
    runs = (
        rng.choice(MARKS) * rng.choice((1, 3, 30, 300)) + rng.choice(("", " ", "word "))
        for _ in range(rng.randint(1, 6))
    )
    return "".join(runs)


def markdown(rng: random.Random) -> str:
    """Return well-formed and broken Markdown blocks in any order."""
    lines = (
        rng.choice((*LINES, prose(rng)[:200])).replace("{n}", str(rng.randint(0, 99)))
        for _ in range(rng.randint(1, 40))
    )
    return "".join(line + rng.choice(("\n", "\n\n")) for line in lines)


def table(rng: random.Random) -> str:
    """Return a large table between two paragraphs."""
    columns = rng.randint(1, 6)
    rows = [
        [prose(rng)[: rng.choice((3, 20))].replace("\n", " ") for _ in range(columns)]
        for _ in range(rng.randint(1, 60))
    ]
    first, *rest = ("| " + " | ".join(row) + " |\n" for row in rows)
    return "Before.\n\n" + first + "|---" * columns + "|\n" + "".join(rest) + "\nAfter."


def html(rng: random.Random) -> str:
    """Return well-formed and broken HTML in any order."""
    parts = (
        rng.choice((*TAGS, prose(rng)[:100])).replace("{n}", str(rng.randint(0, 99))) for _ in range(rng.randint(1, 50))
    )
    return rng.choice(("<!DOCTYPE html>", "<html>", "")) + rng.choice(("", "\n")).join(parts)


def short(rng: random.Random) -> str:
    """Return a text of a few characters, or none."""
    return "".join(rng.choice((*"aA. \n\té#|`<", "。", "🦛")) for _ in range(rng.randint(0, 3)))


KINDS: Mapping[str, Callable[[random.Random], str]] = {
    "pool": pool, "prose": prose, "marks": marks, "markdown": markdown, "table": table, "html": html, "short": short,
}  # fmt: skip


def _length(rng: random.Random) -> int:
    return int(10 ** rng.uniform(1, 3.6))


def _shuffle_paragraphs(text: str, rng: random.Random) -> str:
    parts = re.split(r"(?<=\n)\n+|(?<=\n)(?=\S)", text)
    rng.shuffle(parts)
    return "\n\n".join(parts)


FORMS: Mapping[str, Callable[[str, random.Random], str]] = {
    "as is": lambda text, _: text,
    "lower": lambda text, _: text.lower(),
    "upper": lambda text, _: text.upper(),
    "crlf": lambda text, _: re.sub(r"\r?\n", "\r\n", text),
    "no punctuation": lambda text, _: re.sub(r"[^\w\s]", "", text),
    "doubled spaces": lambda text, _: text.replace(" ", "  "),
    "one line": lambda text, _: " ".join(text.split()),
    "shuffled paragraphs": _shuffle_paragraphs,
}

_TEXT = (".txt", ".md", ".ref", ".jsonl")
_WHOLE = (".xml", ".tei", ".json", ".nxml", ".html")  # cannot be cut
_MAX_BYTES = 400_000  # of a file that cannot be cut


@cache
def real_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of a folder of texts, in a fixed order."""
    suited = (path for path in folder.rglob("*") if path.is_file() and path.suffix in (*_TEXT, *_WHOLE))
    return tuple(sorted(p for p in suited if p.suffix in _TEXT or p.stat().st_size < _MAX_BYTES))


def real(folder: Path, rng: random.Random) -> tuple[str, str]:
    """Return part of a file in one of the `FORMS`, or a whole file that has a format of its own, and its
    description.
    """
    parent = rng.choice(sorted({path.parent for path in real_files(folder)}))  # each folder is as likely
    path = rng.choice([path for path in real_files(folder) if path.parent == parent])
    name = path.relative_to(folder).as_posix()
    text = path.read_text("utf-8", "replace")
    if path.suffix in _WHOLE:
        return text, name
    start = rng.randrange(max(len(text) - 100, 1))
    form = rng.choice([*FORMS])
    return FORMS[form](text[start : start + _length(rng)], rng), f"{name} from {start}, {form}"
