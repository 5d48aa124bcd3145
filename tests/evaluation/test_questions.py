import json

import pytest

from advchunk import Document, Span
from advchunk.errors import ConfigurationError
from advchunk.evaluation.data.questions import Question, Reference, find_quote, read_corpus, read_questions

DOCUMENTS = [
    Document("It rains.\nSo we  stay in.\nIt rains.", "weather.md"),
    Document("Cats nap.", "cats.txt"),
    Document("Or not.", "cats.md"),
]


def written(folder, *lines):
    path = folder / "questions.jsonl"
    path.write_bytes("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode())
    return path


def line_of(*references, **more):
    return {"question": "Why?", "references": list(references), **more}


def test_reads_places_quotes_and_chromas_pairs(tmp_path):
    path = written(
        tmp_path,
        line_of({"document": "weather.md", "start": 3, "end": 8}, {"document": "cats.txt", "quote": "Cats nap"}),
        "",
        line_of([0, 9], [10, 12], corpus="weather"),
        line_of({"document": "weather", "quote": "So we\tstay"}),
    )
    assert read_questions(path, DOCUMENTS) == [
        Question("Why?", (Reference("weather.md", Span(3, 8)), Reference("cats.txt", Span(0, 8)))),
        Question("Why?", (Reference("weather.md", Span(0, 9)), Reference("weather.md", Span(10, 12)))),
        Question("Why?", (Reference("weather.md", Span(10, 21)),)),
    ]


def test_a_name_without_suffix_must_be_clear(tmp_path):
    path = written(tmp_path, line_of([0, 4], corpus="cats"))
    with pytest.raises(
        ConfigurationError, match=r"line 1: a reference must name .* did you mean 'cats.\w+'\?, got 'cats'"
    ):
        read_questions(path, DOCUMENTS)
    named = [*DOCUMENTS, Document("Dogs nap.", "cats")]
    assert read_questions(path, named)[0].references == (Reference("cats", Span(0, 4)),)


def test_line_ends_of_all_kinds_part_no_string(tmp_path):
    odd = line_of([0, 1], corpus="weather") | {"question": "a\u2028b\u0085c"}
    path = tmp_path / "questions.jsonl"
    path.write_bytes(("\ufeff" + json.dumps(odd, ensure_ascii=False) + "\r\n\r\n").encode())
    assert [question.text for question in read_questions(path, DOCUMENTS)] == ["a\u2028b\u0085c"]


def test_a_quote_as_it_stands_comes_before_one_with_other_white_space():
    assert find_quote("a  b", "a b, a  b") == Span(5, 9)
    assert find_quote("a\nb", "a\u00a0\t b") == Span(0, 5)
    assert find_quote(" b ", "ab b, b c") == Span(5, 8)
    assert find_quote("1+1 (two)", "so 1+1\n(two)") == Span(3, 12)


@pytest.mark.parametrize(
    ("quote", "text", "message"),
    [
        ("rains", "It rains.\nStill, it rains.", r"once, not on lines \[1, 2\], got 'rains'"),
        ("a b", "a  b\n\na\tb", r"once, not on lines \[1, 3\]"),
        ("aba", "ababa", "once"),
        ("a", "a\n" * 5, r"not on lines \[1, 2, 3, 4, 5\], got"),
        ("a", "a\n" * 5000, r"not on lines \[1, 2, 3, 4, 5\] and 4995 more, got"),
        ("snow", "It rains.", "a quote must be in its document, got 'snow'"),
        ("IT", "It rains.", "must be in its document"),
        ("a b", "ab", "must be in its document"),
        (" \n", "It rains. \n", "a quote must not be blank"),
    ],
)
def test_refuses_a_quote_that_is_not_there_once(quote, text, message):
    with pytest.raises(ConfigurationError, match=message):
        find_quote(quote, text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[]", "a line must be"),
        ({"question": "Why?"}, "a line must be"),
        ({"question": 1, "references": []}, "a line must be"),
        (line_of(), r"a question must have a reference, got 'Why\?'"),
        (line_of({"document": "weather.md"}), 'a reference must have "document" and either'),
        (line_of({"document": "weather.md", "start": 1, "end": 2, "quote": "It"}), "a reference must have"),
        (line_of([1, 2, 3], corpus="weather"), "a reference must have"),
        (line_of([1, 2]), "a reference must name an existing document, got None"),
        (line_of({"document": "wether.md", "quote": "It"}), "did you mean 'weather.md'"),
        (line_of({"document": "weather.md", "quote": 5}), "a quote must be a string"),
        (line_of({"document": "weather.md", "quote": "It rains"}), r"on lines \[1, 3\]"),
        (line_of([0, 10], corpus="cats.txt"), r"0 <= start < end <= 9, got \[0, 10\]"),
        (line_of([-1, 3], corpus="cats.txt"), "0 <= start"),
        (line_of([3, 3], corpus="cats.txt"), "0 <= start < end"),
        (line_of([0, 3.0], corpus="cats.txt"), "0 <= start"),
        (line_of([False, 3], corpus="cats.txt"), "0 <= start"),
    ],
)
def test_says_which_line_is_wrong(tmp_path, line, message):
    path = written(tmp_path, line_of([0, 1], corpus="weather"), "", line)
    with pytest.raises(ConfigurationError, match=rf"questions.jsonl, line 3: .*{message}"):
        read_questions(path, DOCUMENTS)


