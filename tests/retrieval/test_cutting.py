"""Passages that are cut when the question is known."""

import logging
import pickle
import random
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, RecursiveChunker, Span
from advchunk.retrieval import Hit, PassageCutter, Retriever
from advchunk.text.counters import WORDS, CallableCounter
from growing import check_growth

TEXT = """# Guide

Welcome to the tea house.

## Brewing

Boil the water. Add green tea. Wait two minutes. Pour it into cups. Drink it slowly.

## Prices

We sell tea of many kinds, and all of it is fresh.

| tea | price |
| --- | --- |
| green | 3 |
| black | 4 |
| oolong | 51 |

## Ships

Sailors drank rum in cold nights. The captain kept the key. Storms were common.
"""
CUTTER = PassageCutter(tokenizer="words")


def hits_of(text, size=12, document="tea.md", **options):
    chunks = RecursiveChunker(max_tokens=size, tokenizer="words", **options).chunk(text)
    return [Hit(chunk, document, 1 / (i + 1)) for i, chunk in enumerate(chunks)]


def places(passages):
    return [(p.document, p.spans, p.text) for p in passages]


def check(passages, budget, counter, texts):
    """Passages are exact and disjoint, and fit the budget."""
    assert sum(p.tokens for p in passages) <= budget
    taken = []
    for passage in passages:
        assert passage.tokens == counter(passage.prompt_text)
        pieces = [texts[passage.document][start:end] for start, end in passage.spans]
        assert [passage.text] == pieces
        assert passage.hits
        taken += [(passage.document, *span) for span in passage.spans]
    taken.sort()
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(taken))


def test_the_sentences_that_answer_become_passages():
    (passage,) = CUTTER.cut("Who kept the key?", hits_of(TEXT), 8, texts={"tea.md": TEXT})
    assert "The captain kept the key." in passage.text
    assert passage.heading == "Guide > Ships"
    assert passage.citation.startswith("tea.md, Guide > Ships, line 21, characters ")


def test_a_row_comes_with_the_head_of_its_table_and_the_headings_and_they_count():
    (passage, *_) = CUTTER.cut("What does oolong cost?", hits_of(TEXT), 25, texts={"tea.md": TEXT})
    assert passage.text.splitlines()[-1] == "| oolong | 51 |"
    if "| tea | price |" not in passage.text:
        assert passage.context == "Guide > Prices\n\n| tea | price |\n| --- | --- |"
    assert passage.tokens == WORDS(passage.prompt_text)
    bare = PassageCutter(tokenizer="words", context=False)
    assert all(p.context == "" for p in bare.cut("What does oolong cost?", hits_of(TEXT), 25, texts={"tea.md": TEXT}))


OFFICES = {
    "pipes": ("| Office | Phone |\n| --- | --- |\n", "| {} | {} |\n", ""),
    "html": ("<table>\n<tr><th>Office</th><th>Phone</th></tr>\n", "<tr><td>{}</td><td>{}</td></tr>\n", "</table>\n"),
}


@pytest.mark.parametrize("form", OFFICES)
@pytest.mark.parametrize("size", [200, 14], ids=["one chunk", "a chunk for a few rows"])
@pytest.mark.parametrize("city", ["Bonn", "Kyiv", "Lyon", "Oslo", "Riga"])
def test_the_words_of_the_head_count_for_every_row_of_a_table(form, size, city):
    head, row, end = OFFICES[form]
    cities = ["Bonn", "Kyiv", "Lyon", "Oslo", "Riga"]
    table = head + "".join(row.format(name, number) for number, name in enumerate(cities, 1001)) + end
    hits = [replace(hit, score=1.0) for hit in hits_of(f"Call us.\n\n{table}", size, "offices.md")]
    for texts, budget in product([None, {"offices.md": f"Call us.\n\n{table}"}], range(16, 30)):
        passages = CUTTER.cut(f"Which phone number does the {city} office have?", hits, budget, texts=texts)
        text = "".join(passage.text for passage in passages)
        assert city in text or not any(name in text for name in cities)


def test_a_heading_is_never_without_the_sentence_below_it():
    for budget in range(1, 60):
        for passage in CUTTER.cut("brewing prices ships guide", hits_of(TEXT), budget, texts={"tea.md": TEXT}):
            assert not passage.text.splitlines()[-1].startswith("#")


