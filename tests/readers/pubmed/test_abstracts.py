"""The reader of abstracts: normalization with offsets, and sections by labels."""

import textwrap
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk.readers.pubmed import reader as abstracts
from growing import check_growth, repeated


def sections(document):
    """Return each section's name and text."""
    sections = [("", [])]
    for block in document.blocks:
        if block.kind == "heading":
            sections.append((block.title, []))
        else:
            sections[-1][1].append(document.text[slice(*block.span)])
    return [(name, " ".join(texts)) for name, texts in sections if name or texts]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("two   spaces\tand a\nline", "two spaces and a line"),
        ("\u2009thin\u00a0spaces ", "thin spaces"),
        ("ﬁbrin in 5 ㎎", "fibrin in 5 mg"),
        ("<p>HTML <b>goes</b><br/>away<!-- so --></p>", "HTML goes away"),
        ("p<0.05 and n>3 stay", "p<0.05 and n>3 stay"),
        ("a &lt; b &amp; c&nbsp;d &unknown; &#945;", "a < b & c d &unknown; α"),  # noqa: RUF001
        ("hyper-\ntension", "hypertension"),
        ("double-\nblind and 12-\n week GLP-\n1, p-\nvalue", "double-blind and 12-week GLP-1, p-value"),
        ("drug-\nresistant; as drug-resistant", "drug-resistant; as drug-resistant"),
        ("e.g.\nmice", "e.g. mice"),
        ("soft\u00adhyphen, zero\u200bwidth, so\u00ad\n ft", "softhyphen, zerowidth, soft"),
        ("12.4% vs 2.1% (Δ=−10.3 pp; p = 0.03, 1.5 mg/kg)", "12.4% vs 2.1% (Δ=−10.3 pp; p = 0.03, 1.5 mg/kg)"),
        ("10⁹/L, ½ dose, kg/m², 10<sup>-9</sup> M, CO<sub>2</sub>", "10⁹/L, ½ dose, kg/m², 10⁻⁹ M, CO2"),
        ("One.\n\n\nTwo.", "One.\n\nTwo."),
        ("One.\n Results:\n two", "One.\nResults: two"),
        ("<jats:title>Results</jats:title><jats:p>Two.</jats:p>", "Results\n\nTwo."),
        ("<sec><title>Results</title><p><italic>Two</italic>.</p></sec>", "Results\n\nTwo."),
    ],
)
def test_normalized(raw, clean):
    assert abstracts.normalize_abstract(raw).text == clean
    assert abstracts.normalize_abstract(clean).text == clean


@pytest.mark.parametrize("part", ["a", "\n", "<!--", "word-\n", "가ᄀ", "A, ", "Results: ", "²", "x. A "])  # fmt: skip
def test_reading_takes_linear_time(part):
    check_growth(abstracts.read, repeated(part))


def test_offsets_lead_back():
    raw = "Loss of\u2009ﬁbrin was <b>12%</b>\n  in the pla-\ncebo   group"
    aligned = abstracts.normalize_abstract(raw)
    for word, there in (("fibrin", "ﬁbrin"), ("12%", "12%"), ("placebo", "pla-\ncebo"), ("group", "group")):
        start = aligned.text.index(word)
        first, last = aligned.offsets[start], aligned.offsets[start + len(word) - 1]
        assert raw[first : last + 1] == there
    assert aligned.offsets[-1] == len(raw)


characters = (
    st.sampled_from("aB1 .-\n\t<>&;é\u0301ﬁ²½각ᄀ가가\u1100\u1161\u11a8ﾡￂㄱㅏがｶﾞ\u200b\u00ad：Δµ℃\ud800")
    | st.characters()
)


@given(st.text(characters, max_size=60))
@example("Results\n\nx")
def test_offsets_are_valid_for_any_text(text):
    aligned = abstracts.normalize_abstract(text)
    assert len(aligned.offsets) == len(aligned.text) + 1
    assert np.all(np.diff(aligned.offsets) >= 0)
    assert all(0 <= place <= len(text) for place in aligned.offsets.tolist())
    where = zip(aligned.text, aligned.offsets.tolist(), strict=False)
    assert all(
        c == text[at] for c, at in where if c.isascii() and c.isalpha() and text[at].isascii() and text[at] != "&"
    )


@given(st.text(characters.filter(lambda c: c not in "<&\u00ad\u200b\ufeff"), max_size=40))
def test_nfkc_by_pieces_equals_nfkc_of_the_whole(text):
    text = " ".join(text.split()).replace("-", "")
    kept = [c for c in text if unicodedata.decomposition(c).startswith(("<super>", "<sub>", "<fraction>"))]
    if not kept:
        whole = unicodedata.normalize("NFKC", text)
        assert "".join(abstracts.normalize_abstract(text).text.split()) == "".join(whole.split())


