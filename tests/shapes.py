"""Texts that repeat what a parser or a chunker may look far ahead or behind for, or pair with all that is like it."""

from itertools import count, takewhile

from growing import repeated

PIECES = {
    "words": [
        "a ", "A. ", "A b. ", "a, ", "a; b: ", "Dr. ", "e.g. ", "1. ", "1.2.3 ", "A? ", "a-b ", "U.S.A. ", "(a. ", "A b.\f",
        "(Abc. ", "approx. (", '."', ".[1", ". (A b", "」。", ":-)", "``", "a .... ", "Tea ..... 22\n", "…", ". . . x", ".... \t",
    ],
    "lines": [
        "a\n", "A b.\n", "A b.\n\n", "\n", " \n", "a\r\n", "\t", "    a\n", "a\\\n", "Name: x\n", "A:\n", "AIM: a\n\n", "a-\n",
        "AB  - a\n      ", "\f", "a\f\n", "\n\f\n", "Page 1\f", "\v", "a\x85", "\u2028", "\n- ", "a." + "\n " * 50 + "\n",
    ],
    "characters": [
        "x", "é", "e\u0301", "\u0301", "\u200b", "a\u200d", "🦛", "🇯🇵", "👨\u200d👩\u200d👧", "\ud800", "\xa0", "\xad", "\ufeff",
        "\u202e", "¹", "ﬁ", "今", "今天。", "雨です。", "ไทย", "ก็ ", "ابجد ", "שלום ", "한국어 ", "हिन्दी। ", "ខ្មែរ",
    ],
    "marks": [
        *"`'\"*_~[](){}<>&|#$\\-=:.!;,@—« ", "(a) ", "“a” ", "...", "?!", "**", "**a ", "*a* ", "`a ", "$a ", "&amp;", "![",
    ],
    "links": [
        "[a](", "![a](b) ", "[a][b]", "[a]: b\n", "[^1]", "[^1]: a\n", "http://a.b/c ", "a@b.c ", "<a>", "<a b='", "<!--", "<!--x",
        "<!--x-->", "<?", "<![CDATA[",
    ],
    "blocks": [
        "# a\n", "# a\n\n", "###### a\n\nb\n\n", "a\n===\n", "- a\n", "- a\n\n", "1. a\n", "* - + a\n", "> a\n", "> ", ">> a\n",
        "```\n", "```\na\n```\n", "~~~\n", "---\n", "$$\n", "\\[\n", "+++\n", "---\na: b\n", ":::\n", "Q: a?\nA: b.\n", "a\n: b\n",
    ],
    "tags": [
        "<p>", "</p>", "<p>A b.</p>", "<div>", "<div>\n", "<div></span>", "<ul><li>", "<dl><dt>a", "<font>", "<rt>", "<pre>",
        "<script>", "<b>", "<details>\n",
    ],
    "tables": [
        "| a | b |\n", "|-|\n", "|a|\n|-|\n|b|\n\n", "a,b\n", "a;b\n", "a\tb\n", "<tr><td>a", "<table><tr><td>", "a & b \\\\\n",
        "+-+\n|a|\n", "|===\n|a\n", "\\begin{tabular}{l}\na \\\\\n",
    ],
}  # fmt: skip


def around(opening, piece, closing):
    """Return a function that makes a text of about a length from a piece again and again, between two others."""
    return lambda length: opening + repeated(piece)(length) + closing


def nested(opening, closing):
    """Return a function that makes a text of about a length of pairs in each other."""
    return lambda length: (opening * length)[: length // 2] + (closing * length)[: length // 2]


def growing(mark):
    """Return a function that makes runs of a mark, each longer than the one before, with spaces between them."""
    return lambda length: " ".join(takewhile(lambda run: len(run) ** 2 < 2 * length, (mark * n for n in count(1))))


def deeper(line):
    """Return a function that repeats a list of which each item is a level deeper, up to 50 levels."""
    return repeated("".join(f"{'  ' * level}{line}\n" for level in range(50)))


SHAPES = {
    **{f"{kind}: {piece!r}": repeated(piece) for kind, pieces in PIECES.items() for piece in pieces},
    **{f"growing: {mark!r}": growing(mark) for mark in ["`", "*", "[", "$", "#", "> ", "-", "\n"]},
    **{f"nested: {a!r}": nested(a, b) for a, b in ["()", "[]", ("*a ", "b* "), ("<b>", "</b>"), ("<div>", "</div>"), "“”"]},
    **{f"deeper: {line!r}": deeper(line) for line in ["- a", "1. a", "a", "> a"]},
    "wide: pipes": lambda length: "\n".join(repeated(cell)(length // 3) for cell in ["| a ", "|---", "| b "]),
    "wide: HTML": around("<table><tr>", "<td>a</td>", "</tr></table>"),
    "wide: commas": lambda length: "\n".join(repeated(cell)(length // 2) for cell in ["a,", "b,"]),
    "wide: LaTeX": around("\\begin{tabular}{l}\n", "a & ", "b \\\\\n\\end{tabular}\n"),
    "one: AsciiDoc table": around("|===\n|a |b\n\n", "|a\n|b\n\n", "|==="),
    "one: code block": around("```python\n", "x = f(1)\n", "```\n"),
    "one: line of code": around("```\n", "f(x); ", "\n```\n"),
    "one: cell": around("| a | b |\n|---|---|\n| ", "word ", "| c |\n"),
    "one: paragraph of lines": around("", "word and word\n", "."),
    "one: quotation": around("“", "said it. ", "”"),
    "one: heading": around("# ", "word ", "\n\na\n"),
}  # fmt: skip
"""Functions that make a text of about a length, by name."""
SAMPLE = {name: make for i, (name, make) in enumerate(SHAPES.items()) if i % 6 == 0 or name.startswith(("wide", "one"))}
"""Some of each kind, for what takes long."""
