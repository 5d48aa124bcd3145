# ruff: noqa: RUF001 - this tests the punctuation of many scripts
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk.text import sentences as splitting
from advchunk.text.sentences import brackets, plain_sentences, sentences, stops
from advchunk.text.sentences.stops import STOP, find_stops

MARKS = list(".!?…\"'()[]“”«»。！「」 \n\tAaIi1é中い:;-,*|<>\x00\ud800")
TEXTS = st.lists(
    st.sampled_from(
        [*MARKS, "One. ", "Dr. ", "e.g. ", "No. ", "fig. ", "\r\n", "\n\n", "1. ", '"No." ', ". (Smith, 2010) ", " [1]"]
    ),
    max_size=30,
).map("".join)
TOWN = (Path(__file__).parents[1] / "data/harbour_town.md").read_text("utf-8")

# "|" marks the ends of sentences; there are no others.
SENTENCES = [
    ("en", "Give 1.5 mg/kg daily. |It was p = 0.03 here. |Ok."),
    ("en", "It grew, as in Smith et al. [42]. |The rest did not."),
    ("en", "See Fig. S1, Ch. 4, Vol. 2 and Tab. 2. |Done."),
    ("en", "Sample no. 12 and No. 5 failed. |Ok."),
    ("en", "See https://a.b/c?d=1&e=2. |Mail x.y@z.com now. |Use v1.2.3 or os.Path. |End."),
    ("en", "To be continued... |The next day he came."),
    ("en", "Well… maybe. |He left… |Then he came."),
    ("en", "The first had p < 0.05. |The second had n > 30. |End."),
    ("en", "iv. Fourth item. |v. Fifth item in part iv. |Yes."),
    ("en", "Hard-wrapped\ntext goes on. |Next\nline."),
    ("en", "No stop\n\n|blank line\r\n \r\n|again\n\t\n\n|end"),
    ("en", "One.\n|  Two. |Three.\n\n|    Four."),
    ("en", "  Lead. |Two.\r\n|Three.  "),
    ("zh", "我们走吧。|他说：“好。”|然后呢？|是的！|「好！」|『好。』|他走了。"),
    ("de-AT", "Das ist z. B. gut. |Am 3. Oktober war es."),
    ("hr", "Dana 12. svibnja 2020. godine, npr. u Zagrebu. |Npr. Split. |Kraj."),
    ("no-such-code", "Dr. Smith left. |He ran."),
    ("en", "i went home. |it was late. |the dog barked."),
    ("en", "I WENT HOME. |IT WAS LATE. |THE DOG BARKED."),
    ("en", "OR (95% CI) 1.2 (n = 12) (p = .1). |It rose. |OR (95% CI) 1.3."),
    ("en", "it was p = .03 here. |it fell to p < .05. |so what?"),
    ("en", "We saw Fig. 3 and Figs. S1, 2 (Eq. 4). |See Tab. IV. |Ok."),
    ("en", "see fig. 3 and fig. s1. |then go."),
    ("en", "He said no. |Then he left at 9 a.m. on Monday. |He came at 5 p.m. |The end."),
    ("en", "Smith et al. reported it. |Smith et al. (2021) and Lee et al. [4] agree."),
    ("en", "It was shown [12]. |It was shown.[12] |It was shown. [3, 4] |Next."),
    ("en", "It was shown (Smith, 2010). |It was shown. (Smith, 2010) |It was not (see Lee and Wu, 2011). |Next."),
    ("en", "It dies.12,13 |However, it lives."),
    ("en", "Use os.Path or Node.js, not System.Out. |Right."),
    ("en", "Well... maybe. |So... |OK. |He left . . . |Then . . . nothing."),
    ("en", "“Really?” he asked. |He said “No.” |“Why?” |‘Because.’ |Then he left."),
    ("en", 'He said "It rained. It snowed." and left. |It was over.'),
    ("en", 'A pipe of 5" broke. |A pipe of 6" held.'),
    ("en", "He left (it rained. He hated it) and came. |(It rained. He hated it.) |Then he left."),
    ("en", "He left (it rained (a lot. Really) and so on) early. |Then he came."),
    ("en", "He (it is said. |Then he left. |He came."),
    ("en", "J. R. Smith met W.H.S. Koerner in the U.S. |The rest left U.S. Congress to I. Newton."),
    ("en", "Dr. Who met Prof. No, Gen. Lee and St. Louis Inc. of Ohio vs. Mr. So. |Fine."),
    ("en", "He lives on Main St. |He works for Acme Inc. |The firm is in Washington, D.C. |It is big."),
    ("en", "Do this: 1. Wash. |12. Dry. |3. Leave. |a. First. |b. Second."),
    ("en", "home is far.|It was late.|The dog barked. |Ok."),
    ("en", 'He left.|"It rained," she said.|Nobody came.|Why?|It was late .|They slept.[2]|The end.'),
    ("en", "It is 3.14 or 1,000.5 or .5 mg. |12.5% of 10 km/h. |It rose to 15. |Then 20."),
    ("en", "E. coli and S. aureus grew. |So did P. vivax. |i.v. and i.p. doses. |Ok."),
    ("en", "Great!!! |really?! |yes. :-) |ok. |Thanks! :) |See you. 😀 |Bye."),
    ("en", "He has apples, pears, etc. |He ate (apples, etc.) and left."),
    ("en", "On Jan. 5 and Sept. 11, Mon. 3. |In March. |He sat. |The sun. |It set."),
    ("en", "mTOR rose. |mRNA fell. |iPhones sold. |Vitamin C. |The next one."),
    ("en", "Subject: the plan\n|From: Ann\n\n|- one thing\n|- two things\n|  1. three"),
    ("de", "Am 3. Oktober, im 19. Jahrhundert, z. B. am 12.3. |Das ist d.h. gut. |Es war 1990. |Er kam bzw. ging."),
    ("de", "das war am 3. oktober. |er ging. |es regnete."),
    ("de", "Die Voraussetzungen des Abs. 1 liegen vor. |Nach Ziff. 2 und Rn. 3 gilt er."),
    ("pl", "Według art. 5 ust. 2 pkt. 1 ustawy z dn. 5 maja itd. należy zapłacić. |Koniec."),
    ("cs", "Podle čl. 5 odst. 2 písm. 3 je smlouva neplatná. |Viz str. 3."),
    ("it", "Secondo l'art. 5 e dell’art. 6 del d.lgs. n. 196/2003 ha torto. |Si veda oltre."),
    ("en", "The court agreed. |Id. at 495. |See para. 7 and sec. 4."),
    ("de", "„Nein.“ |Er ging. |»Ja?«, sagte er. |»Gut.« |Er kam zu Dr. Sieben. |Platz 3. |Das war gut."),
    ("de", "Er sagte ``Nein. Nie.'' und ging. |Sie ging auch."),
    ("fr", "M. Dupont est là. |« Non. Jamais. » |Il part. |Voir p. 5 et art. 3. |Fin."),
    ("es", "¿Qué? |Sí. |¡Hola! |El Sr. Pérez vino. |La Sra. Ruiz, pág. 3."),
    ("sv", "Han kom kl. 8, bl.a. med Eva. |Det var bra. |Den 3 maj gick han."),
    ("cs", "Přišel 3. května, např. v Praze. |To je on."),
    ("el", "Πού πήγε; |Έφυγε. |Βλ. σελ. 5 εδώ."),
    ("ru", "Он родился в 1990 г. в Москве. |Он ушёл. |См. рис. 3 и т.д. |Она пришла."),
    ("ja", "彼は「はい。そう。」と言った。|美味!|組内（はい。そう。）です。|そうか?|はい。"),
    ("hi", "वह घर गया। |बारिश हुई॥ |क्या? |हाँ।"),
    ("ar", "ذهب إلى البيت. |هل جاء؟ |نعم! |لا."),
    ("ur", "وہ گیا۔ |کیا؟ |ہاں۔"),
    ("hy", "Նա գնաց։ |Եկավ։"),
    ("am", "ሄደ። |መጣ።"),
    ("my", "သူသွားတယ်။ |လာတယ်။"),
]