def test_counts_that_do_not_add_up_are_within_the_budget():
    counter = CallableCounter(lambda text: 3 * len(text.split()) + 10 * text.count("\n"))
    passages = PassageCutter(tokenizer=counter).cut("tea price rum", hits_of(TEXT), 120)
    assert passages
    check(passages, 120, counter, {"tea.md": TEXT})


def test_the_order_of_hits_does_not_matter():
    hits = hits_of(TEXT)
    expected = places(CUTTER.cut("price of tea", hits, 30))
    for seed in range(5):
        shuffled = random.Random(seed).sample(hits, len(hits))
        assert places(CUTTER.cut("price of tea", shuffled, 30)) == expected


def test_hits_with_all_that_is_around_them_give_the_passages_of_the_whole():
    texts = {"tea.md": TEXT}
    flat = [Hit(hit.chunk, hit.document, 1.0) for hit in hits_of(TEXT)]
    some, whole = flat[::3], [Hit(Chunk(TEXT, (Span(0, len(TEXT)),), 90), "tea.md", 1.0)]
    cutter = PassageCutter(tokenizer="words", hit_weight=0)
    for question in ("Who kept the key?", "What does oolong cost?", "tea"):
        expected = places(cutter.cut(question, whole, 30, texts=texts))
        assert places(cutter.cut(question, some, 30, texts=texts)) == expected
        assert places(cutter.cut(question, some, 30, beside=flat, texts=texts)) == expected


def test_repeated_nested_and_overlapping_hits_are_text_once():
    flat = [Hit(hit.chunk, hit.document, 1.0) for hit in hits_of(TEXT, include_context=False)]
    whole = Hit(Chunk(TEXT, (Span(0, len(TEXT)),), 90), "tea.md", 1.0)
    middle = Hit(Chunk(TEXT[40:150], (Span(40, 150),), 20), "tea.md", 1.0)
    for hits in (flat * 3, [whole, *flat, middle], [middle, whole], [*flat, middle]):
        for question in ("Who kept the key?", "price of oolong", "Wait how long?"):
            check(CUTTER.cut(question, hits, 30), 30, WORDS, {"tea.md": TEXT})
    assert places(CUTTER.cut("key", [whole, *flat, middle], 20)) == places(CUTTER.cut("key", [whole], 20))


def test_parts_of_two_versions_of_a_text_stay_apart():
    old, new = "Boil the water. Add black tea.", "Boil the water. Add green tea."
    hits = [Hit(Chunk(text, (Span(0, 30),), 6), "a", 1.0) for text in (old, new)]
    passages = CUTTER.cut("Which tea?", hits, 40)
    assert sorted(p.text for p in passages) == [old, new]


def test_a_hit_that_moved_is_found_by_its_text_and_one_that_is_gone_has_no_offsets(caplog):
    moved = Hit(Chunk("Wait two minutes.", (Span(0, 17),), 3), "tea.md", 1.0)
    gone = Hit(Chunk("Whales sing at dawn.", (Span(5, 25),), 4), "tea.md", 1.0)
    with caplog.at_level(logging.WARNING, "advchunk"):
        passages = CUTTER.cut("Wait minutes, whales sing?", [moved, gone], 100, texts={"tea.md": TEXT})
    check([p for p in passages if p.spans], 100, WORDS, {"tea.md": TEXT})
    (alone,) = [p for p in passages if not p.spans]
    assert alone.text == "Whales sing at dawn."
    assert alone.citation == "tea.md"
    assert len([r for r in caplog.records if "not in the text" in r.message]) == 1


def test_hits_without_a_place_are_found_in_their_text_or_stand_alone():
    hits = [
        Hit(Chunk("Wait two minutes. Pour it", (), 5), "tea.md", 1.0),
        Hit(Chunk("The captain", (), 2), "tea.md", 0.5),
    ]
    passages = CUTTER.cut("How long should I wait?", hits, 20, texts={"tea.md": TEXT})
    check(passages, 20, WORDS, {"tea.md": TEXT})
    assert all(p.spans == () for p in CUTTER.cut("How long should I wait?", hits, 20))
    assert {p.text for p in CUTTER.cut("wait captain", hits, 20)} == {"Wait two minutes. Pour it", "The captain"}


