"""Find the labels of an abstract's sections, and say which section each names.

References
----------
Bio-MCP, "Chunking Strategy", 2025, step 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

UNSTRUCTURED, OTHER = "Unstructured", "Other"

# The published table, and what else PubMed's abstracts head their sections with.
_NAMES: Mapping[str, str] = {
    word: name
    for name, words in {
        "Background": "background introduction rationale context importance",
        "Objective": "objective objectives aim aims purpose purposes goal goals object hypothesis hypotheses question questions",
        "Methods": """methods method materials material design setting settings participants interventions measures
            acquisition analyses analysis animals approach case cases cohort criteria description eligibility exposure
            exposures extraction intervention location measure measured measurement measurements methodology patient
            patients population presentation probands procedure procedures protocol report reports sample samples search
            selection source sources strategy subjects variables volunteers""",
        "Results": "results result findings outcomes finding observations outcome synthesis",
        "Conclusions": """conclusions conclusion interpretation implications limitations comment discussion limitation
            message messages perspective perspectives recommendations relevance significance summary""",
        UNSTRUCTURED: "unlabeled",
        OTHER: "funding registration",
    }.items()
    for word in words.split()
}
_BESIDE = frozenset(
    """and the of or study studies trial trials main key major primary secondary principal
    clinical research experimental statistical practice data evidence investigation""".split()  # noqa: SIM905
)

# A label starts a line, or follows a sentence. ":" ends it, a dash before white space, or the line.
_LABEL = re.compile(
    r"""(?: (?P<line> \A\s*+ | (?<=\S)[^\S\n]*+\n\s*+ ) | (?<=[.!?)\]"”]) [ \t]++ )
        (?P<label> [A-Za-z]++ (?: [ ,/&()-]{1,3} [A-Za-z]++ ){0,9} \)? )
        (?: [ \t]? [:：] | [ \t]+[-–—](?=\s) | [-–—](?=[ \t]) | [–—](?=[^\W\d_]) | [ \t]*(?=[\r\n]) )""",
    re.VERBOSE,
)
_ENDS = frozenset(".!?:;)]\"'”")  # what the line before ends with


class Label(NamedTuple):
    """Where a label starts, where it ends with its colon, and the section that it names."""

    start: int
    end: int
    name: str


@lru_cache(maxsize=1024)
def section_name(label: str) -> str | None:
    """Return the section that a label heads, if it is one: of its words that name sections, what the last one says.

    All its words must be known: the published table, what PubMed's labels have beside it, and words like "main".

    >>> section_name("PATIENTS AND METHODS"), section_name("Main outcome measures"), section_name("Double")
    ('Methods', 'Methods', None)
    """
    words = re.findall("[a-z]+", label.lower())
    names = [_NAMES[word] for word in words if word in _NAMES]
    return names[-1] if names and all(word in _NAMES or word in _BESIDE for word in words) else None


def find_labels(text: str) -> list[Label]:
    """Find the labels of an abstract.

    Within a line, a label is capitalized, follows a sentence, and ends with a colon. At the start of one that follows a
    sentence or a blank line it may be in small letters, or end with a dash, or with the line.

    >>> find_labels("BACKGROUND: A double-blind trial. Results: None.")
    [Label(start=0, end=11, name='Background'), Label(start=34, end=42, name='Results')]
    """
    found = list[Label]()
    for match in _LABEL.finditer(text):
        label, line = match["label"], match["line"]
        colon, capital = text[match.end() - 1] in ":：", label[0].isupper()
        if line is None:
            fits = colon and capital
        else:
            above = _ink_before(text, match.start("label"))
            apart = (
                not above or above in _ENDS or line.count("\n") > 1 or (bool(found) and found[-1].end >= match.start())
            )
            fits = (colon or capital) if apart else (colon and label.isupper())
        if fits and (name := section_name(label)):
            found.append(Label(match.start("label"), match.end(), name))
    return found


def _ink_before(text: str, at: int) -> str:
    """Return the last character before ``at`` that is not white space; "" at the start."""
    while at and text[at - 1].isspace():
        at -= 1
    return text[at - 1 : at]