@pytest.mark.parametrize(("language", "marked"), SENTENCES)
def test_sentences_end_where_expected(language, marked):
    expected = marked.split("|")
    assert sentences("".join(expected), language).strings() == expected


PLAIN = [
    "Dr. |Smith left.", "The U.S.A. |is big.", "Use e.g. |this.", 'He said "No." Then he left.', "好。|走吧。", "「好。」|走吧。",
    "他说3.5元。|走吧。", "यह है। |वह है।", "A!  |B?\n|C",
]  # fmt: skip


@pytest.mark.parametrize("marked", PLAIN)
def test_plain_sentences_fail_like_universal_chunking(marked):
    expected = marked.split("|")
    assert plain_sentences("".join(expected)).strings() == expected


def test_a_stray_quote_or_bracket_has_only_a_local_effect():
    assert len(sentences('A 5" pipe broke. ' + "It was mended soon. " * 100 + 'A 6" pipe held.')) > 100
    assert len(sentences("He (it is said. " + "It was mended soon. " * 100 + "Then) he left.")) > 100
    assert sentences("He left (in May. Then (later) he came back.").strings() == [
        "He left (in May. ",
        "Then (later) he came back.",
    ]


# What does not change the sentences of a text.


def ordinals(text, language="en"):
    """Return the number of letters and digits before each end, which rewriting white space and marks does not
    change."""
    return {sum(map(str.isalnum, text[:edge])) for edge in sentences(text, language).edges[1:].tolist()}


REWRITINGS = {
    "lower case": str.lower,
    "upper case": str.upper,
    "doubled spaces": lambda text: re.sub(r"(?<=\S) (?=\S)", "  ", text),
    "no-break spaces": lambda text: re.sub(r"(?<=\S) (?=\S)", "\u00a0", text),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "hard wrap": lambda text: re.sub(r"(?<=\w) (?=the )", "\n", text),
    "no space after stops": lambda text: re.sub(r"(?<=[a-z]{3}\.) (?=[A-Z][a-z]+ )", "", text),
    "curly quotes": lambda text: re.sub(r'"(?=\w)', "“", text).replace('"', "”").replace("'", "’"),
    "citations": lambda text: re.sub(r"(?<=[a-z]{3})\.(?= [A-Z])", " [].", text),
    "references": lambda text: re.sub(r"(?<=[a-z]{3})\.(?= [A-Z])", "\\g<0> […]", text),
}