def test_hits_whose_splitter_strips_white_space_join_only_in_their_text():
    text = "- tea is hot\n- rum is cold\n- water is wet\n- milk is white"
    lines = text.split("\n")
    hits = [Hit(Chunk(t, (Span(text.index(t), text.index(t) + len(t)),), 3), "a", 1.0) for t in lines]
    assert sorted(p.text for p in CUTTER.cut("tea rum water milk", hits, 50)) == sorted(lines)
    (whole,) = CUTTER.cut("tea rum water milk", hits, 50, texts={"a": text})
    assert whole.text == text


def test_definitions_of_source_code_stay_whole():
    pytest.importorskip("tree_sitter_python")
    code = "".join(
        f"def area_{name}(size):\n    factor = {i}\n    return size * factor\n\n\n" for i, name in enumerate("abcdef")
    )
    hits = [Hit(Chunk(code, (Span(0, len(code)),), 60), "areas.py", 1.0)]
    for passage in PassageCutter().cut("return factor of area_d", hits, 60):
        assert passage.text.startswith("def ")
        assert passage.text.endswith("size * factor")


def test_a_question_without_a_known_word_takes_the_best_hits():
    hits = hits_of(TEXT)
    for question in ("", "xylophone", "?" * 100):
        passages = CUTTER.cut(question, [Hit(h.chunk, h.document, float(i == 2)) for i, h in enumerate(hits)], 12)
        assert hits[2].chunk.id in {hit.chunk.id for hit in passages[0].hits}


def test_a_best_sentence_that_does_not_fit_is_logged(caplog):
    text = "Dry beans of any kind must rest in water for twelve hours. Green beans keep."
    assert PassageCutter().cut("How long must beans rest?", [Hit(Chunk(text, (Span(0, len(text)),), 9), "a", 1.0)], 6)
    assert "the best sentence does not fit into a budget of 6 tokens" in caplog.text


def test_headings_that_do_not_fit_are_left_out():
    text = f"# {'Long heading ' * 15}\n\nCats nap. {'They purr all day. ' * 9}\n\nThe captain kept the key."
    hits = [Hit(Chunk(text, (Span(0, len(text)),), 1), "a", 1.0)]
    (passage, *_) = CUTTER.cut("Who is the captain with the key?", hits, 8)
    assert (passage.text, passage.context) == ("The captain kept the key.", "")
    passages = CUTTER.cut("Who is the captain with the key?", hits, 40)
    assert passages[0].context.startswith("Long heading")


def test_a_passage_of_min_tokens_takes_no_more_than_the_budget():
    hits = hits_of(TEXT, 200)
    (passage, *_) = PassageCutter(tokenizer="words", min_tokens=50).cut("Who kept the key?", hits, 20)
    assert "The captain kept the key." in passage.text


def test_a_passage_that_goes_on_in_another_section_is_cited_by_both():
    text = "# A\n\n## B\n\nCats nap.\n\n# C\n\nCats purr.\n"
    (passage,) = PassageCutter().cut("What do cats do?", [Hit(Chunk(text, (Span(0, len(text)),), 9), "a", 1.0)])
    assert passage.citation.startswith("a, A to C, characters")
    (passage,) = PassageCutter().cut("Do cats purr?", [Hit(Chunk(text, (Span(0, len(text)),), 9), "a", 1.0)], 6)
    assert passage.citation.startswith("a, C, characters")


def test_a_moved_hit_is_where_its_text_is_nearest():
    text = "New.\n\n# A\n\nNot applicable.\n\n# B\n\nNot applicable.\n"
    at = text.rindex("Not") - len("New.\n\n")
    hits = [Hit(Chunk("Not applicable.", (Span(at, at + 15),), 2), "a", 1.0)]
    (passage, *_) = PassageCutter(tokenizer="words", around=0).cut("Is it applicable?", hits, 5, texts={"a": text})
    assert passage.heading == "B"


def test_what_was_read_before_changes_nothing():
    rng = random.Random(0)
    words = [f"w{i}" for i in range(300)]
    text = " ".join(f"{' '.join(rng.sample(words, 8))}." for _ in range(60))
    question = " ".join(rng.sample(words, 200))
    hits = hits_of(text, 40)
    fresh, used = PassageCutter(tokenizer="words"), PassageCutter(tokenizer="words")
    used.cut("x", hits_of(" ".join(reversed(text.split())), 40))
    assert fresh.cut(question, hits, 80) == used.cut(question, hits, 80)


