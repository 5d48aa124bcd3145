"""Questions made from documents: each is answered where it says, and what is taken out is gone."""

import itertools
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Block, ConfigurationError, Document, Span
from advchunk.evaluation import (
    Dataset,
    EvaluationTask,
    Question,
    Reference,
    held_out_questions,
    read_questions,
    section_boundaries,
    write_questions,
)
from advchunk.evaluation.data.questions import find_quote
from advchunk.readers import markdown

NOUNS = [
    a + b for a in ("river", "stone", "cloud", "lamp", "horse", "bread") for b in ("wood", "light", "field", "maker")
]


def sentence(n):
    """Return the n-th of many sentences, no two alike."""
    a, b, c = (NOUNS[(n * step + n // 24) % 24] for step in (1, 5, 7))
    return f"The {a} of the old town met a {b} beside the {c} in the year of number {'x' * (n % 9 + 1)}{n}."


def paragraph(start, sentences):
    return " ".join(sentence(n) for n in range(start, start + sentences))


@pytest.fixture
def documents():
    texts = ["\n\n".join(paragraph(1000 * d + 100 * p, 9) for p in range(6)) for d in range(3)]
    return [Document(text, f"{d}.md") for d, text in enumerate(texts)]


def answers(built, question):
    texts = {document.source: document.text for document in built.documents}
    return [texts[name][slice(*span)] for name, span in question.references]


# Held-out sentences.


def test_every_second_sentence_is_taken_out_and_its_neighbors_answer(documents):
    built = held_out_questions(documents, 24)
    whole = {document.source: document.text for document in documents}
    left = "".join(document.text for document in built.documents)
    stays = [answers(built, question) == [question.text] for question in built.questions]
    assert stays == [True, False] * 12
    for question in built.questions[1::2]:
        assert question.text not in left
        (answer,), text = answers(built, question), whole[question.references[0].document]
        before, after = text.split(f"{question.text} ")
        assert answer == before[re.search(r"[^.\n]*\. $", before).start() :].lstrip() + re.match(r".*?\d\.", after)[0]
    gone = [question.text for question in built.questions[1::2]]
    assert len("".join(whole.values())) - len(left) == sum(len(text) + 1 for text in gone)


def test_the_same_seed_asks_the_same_and_another_others(documents):
    first, same = held_out_questions(documents, 20), held_out_questions(documents, 20, seed=0)
    assert first.questions == same.questions
    assert [document.text for document in first.documents] == [document.text for document in same.documents]
    texts = [{question.text for question in held_out_questions(documents, 20, seed=seed).questions} for seed in (0, 1)]
    assert texts[0] != texts[1]


def test_sentences_are_spread_over_all_documents_and_stand_apart(documents):
    built = held_out_questions(documents, 30)
    for name in ("0.md", "1.md", "2.md"):
        spans = sorted(q.references[0].span for q in built.questions if q.references[0].document == name)
        assert 8 <= len(spans) <= 12
        assert all(a.end <= b.start for a, b in pairwise(spans))
        assert spans[0].start < 1800
        assert spans[-1].end > 3600


def test_however_many_are_wanted_two_sentences_stay_between_those_asked(documents):
    built = held_out_questions(documents, 10_000)
    asked = sorted(int(re.search(r"(\d+)\.$", question.text)[1]) for question in built.questions)
    assert min(b - a for a, b in pairwise(asked)) == 3
    assert len(asked) > 18


def test_only_prose_that_says_enough_is_asked():
    asked = sentence(7)
    between = f"A first one stands here. {asked} A last one stands here."
    paragraph = f"A first one. {sentence(8)} A last one."
    odd = "Before it. 12.5 3.7 (a) 77 + 3 = 80 x y z w 5 6 7 8 9 10 11 12 13 14 15 a b c d. After it."
    text = "\n\n".join([
        "# Is this heading a question of interest to anybody who reads it here",
        between,
        "Short here. It is short. Short again.",
        f"Said twice. {sentence(3)} And after.",
        f"Said again. {sentence(3).upper()} And after.",
        f"```\nCode here. {sentence(4)} And after.\n```",
        f"| a |\n|---|\n| Cell. {sentence(5)} And. |",
        f"> Quoted. {sentence(6)} Also.",
        odd,
        f"{sentence(11)} Ends here.",
        f"- {paragraph}",
    ])  # fmt: skip
    built = held_out_questions([Document(text, "a.md")], 100)
    assert [question.text for question in built.questions] == [asked, sentence(8)]


def test_a_document_without_a_layout_has_paragraphs():
    text = f"# Not one. {sentence(1)} Heading.\n\n    Indented. {sentence(2)} So what."
    asked = held_out_questions([Document(text, "a", blocks=())], 9).questions
    assert [question.text for question in asked] == [sentence(1), sentence(2)]
    with pytest.raises(ConfigurationError, match="documents must have two sentences to use as questions"):
        held_out_questions([Document(text, "a")], 9)


def test_a_layout_and_offsets_and_boundaries_move_along():
    parts = [f"One. {sentence(n)} Two." for n in (1, 2, 3)]
    text = "\n\n".join([parts[0], parts[1], "Title", parts[2]])
    edges = np.cumsum([0, *(len(part) + 2 for part in (*parts[:2], "Title"))]).tolist()
    blocks = tuple(
        Block(kind, Span(start, start + len(part)))
        for kind, start, part in zip(
            ("paragraph", "paragraph", "heading", "paragraph"), edges, [*parts[:2], "Title", parts[2]], strict=True
        )
    )
    document = Document(text, "a", blocks=blocks, offsets=np.arange(len(text) + 1) + 50, metadata={"title": "A"})
    built = held_out_questions([document], 3, boundaries={"a": [edges[1], edges[3]]})
    (made,) = built.documents
    lost = len(sentence(2)) + 1
    assert made.text == text.replace(f"{sentence(2)} ", "")
    assert [made.text[slice(*block.span)] for block in made.blocks] == [parts[0], "One. Two.", "Title", parts[2]]
    assert built.boundaries == {"a": [edges[1], edges[3] - lost]}
    gone = edges[1] + len("One. ")
    assert made.offsets.tolist() == [*range(50, 50 + gone), *range(50 + gone + lost, 51 + len(text))]
    assert made.metadata == {"title": "A"}
    assert answers(built, built.questions[1]) == ["One. Two."]


@pytest.mark.parametrize(
    ("documents", "params", "rule"),
    [
        ([Document("Too short.", "a")], {}, "documents must have two sentences to use as questions"),
        ([Document("x", "a"), Document("y", "a")], {}, "documents must have unique names"),
        ([Document("x")], {}, "documents must have unique names"),
        ([], {}, "documents must have unique names"),
        ([Document("x", "a")], {"number": 1}, "number must be >= 2"),
    ],
)
def test_documents_that_cannot_be_asked_are_refused(documents, params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        held_out_questions(documents, **params)


# Sections.


def test_headings_of_both_kinds_go_and_leave_a_blank_line():
    text = (
        "# Tea\n\nGreen.\n## Brewing ##\nHot.\n\n***\n\nMilk\n====\n\n### Cold\n\n- ice\n\n> # Quoted\n> "
        "Said.\n\n# End\n"
    )
    built = section_boundaries([Document(text, "tea.md")])
    (made,) = built.documents
    assert made.text == "Green.\n\nHot.\n\n- ice\n\n> Said."
    assert [made.text[at:] for at in built.boundaries["tea.md"]] == [
        "Hot.\n\n- ice\n\n> Said.",
        "- ice\n\n> Said.",
        "> Said.",
    ]
    assert [(block.kind, made.text[slice(*block.span)]) for block in made.blocks] == [
        ("paragraph", "Green."), ("paragraph", "Hot."), ("item", "- ice"), ("quote", "> Said.")
    ]  # fmt: skip


def test_headings_that_follow_each_other_part_once():
    text = "Nought.\n\n## One\n\nTwo.\n\n### Three\n\nFour.\n\n### Five\n\n# Six\n\nSeven."
    built = section_boundaries([Document(text, "a")])
    assert built.documents[0].text == "Nought.\n\nTwo.\n\nFour.\n\nSeven."
    assert [built.documents[0].text[at:][:3] for at in built.boundaries["a"]] == ["Two", "Fou", "Sev"]


def test_text_that_a_layout_leaves_out_stays():
    text = "Above all. Title Below it."
    document = Document(text, "a", blocks=(Block("heading", Span(11, 16), 1),), offsets=np.arange(27) * 2)
    built = section_boundaries([document])
    assert built.documents[0].text == "Above all. \n\n Below it."
    assert built.boundaries == {"a": (13,)}
    assert built.documents[0].offsets.tolist() == [*range(0, 22, 2), 22, 22, *range(32, 54, 2)]


def test_documents_without_sections_stay_and_one_must_have_some():
    plain, parted = Document("Just text.", "plain"), Document("One.\n\n# Two\n\nThree.", "parted")
    built = section_boundaries([plain, parted])
    assert [document.text for document in built.documents] == ["Just text.", "One.\n\nThree."]
    assert list(built.boundaries) == ["parted"]
    with pytest.raises(ConfigurationError, match="documents must have headings inside their text"):
        section_boundaries([plain, Document("# Only\n\nat the start", "start")])


def test_answers_outside_headings_keep_their_places_and_questions_of_headings_are_dropped():
    text = "# Tea\n\nGreen.\n\n## Hot\n\nBlack and strong.\n\n## Cold\n\nIced."
    documents = [Document(text, "tea"), Document("Beans.", "coffee")]

    def asked(*quotes):
        places = [(d.source, find_quote(own, d.text)) for own in quotes for d in documents if own in d.text]
        return Question(f"{quotes}?", tuple(itertools.starmap(Reference, places)))

    kept = [asked("Green.", "Beans."), asked("and strong"), asked("Black"), asked("Iced.")]
    parts = "Tea", "Green.\n\n## H", "strong.\n\n## Cold\n\nIced", "d\n\nI"
    gone = [asked("Hot", "Green."), *map(asked, parts), Question("Nothing?", (Reference("tea", Span(13, 15)),))]
    loose = [asked("Green.\n\n"), asked("\n\nIced.")]  # white space at the ends may go
    built = section_boundaries(documents, questions=[*kept, *gone, *loose])
    assert [(question.text, answers(built, question)) for question in built.questions] == [
        *((question.text, answers(Dataset(tuple(documents)), question)) for question in kept),
        (loose[0].text, ["Green."]),
        (loose[1].text, ["Iced."]),
    ]
    assert built.dropped == {"in a heading": 6}
    assert section_boundaries(documents, questions=kept).dropped == {}
    with pytest.raises(ConfigurationError, match=r"questions must be about the documents, got \['tee'\]"):
        section_boundaries(documents, questions=[Question("Who?", (Reference("tee", Span(0, 1)),))])


PARTS = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from(["Word.", "- item", "> said", "`code` x", "1. one", "    verbatim", "| a |\n|---|\n| b |"]),
    ),
    min_size=2,
    max_size=12,
)


@given(PARTS, st.sampled_from(["\n", "\n\n", "\n\n\n", "\r\n\r\n"]))
def test_unmatched_blocks_keep_their_order(parts, gap):
    text = "".join(f"{'# Head' if heading else part}{gap if heading else gap + gap}" for heading, part in parts)
    heads = [block.kind == "heading" for block in markdown.blocks(text)]
    inner = any(a and not b for a, b in pairwise(heads[heads.index(False) :])) if False in heads else False
    if not inner:
        with pytest.raises(ConfigurationError, match="documents must have headings"):
            section_boundaries([Document(text, "a")])
        return
    built = section_boundaries([Document(text, "a")])
    (made,) = built.documents
    bodies = [text[slice(*block.span)] for block in markdown.blocks(text) if block.kind != "heading"]
    assert [made.text[slice(*block.span)] for block in made.blocks] == bodies
    assert "Head" not in made.text
    after = [b for a, b in pairwise(markdown.blocks(text)) if a.kind == "heading" != b.kind]
    starts = {block.span.start for block in made.blocks}
    first = markdown.blocks(text)[0].kind == "heading"
    assert len(built.boundaries["a"]) == len(after) - first
    assert starts.issuperset(built.boundaries["a"])
    for at, block in zip(built.boundaries["a"], after[first:], strict=True):
        assert made.text[at:].startswith(text[slice(*block.span)])


def test_a_trial_takes_what_is_built():
    text = "\n\n".join(f"# Title\n\n{paragraph(10 * n, 5)}" for n in range(4))
    sections = section_boundaries([Document(text, "a.md")])
    built = held_out_questions(sections.documents, 6, boundaries=sections.boundaries)
    task = EvaluationTask(built.documents, built.questions, boundaries=built.boundaries)
    assert [built.documents[0].text[at - 2 : at] for at in task.boundaries["a.md"]] == ["\n\n"] * 3
    assert "Title" not in built.documents[0].text


# Files.


@given(data=st.data())
def test_questions_round_trip(data, tmp_path_factory):
    alphabet = st.sampled_from(list('ab \n"\\é天\u2028\ud800'))
    texts = data.draw(st.lists(st.text(alphabet, min_size=1, max_size=12), min_size=1, max_size=3))
    documents = [Document(text, f"{i}.md") for i, text in enumerate(texts)]
    questions = []
    for _ in range(data.draw(st.integers(1, 4))):
        references = []
        for _ in range(data.draw(st.integers(1, 2))):
            document = data.draw(st.sampled_from(documents))
            start = data.draw(st.integers(0, len(document.text) - 1))
            end = data.draw(st.integers(start + 1, len(document.text)))
            references.append(Reference(document.source, Span(start, end)))
        questions.append(Question(data.draw(st.text(alphabet)), tuple(references)))
    path = tmp_path_factory.getbasetemp() / "written.jsonl"
    write_questions(path, questions, documents)
    assert read_questions(path, documents) == questions


def test_an_answer_is_quoted_where_that_is_clear(tmp_path):
    documents = [Document("Über allem. It rains. It rains.", "a.md")]
    spans = [Span(0, 11), Span(12, 21)]
    write_questions(tmp_path / "q", [Question("Wo?", tuple(Reference("a.md", span) for span in spans))], documents)
    assert (tmp_path / "q").read_text("utf-8") == (
        '{"question": "Wo?", "references": [{"document": "a.md", "quote": "Über allem."}, '
        '{"document": "a.md", "start": 12, "end": 21}]}\n'
    )
    assert find_quote("Über allem.", documents[0].text) == spans[0]


@pytest.mark.parametrize(
    ("reference", "rule"),
    [
        (Reference("b.md", Span(0, 1)), "a reference must name an existing document"),
        (Reference("a.md", Span(0, 99)), "a reference must end within its document of 8 characters"),
    ],
)
def test_answers_that_are_nowhere_are_not_written(reference, rule, tmp_path):
    with pytest.raises(ConfigurationError, match=rule):
        write_questions(tmp_path / "q", [Question("Who?", (reference,))], [Document("A text. ", "a.md")])
    assert not (tmp_path / "q").exists()