@pytest.mark.parametrize("rewriting", REWRITINGS)
def test_rewriting_a_text_keeps_its_sentences(rewriting):
    expected, ends = ordinals(TOWN), ordinals(REWRITINGS[rewriting](TOWN))
    assert len(expected) > 100
    assert len(expected & ends) / len(expected | ends) > 0.97


@pytest.mark.parametrize("case", [str.lower, str.upper])
@pytest.mark.parametrize(
    "first", ['They said "we left."', "(They left.)", "They left (by ship.)", "“We left.”", "Was it Yahoo!"]
)
def test_letter_case_says_nothing_in_a_text_of_one_case(first, case):
    assert sentences(case(f"{first} It rained.")).strings() == [case(f"{first} "), case("It rained.")]


@given(TEXTS)
@example(".A")
def test_sentences_depend_on_their_paragraph_only(text):
    text = text.strip().replace("\n\n", "\n")
    alone = sentences(text).edges.tolist()
    among = sentences(f"Zz. (A\n\n{text}\n\nNext one.").edges.tolist()
    assert not text or {edge + 8 for edge in alone[1:-1]} <= set(among)
    assert not text or len(among) == len(alone) + 3


@given(st.lists(st.sampled_from(["It rained. ", "Why? ", "He saw Dr. Lee. ", "It was 3.5. "]), min_size=1, max_size=8))
@pytest.mark.parametrize("pair", ['""', "“”", "()", "«»", "（）", "「」"])
def test_nothing_is_split_between_brackets_and_quotes(pair, inner):
    for before, after in (("He said ", " and left."), ("It was late. ", " It was over.")):
        text = f"{before}{pair[0]}{''.join(inner).strip()}{pair[1]}{after}"
        edges = sentences(text).edges.tolist()
        assert not any(len(before) < edge < len(text) - len(after) for edge in edges)
    assert len(sentences("".join(inner))) == len(inner)


def test_text_without_stops_is_divided_before_words_that_open_spoken_sentences():
    speech = (
        "we walked along the harbor and the boats were all coming in it was late because nobody had seen them " * 40
    )
    units = sentences(speech.strip()).strings()
    assert max(map(len, units)) <= 600
    assert min(map(len, units)) >= 100
    assert all(unit.startswith(("we ", "and ", "it ", "because ", "nobody ")) for unit in units)
    assert all(unit.split()[0] in {"we", "and", "it", "because"} for unit in units)


@given(TEXTS, st.sampled_from(["en", "de", "fr", "sv", "ja", "el"]))
@example("FPKM. *p", "en")
@example("Seen. ² Yes.", "en")
def test_plain_stops_are_decided_as_by_the_rules(text, language):
    quickly = sentences(text, language).edges.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "PLAIN_STOP", re.compile("(?!)"))
        assert quickly == sentences(text, language).edges.tolist()


@given(TEXTS, st.integers(1, 40))
def test_stops_are_found_alike_in_short_and_long_texts(text, times):
    searched = [match.start() for match in re.finditer(stops._ANY, text * times)]
    assert find_stops(text * times) == searched
    assert {match.start() for match in STOP.finditer(text * times)} <= {*searched}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stops, "_PIECE", 7)
        patch.setattr(stops, "_SHORT", 0)
        assert find_stops(text * times) == searched


def is_enclosed_slowly(text: str, first: int, at: int, end: int) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brackets, "_may_be_open", lambda *_: True)
        return brackets.is_enclosed(text, "(", first, at, end)


@given(st.text('()"“”„«» ａa.「」（）`', max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_marks_that_are_closed_enclose_nothing(text, first, at):
    first, at = sorted((min(first, len(text)), min(at, len(text))))
    enclosed = brackets.is_enclosed(text, brackets.opening_marks(text, 0, len(text)), first, at, len(text))
    assert enclosed == is_enclosed_slowly(text, first, at, len(text))


@given(TEXTS, TEXTS, TEXTS)
@example("", "", ". .No. I")
def test_a_new_paragraph_does_not_change_others(before, new, after):
    before, new, after = ("A" + part.strip() + "z" for part in (before, new, after))
    apart = [unit for part in (before, new, after) for unit in sentences(f"{part}\n\n", "en").strings()]
    assert sentences("\n\n".join([before, new, after, ""]), "en").strings() == apart  # "auto" reads all of them


def test_a_long_paragraph_is_split_as_its_parts_are():
    sentence = "The quick brown fox of Dr. Smith et al. jumps over 1.5 lazy dogs at 5 p.m. on a Monday. "
    text = sentence * (118_000 // len(sentence))
    assert set(sentences(text).strings()) == {sentence}
