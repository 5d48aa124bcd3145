"""The language of a text: told from little, by its own words, and not from what has no language."""
# ruff: noqa: RUF001 - the letters of many scripts are the subject here

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Document, RecursiveChunker, create
from advchunk.text.detection import UNDETERMINED, language_of, query_language, tell_language
from advchunk.text.scripts import count_words
from advchunk.text.sentences import sentences

GERMAN = (
    "Der Dr. Maier kam am 3. Oktober an. Er war z. B. in Wien, und die Leute warteten auf ihn, weil sie ihn kannten. "
    * 2
)
ENGLISH = "The house is on the hill. It was built by the people who lived there, and they were proud of it. " * 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The cat and the dog are friends with us.", "en"),
        ("THE CAT AND THE DOG ARE FRIENDS WITH US.", "en"),
        ("Die Katze und der Hund sind nicht im Haus.", "de"),
        ("Le chat et le chien ne sont pas dans la maison.", "fr"),
        ("Кіт і собака не були в хаті, бо їх не було.", "uk"),
        ("我们使用 Python 和 NumPy 编写程序。", "zh"),
        ("今日は天気がいいです。", "ja"),
        ("고양이와 개는 집에 없습니다.", "ko"),
        ("ქათამი და კატა", "ka"),
        ("Tea.", UNDETERMINED),
        ("x = [3, 5]\ny = f(x)", UNDETERMINED),
        ("", UNDETERMINED),
        ("12 34 56", UNDETERMINED),
    ],
)
def test_languages_are_told_from_a_sentence(text, code):
    assert tell_language(text) == code


def test_what_a_document_declares_decides_where_its_text_does_not():
    assert tell_language("Tee, 3 Tassen", "de") == "de"
    assert tell_language(GERMAN, "fr") == "de"
    assert language_of("Tee, 3 Tassen") == "en"
    document = Document("Tee. Tassen. Kanne. " * 9, metadata={"language": "de"})
    assert RecursiveChunker(max_tokens=20).explain(document).language == "de"


@given(st.text(max_size=300))
def test_any_text_has_a_code(text):
    assert 2 <= len(tell_language(text)) <= 3
    assert count_words(text) >= 0


def test_a_document_is_split_by_the_rules_of_its_language():
    assert sentences(GERMAN).strings() == sentences(GERMAN, "de").strings() != sentences(GERMAN, "en").strings()
    as_given, automatic = (RecursiveChunker(max_tokens=30, **own).chunk(GERMAN) for own in ({"language": "de"}, {}))
    assert [chunk.spans for chunk in automatic] == [chunk.spans for chunk in as_given]


def test_long_paragraphs_are_split_by_the_rules_of_their_own_language():
    text = f"{ENGLISH}\n\n{GERMAN}\n\n{ENGLISH}\n\n{ENGLISH}"
    assert tell_language(text) == "en"
    start = len(ENGLISH) + 2
    edges = [edge - start for edge in sentences(text).edges.tolist() if start < edge < start + len(GERMAN)]
    assert edges == sentences(GERMAN, "de").edges.tolist()[1:-1]


def test_a_text_of_one_chunk_needs_no_language_and_others_say_theirs():
    assert RecursiveChunker().explain("Tea is good.").language == ""
    assert create("mst-semantic").explain(GERMAN).language == "de"
    assert create("mst-semantic", language="fr").explain(GERMAN).language == "fr"
    (chunk,) = RecursiveChunker(add_scores=True).chunk(GERMAN)
    assert chunk.metadata["language"] == "de"


def test_words_without_spaces_add_up_at_white_space():
    parts = ["東京 は雨です。\n", "GPT-4は ", "ผมชอบกินข้าว ", "— two words. ", "བོད་ཡིག ", "សួស្តី"]
    assert count_words("".join(parts)) == sum(map(count_words, parts))


@pytest.mark.parametrize("query", ["Why do millers sleep in church?", "Where do I go in winter?", "Is na a noun?"])
def test_short_queries_are_in_a_language_of_the_texts_unless_another_is_evident(query):
    assert tell_language(query) != "en"
    assert {query_language(query, languages) for languages in (["en"], {"en", "fr"})} == {"en"}
    assert query_language(query, ["de", "en"]) in {"en", "und"}  # they have some words in common
    assert query_language(query, []) == tell_language(query)
    assert query_language(f"{query} " * 10, ["en"]) == tell_language(f"{query} " * 10)  # long enough to be believed


def test_other_languages_of_queries_are_evident_by_their_script_or_words():
    queries = {
        "de": "Wie alt ist der Zug?",
        "fr": "Où est le chat?",
        "cs": "Proč mlynáři spí v kostele?",
        "ja": "天気がいい。",
    }
    for code, query in queries.items():
        assert query_language(query, ["en", "sl"]) == code
    assert query_language("x = 3", ["en"]) == "und"