def test_refuses_a_file_without_questions_and_documents_of_one_name(tmp_path):
    with pytest.raises(ConfigurationError, match="a file of questions must not be empty"):
        read_questions(written(tmp_path, "", " "), DOCUMENTS)
    with pytest.raises(ConfigurationError, match="documents must have unique ids"):
        read_questions(written(tmp_path, line_of([0, 1], corpus="a")), [Document("x", "a"), Document("y", "a")])


@pytest.mark.parametrize("span", [Span(3, 3), Span(-1, 3), Span(4, 3)])
def test_a_reference_is_not_empty(span):
    with pytest.raises(ConfigurationError, match="a reference must have 0 <= start < end"):
        Question("?", (Reference("a", span),))


def test_reads_a_corpus_with_its_characters_as_they_are(tmp_path, caplog):
    (tmp_path / "sub").mkdir()
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "b.md").write_bytes("\ufeff# B\r\n\r\né\u2028.\r\n".encode())
    (tmp_path / "a.TXT").write_bytes(b"A\n")
    (tmp_path / "sub" / "c.markdown").write_bytes(b"")
    (tmp_path / "questions.jsonl").write_bytes(b"{}")
    (tmp_path / "d.pdf").write_bytes(b"%PDF")
    documents = read_corpus(tmp_path)
    assert [(doc.id, doc.text) for doc in documents] == [
        ("a.TXT", "A\n"),
        ("b.md", "# B\r\n\r\né\u2028.\r\n"),
        ("sub/c.markdown", ""),
    ]
    assert all(doc.blocks is None for doc in documents)
    assert caplog.messages[0].startswith(
        "1 of 5 files are left out, such as 'd.pdf': only Markdown and text are evaluated"
    )


def test_refuses_a_folder_without_texts_or_with_other_bytes(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"a corpus must be a folder with files in \.md, \.markdown, \.txt, got"
    ):
        read_corpus(tmp_path)
    with pytest.raises(ConfigurationError, match=r"a corpus must .*, and this path does not exist, got '.*none'"):
        read_corpus(tmp_path / "none")
    (tmp_path / "a.md").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"a\.md: not UTF-8"):
        read_corpus(tmp_path)
    with pytest.raises(ConfigurationError, match=r"a corpus must .*, and this is a file: .*, got '.*a\.md'"):
        read_corpus(tmp_path / "a.md")
