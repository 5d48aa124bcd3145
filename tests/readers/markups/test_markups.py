"""LaTeX, reStructuredText, AsciiDoc and Org: the blocks of each case, and properties of mutations."""

import random
import tomllib
from pathlib import Path

import pytest

from advchunk import RecursiveChunker, read_file
from advchunk.readers.formats import detect_format, find_reader
from advchunk.readers.markups import rules
from growing import check_growth, repeated

CASES = tomllib.loads((Path(__file__).parents[2] / "data" / "markups.toml").read_text(encoding="utf-8"))["case"]
MARKUPS = {"latex": ".tex", "rst": ".rst", "asciidoc": ".adoc", "org": ".org"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['markup']}: {case['name']}")
def test_the_blocks_of_a_case(case):
    text = case["text"].replace("¦", "")
    for own in text, text.replace("\n", "\r\n"), f"\ufeff{text}":
        layout = find_reader(case["markup"]).blocks(own)
        kinds = [block.kind + str(block.level or "") for block in layout]
        assert " ".join(kinds) == case["kinds"]
        assert [block.title for block in layout if block.title is not None] == case.get("titles", [])
        between = "¦".join(own[slice(*block.span)] for block in layout)
        assert between.replace("\r", "") == "¦".join(part.strip("\n") for part in case["text"].split("¦"))


def test_each_markup_has_cases():
    assert {case["markup"] for case in CASES} == MARKUPS.keys()
    assert len({(case["markup"], case["name"]) for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize(("markup", "suffix"), MARKUPS.items())
def test_chunks_are_spans_of_the_file_with_their_sections(markup, suffix, tmp_path):
    path = tmp_path / f"tea{suffix}"
    text = "\n".join(case["text"].replace("¦", "") for case in CASES if case["markup"] == markup)
    path.write_text(text, encoding="utf-8")
    chunks = RecursiveChunker(max_tokens=40).chunk(read_file(path))
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.tokens <= 40 for chunk in chunks)
    assert any(chunk.metadata.get("title_path", "").count(" > ") for chunk in chunks)
    assert all(chunk.text == text[chunk.start : chunk.end] and "start_line" in chunk.metadata for chunk in chunks)


def test_front_matter_is_metadata_and_latex_is_detected(tmp_path):
    text = (
        "% first\n\\documentclass{a}\n\\title{On "
        "\\emph{tea}}\n\\author{Ann}\n\\begin{document}\nTea.\n\\end{document}\n"
    )
    path = tmp_path / "a.tex"
    path.write_text(text, encoding="utf-8")
    assert read_file(path).metadata == {"title": "On tea", "authors": "Ann"}
    assert detect_format(text) == "latex"
    assert rules.ORG.read_metadata("#+title: Tea\n#+AUTHOR: Ann\n") == {"title": "Tea", "authors": "Ann"}


ROWS = [(f"Tea number {i}", str(i)) for i in range(12)]
BORDER = "=============  ======="
TABLES = {
    "org": "| Kind | Degrees |\n|------+---------|\n" + "".join(f"| {a} | {b} |\n" for a, b in ROWS),
    "rst": f"{BORDER}\nKind           Degrees\n{BORDER}\n" + "".join(f"{a:13}  {b}\n" for a, b in ROWS) + BORDER,
    "latex": "\\begin{tabular}{ll}\nKind & Degrees \\\\ \\hline\n"
    + "".join(f"{a} & {b} \\\\\n" for a, b in ROWS)
    + "\\end{tabular}",
}


@pytest.mark.parametrize("markup", TABLES)
def test_pieces_of_a_table_have_its_header(markup):
    chunks = RecursiveChunker(max_tokens=60, markup=markup).chunk(TABLES[markup])
    assert len(chunks) > 1
    assert [chunk.context for chunk in chunks] == ["", *["| Kind | Degrees |\n| --- | --- |"] * (len(chunks) - 1)]
    assert all(chunk.text.rstrip().splitlines()[-1].endswith(tuple("0123456789\\|=}")) for chunk in chunks)


@pytest.mark.parametrize("markup", MARKUPS)
def test_every_mutation_has_ascending_blocks_with_all_that_is_no_space(markup):
    generator, reader = random.Random(markup), find_reader(markup)
    texts = [case["text"].replace("¦", "") for case in CASES if case["markup"] == markup]
    pieces = sorted({line for text in texts for line in text.splitlines()})
    for _ in range(300):
        lines = "\n\n".join(generator.choices(texts, k=2)).splitlines()
        for _ in range(generator.randint(1, 12)):
            at = generator.randrange(len(lines))
            match generator.randrange(4):
                case 0:
                    del lines[at : at + 2]
                    lines = lines or [""]
                case 1:
                    lines.insert(at, generator.choice(pieces))
                case 2:
                    lines[at] = lines[at][: generator.randint(0, 9)] + generator.choice(" \t\\{}|=-*#+:.\x0b\u2028")
                case _:
                    lines[at] = " " * generator.randint(0, 5) + lines[at].lstrip()
        text = generator.choice(["\n", "\r\n", "\r"]).join(lines)
        last = 0
        for block in reader.blocks(text):
            start, end = block.span
            assert last <= start < end <= len(text)
            assert not text[last:start].strip()
            assert text[start:end].strip()
            assert block.level >= 0
            last = end
        assert not text[last:].strip()


HARD = {
    "latex": ["\\begin{table}\n", "\\begin{verbatim}\n\n", "\\item a\n", "$$\n", "\\section{", "\\begin{itemize}\n\\item a\n", "\\title{{"],
    "rst": ["==  ==\n", "a\n=\n", "- a\n", "::\n\n a\n\n", "+-+\n", ".. note::\n", "=", " - a\n  - b\n", "(", ":a"],
    "asciidoc": ["----\n", "|===\n\n", "[a]\n", "a::\n", "a:", ".a\n", "=", "****\n"],
    "org": ["#+begin_src\n", ":A:\n", "* a :b", "* a", " :b:", "\\begin{a}\n", "|a\n", "\\[\n\n", "#+a:\n", "- a\n"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("markup", "token"), [(markup, token) for markup, tokens in HARD.items() for token in tokens])
def test_time_is_linear(markup, token):
    check_growth(find_reader(markup).blocks, repeated(token), 30_000)


def test_many_different_ends_that_never_come_take_linear_time():
    def make(length):
        lines = (f"\\begin{{env{chr(97 + i % 26)}{'x' * (i // 26 % 40)}}}" for i in range(length // 30))
        return "\n\n".join(lines)

    check_growth(rules.ORG.blocks, make, 30_000)


def test_a_heading_of_latex_may_be_wrapped_and_quote(tmp_path):
    source = (
        "\\author{}\n\\section{What\\textquotesingle s new in a "
        "long\ntitle?}\\label{new}\n\nTea.\n\n\\section{Not closed\n\nTea.\n"
    )
    path = tmp_path / "tea.tex"
    path.write_text(source, "utf-8")
    document = read_file(path)
    assert [block.title for block in document.blocks if block.kind == "heading"] == ["What's new in a long title?"]
    assert "authors" not in document.metadata