def test_the_suffix_of_a_file_says_that_a_text_is_source_code():
    pytest.importorskip("tree_sitter_python")
    code = "# Area\ndef area(size):\n    factor = 2\n\n    # The result\n    return size * factor\n"
    hits = [Hit(Chunk(code, (Span(0, len(code)),), 20), "7", 1.0)]
    (passage,) = CUTTER.cut("return factor", hits, 50, files={"7": "area.py"})
    assert passage.text == code.rstrip()
    assert passage.heading != "Area"  # a comment is no heading


def test_no_hit_and_blank_hits_give_no_passage():
    assert CUTTER.cut("tea", [], 10) == []
    assert CUTTER.cut("tea", [Hit(Chunk("", (), 0), "a", 1.0), Hit(Chunk(" \n", (Span(0, 2),), 0), "a", 1.0)], 10) == []


def test_a_budget_too_small_is_said(caplog):
    with caplog.at_level(logging.WARNING, "advchunk"):
        assert CUTTER.cut("Who kept the key?", hits_of(TEXT), 1) == []
    assert "does not fit into a budget of 1 token" in caplog.text


def test_passages_have_the_tokens_and_are_as_many_as_asked():
    hits = hits_of(TEXT)
    for least in (0, 8, 15):
        cutter = PassageCutter(tokenizer="words", min_tokens=least, context=False)
        passages = cutter.cut("oolong key minutes", hits, 40, texts={"tea.md": TEXT})
        assert passages
        assert all(p.tokens >= least for p in passages)
    for most in (1, 2):
        cutter = PassageCutter(tokenizer="words", max_passages=most)
        assert 0 < len(cutter.cut("oolong key minutes", hits, 60)) <= most


def test_order_is_by_score_or_by_place():
    hits = [*hits_of(TEXT), *hits_of("Whales sing. A key is lost.", document="sea.md")]
    ranked = CUTTER.cut("oolong key minutes", hits, 40)
    assert [p.score for p in ranked] == sorted((p.score for p in ranked), reverse=True)
    by_place = CUTTER.cut("oolong key minutes", hits, 40, order="document")
    assert sorted(places(by_place)) == sorted(places(ranked))
    assert [p.spans for p in by_place if p.document == "tea.md"] == sorted(
        p.spans for p in ranked if p.document == "tea.md"
    )


def test_highlights_are_the_sentences_that_matter():
    hits = hits_of(TEXT, 30)
    marked = CUTTER.highlights("Who kept the key?", hits)
    (own,) = [hit for hit in marked if "captain" in hit.chunk.text]
    assert "The captain kept the key." in {TEXT[slice(*span)] for span in own.highlights}
    assert all(span.start >= hit.chunk.start and span.end <= hit.chunk.end for hit in marked for span in hit.highlights)
    assert [h.chunk for h in marked] == [h.chunk for h in hits]


def test_all_sentences_with_their_scores():
    scored = CUTTER.sentences("Who kept the key?", hits_of(TEXT), texts={"tea.md": TEXT})
    assert all(TEXT[slice(*span)] == sentence.text for sentence in scored for span in sentence.spans)
    assert max(scored, key=lambda sentence: sentence.score).text == "The captain kept the key."
    assert sum(sentence.tokens for sentence in scored) == WORDS(TEXT)


def test_the_retriever_cuts_passages_and_highlights():
    chunks = RecursiveChunker(max_tokens=30).chunk(TEXT)
    retriever = Retriever({"tea.md": chunks}, tokenizer="words")
    (passage, *_) = retriever.passages("Who kept the key?", 10)
    assert "The captain kept the key." in passage.text
    (whole, *_) = retriever.passages("Who kept the key?", 100, whole_chunks=True)
    assert whole.text in TEXT
    assert any(chunk.text in whole.text for chunk in chunks)
    (hit,) = retriever.search("Who kept the key?", k=1, highlights=True)
    assert hit.highlights
    short = Retriever({"tea.md": chunks}, tokenizer="words", cutter=PassageCutter(max_passages=1))
    assert len(short.passages("tea price rum", 100)) == 1


