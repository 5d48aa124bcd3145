"""The units of retrieved texts, and where the words of a question are among them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, RecursiveChunker, Span
from advchunk.retrieval import Hit, PassageCutter, passage_units
from advchunk.retrieval.evidence import LACKING, PAIR, PIECE
from advchunk.retrieval.passage_units import AskedTerms, Excerpt, UnitReader, UnitTable, runs_in_text, runs_of_chunks
from advchunk.text.counters import CHARACTERS, WORDS
from advchunk.text.search_terms import query_words, split_words, word_terms

WORD = st.sampled_from(["tea", "teas", "rum", "milky", "milk", "the", "cup"])
SENTENCES = st.lists(st.lists(WORD, min_size=1, max_size=6), min_size=1, max_size=8)


def table_of(chunks, reader):
    """The units of chunks of one document."""
    return UnitTable([(0, run) for run in runs_of_chunks(chunks, reader)])


def slow_postings(table, question):
    """Terms and pairs of a question, with their weights, and in which units they are, by loops over strings."""
    units = [[*map(word_terms, split_words(table.text(i, i + 1)[0]))] for i in range(len(table))]
    stems = [[word.stem for word in unit if word.stem != "the"] for unit in units]
    asked, weights = [*map(word_terms, query_words(question))], Counter()
    for word in asked:
        weights[word.stem] += 1
        for piece in word.pieces:
            weights[piece] += PIECE if any(word.stem in unit for unit in stems) else LACKING
    places_of = [
        (weight, [i for i, unit in enumerate(units) for own in unit if term in (own.stem, *own.pieces)])
        for term, weight in weights.items()
    ]
    places_of += [
        (PAIR, [i for i, unit in enumerate(stems) for own in pairwise(unit) if own == pair])
        for pair in set(pairwise(word.stem for word in asked))
    ]
    return sorted((round(weight, 6), places) for weight, places in places_of if places)


@given(SENTENCES, st.lists(WORD, max_size=6))
def test_postings_are_those_of_the_slow_twin(sentences, question):
    text = " ".join(" ".join(words).capitalize() + "." for words in sentences)
    reader = UnitReader(WORDS)
    table = table_of([Chunk(text, (Span(0, len(text)),), 1)], reader)
    postings = table.postings(AskedTerms.of(" ".join(question), reader.vocabulary))
    places = [postings.sentences[postings.terms == t].tolist() for t in range(len(postings.repeats))]
    assert sorted(zip(postings.repeats.round(6).tolist(), places, strict=True)) == slow_postings(
        table, " ".join(question)
    )


TEXT = (
    "# Tea\n\nBoil the water. Add tea.\n\n```\nmake tea\nmake rum\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n| 3 | 4 "
    "|\n\nEnd here."
)


def units_of(text, budget=1000):
    """The parts of a text that are taken together."""
    table = table_of([Chunk(text, (Span(0, len(text)),), 1)], UnitReader(WORDS))
    parts = dict.fromkeys(zip(*(own.tolist() for own in table.taken_together(budget)), strict=True))
    return [table.text(*part)[0] for part in parts]


def test_units_are_sentences_rows_and_code_blocks_and_headings_stay_with_what_is_below():
    code, rows = "```\nmake tea\nmake rum\n```", "| a | b |\n| - | - |\n| 1 | 2 |"
    assert units_of(TEXT) == ["# Tea\n\nBoil the water.", "Add tea.", code, rows, "| 3 | 4 |", "End here."]


def test_the_lead_in_of_a_table_is_a_unit_of_its_own():
    assert units_of("Tea is dear. Prices follow:\n\n| a |\n| - |\n| 1 |\n")[1:] == [
        "Prices follow:",
        "| a |\n| - |\n| 1 |",
    ]


def test_a_long_sentence_is_divided_and_a_long_row_is_not():
    long = "word " * 200
    assert max(len(unit.split()) for unit in units_of(long + ".")) <= 80
    table = f"| a |\n| - |\n| {long} |\n| 3 |"
    assert max(len(unit.split()) for unit in units_of(table)) > 200
    assert max(len(unit.split()) for unit in units_of(table, 200)) <= 80  # of a small budget, a row does not take all


def test_a_table_below_a_heading_is_divided_at_its_rows_and_not_at_stops_in_them():
    rows = [f"| Tea {i} | is due on 1. July |" for i in range(40)]
    assert units_of("# Prices\n\n| a | b |\n| - | - |\n" + "\n".join(rows))[1:] == rows[1:]


@pytest.mark.parametrize("around", [0, 3, 1000])
def test_runs_in_a_text_reach_as_far_as_asked(around):
    text = "".join(f"Sentence number {i}. " for i in range(20))
    start = text.index("number 10")
    whole = UnitReader(WORDS).read(Excerpt(text))
    (run,) = runs_in_text(whole, [Span(start, start + 5)], around)
    inside, _ = UnitTable([(0, run)]).text(0, len(UnitTable([(0, run)])))
    expected = {0: "Sentence number 10.", 3: "Sentence number 9. Sentence number 10. Sentence number 11."}
    assert inside == expected.get(around, text.rstrip())


def test_chunks_that_tile_a_text_are_one_run_and_those_with_a_gap_are_several():
    text = "Tea is hot. Rum is cold. Milk is white. Cups are blue. "
    edges = [0, 12, 25, 40, len(text)]
    spans = [Span(a, b) for a, b in pairwise(edges)]
    chunks = [Chunk(text[a:b], (Span(a, b),), 3) for a, b in spans]
    assert len(runs_of_chunks(chunks, UnitReader(WORDS))) == 1
    assert len(runs_of_chunks([chunks[0], chunks[2]], UnitReader(WORDS))) == 2
    table = table_of([*chunks, chunks[1]], UnitReader(WORDS))
    assert table.text(0, len(table))[0] == text.rstrip()
    np.testing.assert_array_equal(table.ends[:-1], table.starts[1:])


@pytest.mark.parametrize(
    ("begin", "row", "end"),
    [
        ("<table><tr><th>Name</th><th>Weight</th></tr>", "<tr><td>Tea {}</td><td>{} g</td></tr>", "</table>"),
        ("\\begin{tabular}{ll}\nName & Weight \\\\\n", "Tea {} & {} g \\\\\n", "\\end{tabular}"),
        ("| Name | Weight |\n| --- | --- |\n", "| Tea {} | {} g |\n", ""),
    ],
    ids=["html", "latex", "pipes"],
)
def test_a_row_of_a_later_piece_has_the_head_of_its_table(begin, row, end):
    text = "Intro.\n\n" + begin + "".join(row.format(f"x{i}", i) for i in range(60)) + end + "\n\nThe end."
    chunks = RecursiveChunker(max_tokens=120).chunk(text)
    (run,) = runs_of_chunks(chunks, UnitReader(WORDS))
    assert len(run) > 2
    for piece in run[1:]:
        edges = piece.read.edges.tolist()
        contexts = [piece.read.context(at)[0] for at in edges[:-1]]
        units = [piece.read.text[a:b] for a, b in pairwise(edges)]
        assert all("Weight" in context for context, unit in zip(contexts, units, strict=True) if "Tea" in unit)
        assert all(context == "" for context, unit in zip(contexts, units, strict=True) if unit.startswith("The end"))
        assert all(unit.count("Tea") <= 1 for unit in units)


def test_texts_that_were_read_before_are_read_once():
    reader = UnitReader(CHARACTERS)
    first, second = reader.read(Excerpt("Tea is hot. ")), reader.read(Excerpt("Rum is cold.", offset=12))
    assert reader.read(Excerpt("Rum is cold.", offset=40)) is second
    assert reader.read(Excerpt("Tea is hot. ")) is first
    assert [reading.columns[2].tolist() for reading in (first, second)] == [[12], [12]]


def test_metadata_of_a_chunk_that_was_read_before_is_read_after_changes_alone(monkeypatch):
    reader, text, read = UnitReader(WORDS), "Boil it.", []
    chunk = Chunk(text, (Span(0, len(text)),), 2, metadata={"title_path": "Tea"})
    monkeypatch.setattr(Excerpt, "of", lambda *args, of=Excerpt.of: read.append(args) or of(*args))
    paths = [table_of([chunk], reader).path(0), table_of([chunk], reader).path(0)]
    chunk.metadata["title_path"] = "Rum"
    assert [*paths, table_of([chunk], reader).path(0)] == [("Tea",), ("Tea",), ("Rum",)]
    assert len(read) == 2
    monkeypatch.setattr(passage_units, "_REMEMBERED", 2)  # bytes: each is forgotten after the next
    first, second = reader.read(Excerpt("Tea.")), reader.read(Excerpt("Rum."))
    assert (reader.read(Excerpt("Rum.")) is second, reader.read(Excerpt("Tea.")) is first) == (True, False)


@pytest.mark.parametrize("name", ["tea.csv", "tea.txt"])
def test_rows_of_the_first_chunk_of_separated_values_have_the_head_too(name):
    rows = [f"tea number {i},{i * 37}\n" for i in range(12)]
    texts = ["name,price\n" + "".join(rows[:6]), "".join(rows[6:])]
    head = "| name | price |\n| --- | --- |"
    reader = UnitReader(WORDS)
    first, later = (reader.read(Excerpt(texts[0], name)), reader.read(Excerpt(texts[1], name, head=head, offset=99)))
    contexts = [first.context(start)[0] for start in first.edges[:-1].tolist()]
    is_table = name == "tea.csv"
    assert contexts == (["", *[head] * 5] if is_table else [""] * len(contexts))
    assert {later.context(start)[0] for start in later.edges[:-1].tolist()} == {head}
    assert len(later) == 6
    assert (len(first) == 6) == is_table


def test_the_suffix_of_a_file_tells_its_layout():
    text = "Tea\n===\n\nBoil the water.\n\nRum\n---\n\nDrink it.\n"
    read = UnitReader(WORDS).read(Excerpt(text, "tea.rst"))
    assert read.path(text.index("Drink")) == ("Tea", "Rum")


CONTRACT = "ARTICLE I\nSECRETS\n\nEach party keeps secrets.\n\nARTICLE II\nTHE END\n\nNotice is in writing.\n\nARTICLE III\nLAW\n\nOhio.\n"
PAGE = "<h2>Secrets</h2><p>Each party keeps secrets.</p><h2>The end</h2><p>Notice is in writing.</p><h2>Law</h2><p>Ohio.</p>"


@pytest.mark.parametrize(("text", "markup", "budget"), [(CONTRACT, "markdown", 14), (PAGE, "html", 9)])
def test_the_heading_of_a_passage_is_that_of_its_place_and_is_there_once(text, markup, budget):
    (chunk,) = RecursiveChunker(max_tokens=300, markup=markup).chunk(text)
    hits = [Hit(chunk, "terms", 1.0)]
    own, first = (PassageCutter().cut(question, hits, budget)[0] for question in ("Is notice in writing?", "Secrets?"))
    assert own.heading.casefold().endswith("the end")
    assert own.prompt_text.casefold().count("the end") == 1
    assert "Each party" not in own.prompt_text
    assert first.heading.casefold().endswith("secrets")
    assert first.prompt_text.casefold().count("secrets") == 2  # of the heading, and of the sentence below it


def test_a_row_has_both_rows_of_the_head_of_its_table():
    head = "| Drink | Volume | Volume |\n| Drink | usual | range |\n| --- | --- | --- |\n"
    text = "Drinks\n\n" + head + "".join(f"| Tea {i} | {i} | 0-{i} |\n" for i in range(20))
    read = UnitReader(WORDS).read(Excerpt(text))
    assert read.context(text.index("| Tea 7"))[0] == head.rstrip()
