"""Papers by section: hard breaks, IMRaD, tables of results, references, short sections."""

from pathlib import Path

import numpy as np
import pytest

from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.chunkers.by_page.grobid import GrobidSectionChunker
from advchunk.readers.papers import tei
from advchunk.records import Block, Span

DATA = Path(__file__).parents[2] / "data"
SEALS, FLAT = ((DATA / f"{name}.tei.xml").read_text("utf-8") for name in ("seals", "flat"))


def chunker(**params):
    return GrobidSectionChunker(**{"tokenizer": "words", "fallback": None, **params})


def paper(*sections):
    """Return a TEI of sections: number, heading, text."""
    divisions = (f'<div><head n="{n}">{head}</head>{text}</div>' for n, head, text in sections)
    return f"<TEI><text><body>{''.join(divisions)}</body></text></TEI>"


def prose(words, word="word"):
    return f"<p>{' '.join([word] * words)}.</p>"


def table(rows, cells=3):
    row = "<row>" + "<cell>x</cell>" * cells + "</row>"
    return f'<figure type="table"><head>Table 1.</head><figDesc>What was seen.</figDesc><table>{row * rows}</table></figure>'


def parts(chunks):
    return [chunk.metadata.get("imrad") for chunk in chunks]


def paths(chunks):
    return [chunk.metadata["title_path"] for chunk in chunks]


def firsts(chunks):
    return [chunk.text.split("\n")[0] for chunk in chunks]


# Sections and IMRaD.


@pytest.mark.parametrize("number", ["", "2"])
def test_ethics_within_methods_are_methods(number):
    numbers = [f"{number}.{i}" if number else "" for i in range(1, 4)]
    titles = ["Participants", "Ethics approval and consent", "Weighing of the seals"]
    inner = [(n, title, prose(30)) for n, title in zip(numbers, titles, strict=True)]
    last = [("", "Results", prose(30)), ("", "Ethics approval", prose(30))]
    chunks = chunker(min_tokens=0).chunk(paper((number, "Methods", prose(30)), *inner, *last))
    assert parts(chunks) == ["Methods"] * 4 + ["Results", None]


def test_each_section_has_chunks_with_its_part():
    parts_by_path = [(chunk.metadata["title_path"], chunk.metadata.get("imrad")) for chunk in chunker().chunk(SEALS)]
    assert parts_by_path == [
        ("Abstract", None),
        ("Introduction", "Introduction"),
        ("Methods > 2 Materials and Methods", "Methods"),
        ("Methods > 2 Materials and Methods > 2.2 Counting", "Methods"),
        ("Methods > 2 Materials and Methods > Weather", "Methods"),
        ("Results", "Results"),
        ("Results > 3.1 Tide", "Results"),
        ("Discussion > 4 Discussion and outlook", "Discussion"),
        ("Figures and tables", None),
        ("Notes", None),
        ("Thanks", None),
        ("Data availability", None),
        ("A.1 Bank names", None),
        ("References", None),
    ]


def test_a_flat_paper_has_its_parts_too():
    chunks = chunker().chunk(FLAT)
    assert [(chunk.metadata["section"], chunk.metadata.get("imrad")) for chunk in chunks] == [
        ("Abstract", None),
        ("Main text", None),
        ("A short history of hives", None),
        ("Methods", "Methods"),
        ("Water", "Methods"),
        ("Statistical analysis", "Methods"),
        ("Results and Discussion", "Results, Discussion"),
        ("Thirst", "Results, Discussion"),
        ("Concluding remarks", "Discussion"),
        ("Funding", None),
        ("References", None),
    ]
    assert paths(chunks)[7:9] == ["Results and Discussion > Thirst", "Discussion > Concluding remarks"]


@pytest.mark.parametrize(
    "params", [{"overlap_tokens": 20}, {"min_tokens": 40}, {"min_tokens": 40, "overlap_tokens": 20}]
)
def test_no_chunk_crosses_an_outermost_section(params):
    heads = [("1", "Introduction"), ("2", "Methods"), ("3", "Seals"), ("4", "Results")]
    source = paper(*((n, head, prose(30, head.lower())) for n, head in heads))
    chunks = chunker(max_tokens=40, **params).chunk(source)
    for chunk in chunks:
        assert len({head for _, head in heads if head.lower() in chunk.text.lower().split()}) == 1, chunk.text