def test_coverage_tells_what_a_passage_lacks_and_the_log_why_there_is_none(caplog):
    retriever = Retriever({"tea.md": RecursiveChunker(max_tokens=30).chunk(TEXT)}, tokenizer="words")
    for whole in (False, True):
        passages = retriever.passages("Who kept the key?", 30, whole_chunks=whole)
        assert max(passage.coverage for passage in passages) == 1
        asked = "Which physicist kept the radioactive key?"
        (lacking, *_) = retriever.passages(asked, 30, whole_chunks=whole)
        assert 0 < lacking.coverage < 0.6  # of its words, the rarest are nowhere
        assert not retriever.passages(asked, 30, whole_chunks=whole, min_coverage=0.9)
        assert retriever.passages("Who kept the key?", 30, whole_chunks=whole, min_coverage=1)
    assert caplog.text.count("no passage has a coverage of 0.9 of the question's words") == 2
    strict = PassageCutter(tokenizer="words", min_coverage=0.9)
    assert strict.cut("Who kept the key?", hits_of(TEXT), 20)
    assert not strict.cut("Which physicist kept it?", hits_of(TEXT), 20)


@pytest.mark.parametrize("weight", [0.2, None])
def test_a_scorer_finds_what_words_do_not(weight):
    asked, windows = "Who guards the lock?", list[str]()

    def score(question, texts):
        assert question == asked
        windows.extend(texts)
        return [float("key" in text) for text in texts]

    cutter = PassageCutter(tokenizer="words", scorer=score, scorer_weight=weight)
    (passage,) = cutter.cut(asked, hits_of(TEXT), 8, texts={"tea.md": TEXT})
    assert "The captain kept the key." in passage.text
    assert all(text in TEXT for text in windows)
    assert CUTTER.cut(asked, hits_of(TEXT), 8, texts={"tea.md": TEXT})[0].text != passage.text


def test_a_scorer_weighs_more_where_words_say_less():
    def gained(question):
        cutter = PassageCutter(tokenizer="words", scorer=lambda _, texts: ["key" in text for text in texts])
        pairs = zip(cutter.sentences(question, hits_of(TEXT)), CUTTER.sentences(question, hits_of(TEXT)), strict=True)
        return max(both.score - words.score for both, words in pairs)

    assert gained("Which captain kept a key in a submarine of a museum?") > 1.2 * gained("Which captain kept a key?")


def test_the_scores_of_sentences_count_beside_words_by_their_distances():
    spans = [Span(at, at + len(own)) for own in TEXT.splitlines()[-1].split(". ") for at in [TEXT.index(own)]]
    chunk = Chunk(TEXT[spans[0].start : spans[-1].end], (Span(spans[0].start, spans[-1].end),), 17, row_spans=(*spans,))

    def scores(*of_rows, cutter=CUTTER):
        hits = [Hit(chunk, "tea.md", 1.0, row_scores=of_rows)]
        return [own.score for own in cutter.sentences("Who guards the lock of the tea?", hits, texts={"tea.md": TEXT})]

    plain, scored = scores(), scores(0.1, 0.9, 0.2)
    gains = [with_rows - without for with_rows, without in zip(scored, plain, strict=True)]
    assert max(gains) == gains[-2] > 0.2
    for shift, scale in (0.8, 0.2), (-1, 1), (-0.5, 0.3):
        assert scores(*(shift + scale * score for score in (0.1, 0.9, 0.2))) == pytest.approx(scored)
    assert scores(0.1, 0.9, 0.2, cutter=replace(CUTTER, scorer_weight=0.0)) == plain
    by_scorer = PassageCutter(tokenizer="words", scorer=lambda _, texts: ["rum" in text for text in texts])
    assert scores(0.1, 0.9, 0.2, cutter=by_scorer) == scores(cutter=by_scorer)


def test_an_embedder_reads_each_sentence_once_and_scores_windows_by_their_mean_vector():
    class Embedder:
        def embed(self, texts):
            read.extend(texts)
            return [[float("key" in text or "guards" in text), 1.0, float("tea" in text)] for text in texts]

    read = list[str]()
    cutter = PassageCutter(tokenizer="words", scorer=Embedder())
    (passage,) = cutter.cut("Who guards the lock?", hits_of(TEXT), 8, texts={"tea.md": TEXT})
    assert "The captain kept the key." in passage.text
    assert len(read) == len({*read})
    assert not any("key. Storms" in text for text in read)
    del read[:]
    assert cutter.cut("Who guards the lock?", hits_of(TEXT), 8, texts={"tea.md": TEXT}) == [passage]
    assert read == ["Who guards the lock?"]


