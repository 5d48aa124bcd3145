"""Find the section labels of an abstract (Bio-MCP, "Chunking Strategy", 2025, step 2)."""

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

UNSTRUCTURED, OTHER = "Unstructured", "Other"

_QUALIFIERS = frozenset(
    """and the of or study studies trial trials main key major primary secondary principal
    clinical research experimental statistical practice data evidence investigation""".split()  # noqa: SIM905
)

# A label starts a line, or follows a sentence. It ends with ":", a dash before white space, or the line.
_LABEL = re.compile(
    r"""(?: (?P<line> \A\s*+ | (?<=\S)[^\S\n]*+\n\s*+ ) | (?<=[.!?)\]"”]) [ \t]++ )
        (?P<label> [A-Za-z]++ (?: [ ,/&()-]{1,3} [A-Za-z]++ ){0,9} \)? )
        (?: [ \t]? [:：] | [ \t]+[-–—](?=\s) | [-–—](?=[ \t]) | [–—](?=[^\W\d_]) | [ \t]*(?=[\r\n]) )""",
    re.VERBOSE,
)
_ENDS = frozenset(".!?:;)]\"'”")  # end of a line that a label may follow


class Label(NamedTuple):
    """The span of a label with its colon, and the section that it names."""

    start: int
    end: int
    name: str


@lru_cache(maxsize=1024)
def section_name(label: str) -> str | None:
    """Return the section of a label's last word that names one; None if the label has any unknown word.

    Known words are those of the published table, of more PubMed labels, and qualifiers such as "main".

    >>> section_name("PATIENTS AND METHODS"), section_name("Main outcome measures"), section_name("Double")
    ('Methods', 'Methods', None)
    """
    words = re.findall("[a-z]+", label.lower())
    names = [_names()[word] for word in words if word in _names()]
    return names[-1] if names and all(word in _names() or word in _QUALIFIERS for word in words) else None


@cache
def _names() -> Mapping[str, str]:  # the section of each word that names one
    table = json.loads(files("advchunk.readers.abstracts").joinpath("labels.json").read_text(encoding="utf-8"))
    return {word: name for name, words in table.items() for word in words}


def find_labels(text: str) -> list[Label]:
    """Find the labels of an abstract.

    A label inside a line is capitalized, follows a sentence, and ends with a colon. At the start of a line that follows a
    sentence or a blank line it may be in lower case, or end with a dash or the line.

    >>> find_labels("BACKGROUND: A double-blind trial. Results: None.")
    [Label(start=0, end=11, name='Background'), Label(start=34, end=42, name='Results')]
    """
    labels = list[Label]()
    for match in _LABEL.finditer(text):
        label, line = match["label"], match["line"]
        has_colon, capitalized = text[match.end() - 1] in ":：", label[0].isupper()
        if line is None:
            fits = has_colon and capitalized
        else:
            before = _last_character(text, match.start("label"))
            after_label = bool(labels) and labels[-1].end >= match.start()
            separate = not before or before in _ENDS or line.count("\n") > 1 or after_label
            fits = (has_colon or capitalized) if separate else (has_colon and label.isupper())
        if fits and (name := section_name(label)):
            labels.append(Label(match.start("label"), match.end(), name))
    return labels


def _last_character(text: str, end: int) -> str:
    """Return the last character before ``end`` that is not white space; "" at the start."""
    while end and text[end - 1].isspace():
        end -= 1
    return text[end - 1 : end]