def test_heads_one_under_the_other_share_a_chunk():
    chunks = chunker().chunk(paper(("2", "Methods", ""), ("2.1", "Banks", prose(5)), ("2.2", "Boats", prose(5))))
    assert firsts(chunks) == ["2 Methods", "2.2 Boats"]


def test_a_subsection_narrows_the_parts_of_its_section():
    chunks = chunker().chunk(
        paper(
            ("1", "Experiments", prose(5)),
            ("1.1", "Experimental setup", prose(5)),
            ("1.2", "Results", prose(5)),
            ("1.3", "Conclusions", prose(5)),  # is no part of Methods or Results
            ("2", "Results", prose(5)),
            ("2.1", "Participants", prose(5)),
            ("3", "Seals", prose(5)),
            ("3.1", "Background", prose(5)),
            ("3.2", "Methods", prose(5)),
            ("4", "Appendix", prose(5)),
            ("4.1", "Methods", prose(5)),
        )
    )
    assert parts(chunks) == [
        "Methods, Results", "Methods", "Results", "Methods, Results", "Results", "Results", None, None, "Methods", None, None,
    ]  # fmt: skip
    assert paths(chunks)[1:3] == [
        "Methods and Results > 1 Experiments > 1.1 Experimental setup",
        "Methods and Results > 1 Experiments > 1.2 Results",
    ]
    assert paths(chunks)[8] == "3 Seals > Methods"


def test_the_section_is_named_as_in_the_paper():
    chunks = chunker().chunk(paper(("2", "Patients and Methods", prose(5)), ("3", "Odds > evens", prose(5))))
    assert [chunk.metadata["section"] for chunk in chunks] == ["2 Patients and Methods", "3 Odds > evens"]


def test_the_part_is_in_the_context():
    (chunk,) = chunker(include_context=True).chunk(
        Document(paper(("2.1", "Setup", prose(5))), metadata={"title": "Seals"})
    )
    assert chunk.context == "Seals"  # its own heading is its text
    long = chunker(include_context=True, max_tokens=20, inner=RecursiveChunker()).chunk(
        paper(("2", "Setup", "<p>" + "One two three four five six. " * 9 + "</p>"))
    )
    assert {chunk.context for chunk in long[1:]} == {"Methods > 2 Setup"}


def test_a_document_with_a_layout():
    markdown = "# Seals\n\n## Introduction\n\nSeals rest.\n\n## Results\n\nThey do.\n"
    chunks = chunker(markup="markdown").chunk(markdown)
    assert [(chunk.metadata["title_path"], chunk.metadata.get("imrad")) for chunk in chunks] == [
        ("Seals", "Introduction"),
        ("Seals > Results", "Results"),
    ]
    text = "Results\n\nThey do."
    document = Document(text, blocks=(Block("heading", Span(0, 7), 1), Block("paragraph", Span(9, 17))))
    assert parts(chunker().chunk(document)) == ["Results"]


def test_chunks_have_pages_and_boxes():
    (introduction,) = [chunk for chunk in chunker().chunk(SEALS) if chunk.metadata["section"] == "Introduction"]
    assert introduction.metadata["page"] == 1
    assert [1, 310.0, 60.0, 530.0, 80.0] in introduction.metadata["boxes"]


# Tables, captions, formulas, references.


def test_a_table_of_results_is_never_cut():
    source = paper(
        ("1", "Methods", table(30)), ("2", "Results", prose(5) + table(30) + prose(5)), ("2.1", "Tide", table(30))
    )
    chunks = chunker(max_tokens=40, overlap_tokens=10).chunk(source)
    oversize = [chunk for chunk in chunks if chunk.metadata.get("oversize")]
    assert parts(oversize) == ["Results", "Results"]
    assert [chunk.text.count("| x | x | x |") for chunk in oversize] == [30, 30]
    assert all(chunk.tokens <= 40 for chunk in chunks if chunk not in oversize)
    rows = [chunk.text.count("| x | x | x |") for chunk in chunks if chunk.metadata["imrad"] == "Methods"]
    assert sum(rows) == 30
    assert max(rows) < 30


class Splitting:
    """Makes all texts dissimilar, so that every gap is a boundary."""

    def embed(self, texts):
        return np.eye(max(len(texts), 2))[: len(texts)]