def new_hits(length, size=40):
    """Hits of a text that no reader remembers."""
    words = [f"w{i % 97} tea{i % 5}" + "." * (i % 7 == 0) for i in range(length // 8)]
    return hits_of(" ".join([str(random.random()), *words]), size)


def test_time_grows_in_proportion_to_hits_and_to_the_words_of_a_question():
    check_growth(lambda hits: PassageCutter().cut("tea1 w3 tea2", hits, 500), new_hits, 16_000)
    hits = new_hits(4_000)
    check_growth(
        lambda question: CUTTER.cut(question, hits, 100), lambda n: " ".join(f"w{i}" for i in range(n)), 40_000
    )


def test_time_grows_in_proportion_to_the_text_around_hits():
    def cut(text):
        hit = Hit(Chunk(text[:40], (Span(0, 40),), 10), "a", 1.0)
        PassageCutter().cut("tea1", [hit], 500, texts={"a": text})

    check_growth(
        cut, lambda n: " ".join([str(random.random()), *(f"Tea{i % 5} is w{i}." for i in range(n // 12))]), 60_000
    )


def test_a_cutter_can_be_pickled_after_use():
    cutter = PassageCutter(max_passages=2)
    expected = places(cutter.cut("Who kept the key?", hits_of(TEXT), 30))
    copy = pickle.loads(pickle.dumps(cutter))
    assert copy == cutter
    assert places(copy.cut("Who kept the key?", hits_of(TEXT), 30)) == expected


def test_a_reader_of_too_many_words_is_replaced(monkeypatch):
    cutter = PassageCutter(tokenizer="words")
    expected = places(cutter.cut("Who kept the key?", hits_of(TEXT), 30))
    monkeypatch.setattr("advchunk.retrieval.passage_units._MAX_WORDS", 3)
    for _ in range(3):
        assert places(cutter.cut("Who kept the key?", hits_of(TEXT), 30)) == expected


@given(st.data())
def test_any_text_cut_anyhow(data):
    words = st.sampled_from(
        ["tea", "rum.", "Key!", "\n\n", "# Tea\n\n", "|a|b|\n|-|-|\n|c|d|\n", "東京は。", "e\u0301", "\r\n", " "]
    )
    text = "".join(f"{word} " for word in data.draw(st.lists(words, min_size=1, max_size=40)))
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8)))
    spans = data.draw(
        st.lists(st.sampled_from([Span(a, b) for a in edges for b in edges if a < b]), min_size=1, max_size=6)
    )
    hits = [Hit(Chunk(text[a:b], (Span(a, b),), 1), "a", float(i)) for i, (a, b) in enumerate(spans)]
    budget = data.draw(st.integers(1, 60))
    texts = data.draw(st.sampled_from([None, {"a": text}]))
    check(CUTTER.cut("tea key 東京", hits, budget, texts=texts), budget, WORDS, {"a": text})


BLOCKS = [
    "Tea is made of leaves that were dried for many hours in the sun.",
    "Rum is cold, and the captain kept the only key of the house.",
    "# Of tea and rum",
    "| drink | price |\n| --- | --- |\n| tea of the house | 3 |\n| rum with {} | 4 |".format("a long name " * 40),
    "```\n" + "".join(f"make tea {i} with the key of the house\n\n" for i in range(12)) + "```",
]


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=8), st.sampled_from(["tea", "rum key", "make 7", "name"]))
def test_the_best_sentence_is_in_every_budget_that_it_fits_into(blocks, question):
    text = "\n\n".join(blocks)
    hits = hits_of(text, 40)
    best = max(CUTTER.sentences(question, hits, texts={"tea.md": text}), key=lambda sentence: sentence.score)
    for budget in (20, 80, 100, 150, 300, 1500, 4000):
        passages = CUTTER.cut(question, hits, budget, texts={"tea.md": text})
        check(passages, budget, WORDS, {"tea.md": text})
        taken = [span for passage in passages for span in passage.spans]
        is_in = any(start <= best.spans[0].start and best.spans[0].end <= end for start, end in taken)
        assert is_in or best.tokens > budget or not best.score


TALK = "\n\n".join(f"Yeah.\n\nWe met group {i} about the remote control of the new kind.\n\nOkay." for i in range(40))


@pytest.mark.parametrize("budget", [20, 60, 200])
def test_no_passage_is_a_scrap_of_few_words(budget):
    hits = hits_of(TALK, 40)
    passages = PassageCutter(context=False).cut("Yeah, okay, what about group 7?", hits, budget)
    assert min(passage.tokens for passage in passages) > 8
    (alone,) = PassageCutter().cut("Who is okay?", [Hit(Chunk("Okay.", (Span(0, 5),), 2), "a", 1.0)], budget)
    assert alone.text == "Okay."