@pytest.mark.parametrize(
    ("label", "name"),
    [
        *[(label, "Background") for label in ("background", "Introduction", "RATIONALE", "Context")],
        *[(label, "Objective") for label in ("objective", "objectives", "aim", "Aims", "PURPOSE", "goal", "goals")],
        *[(label, "Methods") for label in ("methods", "method", "materials", "design", "setting", "participants")],
        *[(label, "Methods") for label in ("interventions", "measures", "Patients & methods", "MAIN OUTCOME MEASURES")],
        *[(label, "Results") for label in ("results", "result", "findings", "outcomes", "Methods and Results")],
        *[(label, "Conclusions") for label in ("conclusions", "conclusion", "interpretation", "implications")],
        *[(label, "Conclusions") for label in ("limitations", "Results and discussion")],
        *[(label, None) for label in ("Double", "Study", "In", "ICU LOS", "Main drug", "")],
    ],
)
def test_section_names(label, name):
    assert abstracts.section_name(label) == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Background: a. Methods: b. Results: c. Conclusions: d.", ["Background", "Methods", "Results", "Conclusions"]),
        ("BACKGROUND: a.\nPATIENTS AND METHODS: b.\nRESULTS: c.", ["Background", "Methods", "Results"]),
        ("Objective - a.\nResults — b.\nConclusion—We c.", ["Objective", "Results", "Conclusions"]),
        ("Background\nIt is so.\nResults\nIt was so.", ["Background", "Results"]),
        ("Results： it is so.", ["Results"]),
        ("Results- Seen.\nConclusions - Not.", ["Results", "Conclusions"]),
        ("Results-driven work is rare.", []),
        ("Double-blind trials: a. We saw the following methods: b.", []),
        ("A trial with\nmethods: a and b.", []),
        ("We report\nresults - as they are.", []),
        ("A trial. methods: a.", []),
        ("A trial (n = 3). Methods: a.", ["Methods"]),
        ("A trial.\nmethods: a.", ["Methods"]),
        ("It fell.RESULTS: None. Double-blind.METHODS, too.", ["Results"]),
        ("Case-control study of tea. Results-driven work.", []),
        ("Case–control studies are rare.\nResults–based ones, too.", []),
        ("Results. Tea is good.", []),
        ("aim: to see e.g. cases: two. results: none.", ["Objective", "Methods", "Results"]),
        ("AIM: To see. We report cases: two. methods: a. RESULTS: None.", ["Objective", "Results"]),
        ("Results", []),
        ("", []),
    ],
)
def test_labels(text, names):
    assert [name for _, _, name in abstracts.find_labels(text)] == names
    document = abstracts.read(text)
    assert [block.title for block in document.blocks if block.kind == "heading"] == names


PUBLISHED = """background introduction rationale objective objectives aim aims purpose goal goals methods method materials design
    setting participants interventions measures results result findings outcomes conclusions conclusion interpretation
    implications limitations""".split()  # noqa: SIM905


@given(
    st.lists(st.tuples(st.sampled_from(PUBLISHED), st.sampled_from([str.upper, str.title])), min_size=1, max_size=6),
    st.sampled_from(["\n", " ", "\n\n"]),
    st.sampled_from(
        ["Fell by 1.5 mg/kg (p = 0.03).", "Is 3.2 vs. 4.1 fine?", "Double-blind: so e.g. it (95% CI 1-2)."]
    ),
)
def test_every_labeled_section_is_recovered(drawn, between, body):
    text = between.join(f"{case(label)}: {body}" for label, case in drawn)
    document = abstracts.read(text)
    assert sections(document) == [(abstracts.section_name(label), body) for label, _ in drawn]


ENDS = [": ", ":", " : ", ":\n", "- ", " - ", "-", "–", " – ", "— ", "—", ". "]


@pytest.mark.parametrize("case", [str.upper, str.title, str.capitalize, str.lower])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("between", ["\n", "\n\n", " "])
def test_labels_of_all_forms_are_read_alike(case, end, between):
    labels = ["background", "aim of the study", "patients and methods", "results", "conclusions"]
    bodies = ["A double-blind trial.", "To see (n = 3).", "Two of 10.", "We saw 1.5 mg/kg\nor less.", "Tea works."]
    first = str.lower if case is str.lower else str
    text = between.join(f"{case(label)}{end}{first(body)}" for label, body in zip(labels, bodies, strict=True))
    names = ["Background", "Objective", "Methods", "Results", "Conclusions"]
    expected = [(name, " ".join(first(body).split())) for name, body in zip(names, bodies, strict=True)]
    assert sections(abstracts.read(text)) == expected


@pytest.mark.parametrize("case", [str.upper, str.title, str.lower])
@pytest.mark.parametrize("end", [end for end in ENDS if "\n" not in end])
def test_line_ends_within_labels_change_nothing(case, end):
    labels = ["background and aim of the study", "materials and methods", "results and limitations", "main conclusions"]
    body = "it was two of ten mice (p = .03)." if case is str.lower else "It was two of ten mice (p = .03)."
    text = " ".join(f"{case(label)}{end}{body}" for label in labels)
    whole = sections(abstracts.read(text))
    assert [name for name, _ in whole] == ["Objective", "Methods", "Conclusions", "Conclusions"]
    for width in range(45, 110):
        lines = textwrap.wrap(text, width, break_on_hyphens=False)
        assert sections(abstracts.read("\n      ".join(lines))) == whole


def test_blocks_cover_what_is_not_white_space():
    document = abstracts.read("Lead.\n\nAIM: To see.\n\nMore.\nRESULTS:\nSeen.")
    assert sections(document) == [("", "Lead."), ("Objective", "To see. More."), ("Results", "Seen.")]
    covered = "".join(document.text[slice(*block.span)] for block in document.blocks)
    assert covered.split() == document.text.split() or "".join(covered.split()) == "".join(document.text.split())


def test_structured_sections_keep_labels_of_their_own():
    document = abstracts.from_sections([("KEY POINTS", "One."), ("", "Two. RESULTS: Three."), ("AIM", " ")], id="x")
    assert document.text == "KEY POINTS: One.\nTwo. RESULTS: Three."
    assert sections(document) == [("KEY POINTS", "One. Two."), ("Results", "Three.")]
    assert document.id == "x"