@pytest.mark.parametrize("embedder", [None, Splitting()])
def test_a_caption_stays_with_its_table(embedder):
    source = paper(("2", "Results", prose(20) + table(4) + prose(20)))
    for size in (45, 60):
        chunks = chunker(max_tokens=size, embedder=embedder).chunk(source)
        (first,) = [chunk for chunk in chunks if "Table 1." in chunk.text]
        assert "Table 1. What was seen.\n\n| x | x | x |" in first.text


def test_references_are_kept_whole_or_dropped():
    text = tei.read(SEALS).text
    kept = [chunk for chunk in chunker(max_tokens=20).chunk(SEALS) if chunk.metadata["section"] == "References"]
    assert [chunk.text.split()[0] for chunk in kept] == ["References", "1999.", "Lind."]
    dropped = chunker(references="drop").chunk(SEALS)
    assert "".join(chunk.text for chunk in dropped) == text[: text.index("\n\nReferences")]
    assert [c.text for c in dropped[:-1]] == [c.text for c in chunker().chunk(SEALS)[: len(dropped) - 1]]
    references = "<TEI><text><back><listBibl><bibl>A.</bibl></listBibl></back></text></TEI>"
    assert chunker(references="drop").chunk(references) == []


def test_references_in_the_middle_are_dropped_with_their_subsections():
    text = "# Results\n\nOne.\n\n# References\n\n## Books\n\nTwo.\n\n# Appendix\n\nThree.\n"
    chunks = chunker(references="drop", markup="markdown").chunk(text)
    assert [chunk.text for chunk in chunks] == ["# Results\n\nOne.\n\n", "# Appendix\n\nThree.\n"]
    assert paths(chunks) == ["Results", "Appendix"]
    ((start, end),) = chunks[1].source_spans
    assert text[start:end] == chunks[1].text
    last = chunker(references="drop", markup="markdown").chunk(text[: text.index("# Appendix")])
    ((start, end),) = last[-1].source_spans
    assert text[start:end] == "# Results\n\nOne."


# Short sections.


def sizes(*words):
    """Return texts for sections with these numbers of words, including two of the heading."""
    return [prose(count - 2) for count in words]


def test_small_sections_share_a_chunk_within_their_outermost_section():
    a, b, c, d, e = sizes(10, 10, 30, 10, 10)
    source = paper(("1", "Methods", a), ("1.1", "Bank", b), ("1.2", "Boats", c), ("2", "Results", d), ("3", "Seals", e))
    chunks = chunker(max_tokens=60, min_tokens=15).chunk(source)
    assert firsts(chunks) == ["1 Methods", "1.2 Boats", "2 Results", "3 Seals"]
    firsts_of_all = ["1 Methods", "1.1 Bank", "1.2 Boats", "2 Results", "3 Seals"]
    assert firsts(chunker(max_tokens=60).chunk(source)) == firsts_of_all


def test_sections_of_different_parts_are_not_joined():
    a, b, c = sizes(10, 10, 10)
    source = paper(("1", "Experiments", a), ("1.1", "Setup", b), ("1.2", "Results", c))
    assert firsts(chunker(max_tokens=60, min_tokens=30).chunk(source)) == ["1 Experiments", "1.1 Setup", "1.2 Results"]


def test_text_before_the_first_heading_is_not_joined():
    markdown = "Words first.\n\n# Seals\n\n## Model\n\nOne.\n\n### Banks\n\nTwo.\n\n## Data\n\nThree.\n"
    chunks = chunker(markup="markdown", max_tokens=60, min_tokens=30).chunk(markdown)
    assert firsts(chunks) == ["Words first.", "# Seals", "## Data"]


# Errors.


@pytest.mark.parametrize("fallback", ["auto", None])
def test_a_text_that_is_not_tei_is_an_error(fallback):
    with pytest.raises(ConfigurationError, match="the text must be TEI, such as GROBID's output for a PDF, got 'Just"):
        chunker(fallback=fallback).chunk("Just prose.")
    results = chunker(fallback=fallback).chunk_many(["Just prose.", SEALS], on_error="collect")
    assert [len(chunks) > 0 for chunks in results] == [False, True]
    assert [isinstance(failure.error, ConfigurationError) for failure in results.failures] == [True]
