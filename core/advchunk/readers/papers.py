"""What the sections of a scientific paper are called, and which of Introduction, Methods, Results and Discussion each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

IMRAD = ("Introduction", "Methods", "Results", "Discussion")

Rank: TypeAlias = Literal["section", "part", "matter", ""]

# What heads a section of a paper.
_SECTIONS: Mapping[tuple[str, ...], str] = {
    (
        "Introduction",
    ): """introduction; background; backgrounds; related work; related works; related research; literature
        review; review of literature; review of the literature; prior work; previous work; state of the art; motivation;
        theoretical background; theoretical framework; preliminaries""",
    ("Methods",): """methods; method; methodology; methodologies; materials; material; subjects; patients; experimental
        section; experimental procedures; experimental procedure; online methods; star methods; research design""",
    ("Results",): "results; result; findings",
    ("Methods", "Results"): "experiments; experiment; evaluation; evaluations; simulations; case study; case studies",
    (
        "Discussion",
    ): """discussion; discussions; general discussion; conclusion; conclusions; concluding remarks; summary;
        closing remarks; final remarks""",
}
# What heads a part of one; or a section, where there is no other for it to stand in.
_PARTS: Mapping[tuple[str, ...], str] = {
    (
        "Introduction",
    ): """aim; aims; objective; objectives; purpose; hypothesis; hypotheses; rationale; problem statement;
        problem definition; problem formulation; research questions; research question; notation; contributions""",
    (
        "Methods",
    ): """experimental; approach; model; models; architecture; model architecture; network architecture; framework;
        system; system overview; system architecture; algorithm; algorithms; implementation; implementation details; setup;
        set-up; experimental setup; experimental set-up; experiment setup; experimental setting; experimental settings;
        experimental design; experimental protocol; experimental details; training; training details; settings; setting; data;
        dataset; datasets; data set; data sets; corpus; corpora; data collection; data source; data sources; data extraction;
        data preprocessing; preprocessing; participants; animals; cell culture; sample; samples; sampling; sample preparation;
        sample size; study design; study area; study site; study sites; study population; study setting; design; procedure;
        procedures; protocol; protocols; measures; measurements; instruments; instrumentation; apparatus; stimuli; reagents;
        intervention; interventions; baselines; baseline methods; metrics; evaluation metrics; search strategy; eligibility;
        eligibility criteria; inclusion criteria; selection criteria; outcome measures; data analysis; data analyses;
        statistics; statistical analysis; statistical analyses; statistical methods; numerical methods""",
    ("Results",): """experimental results; empirical results; evaluation results; simulation results; numerical results;
        outcomes; results overview; ablation; ablations; ablation study; ablation studies""",
    (
        "Methods",
        "Results",
    ): "analysis; analyses; error analysis; qualitative analysis; sensitivity analysis; user study",
    (
        "Discussion",
    ): """limitation; limitations; strengths; weaknesses; future work; future works; future research; future
        directions; future perspectives; perspectives; outlook; implications; practical implications; clinical implications;
        recommendations; interpretation; threats to validity; lessons learned""",
}
# What belongs to no part of the argument.
_MATTER = """abstract; keywords; references; bibliography; literature cited; works cited; acknowledgement; acknowledgements;
    acknowledgment; acknowledgments; annex; annexes; appendix; appendices; supplement; supplementary material; supplementary
    materials; supplementary information; supplementary data; supporting information; additional file; additional files;
    additional information; funding; funding information; financial support; competing interests; competing interest;
    competing financial interests; conflict of interest; conflicts of interest; conflict of interests; disclosure; disclosures;
    declaration; declarations; declaration of interest; declaration of interests; declaration of competing interest; ethics;
    ethics statement; ethics approval; ethical approval; consent for publication; informed consent; authors' contributions;
    author contributions; author contribution; authors contributions; credit authorship contribution statement; contributors;
    author information; data availability; data availability statement; availability; availability of data; availability of data
    and materials; data and code availability; code availability; abbreviations; list of abbreviations; glossary; nomenclature;
    notes; footnotes; endnotes; publisher's note; open access; figures; tables; figures and tables; figure legends"""

_BESIDE = frozenset("a an the our main key major general overall further additional possible potential proposed study present primary secondary".split())  # noqa: SIM905  # fmt: skip
_NUMBER = re.compile(  # "E. coli" has none
    r"""(?:(?i:section|chapter)\s+)?
        (?P<number> \d{1,2}(?:\.\d{1,2})* | [IVX]{1,5}(?=\.) | [A-Z](?:\.\d{1,2})+ | [A-Z](?=\.\s+[^a-z]) ) [.):]? \s+""",
    re.VERBOSE,
)
_ANNEX = re.compile(r"(?:appendix|annex|supplementary|additional file)\b")
_SPLIT = re.compile(r"\s*(?:[,;/&+]|\band\b)\s*")
_GOES_ON = re.compile(r"\s*(?:[:–—]|\b(?:of|on|for|in|with|to|from|by|at|under|across|about)\b).*", re.DOTALL)


def _table() -> Iterator[tuple[str, tuple[Rank, tuple[str, ...]]]]:
    ranks: tuple[tuple[Rank, Mapping[tuple[str, ...], str]], ...] = (
        ("section", _SECTIONS),
        ("part", _PARTS),
        ("matter", {(): _MATTER}),
    )
    for rank, rows in ranks:
        for names, heads in rows.items():
            for head in heads.split(";"):
                yield " ".join(head.split()), (rank, names)


_KNOWN: Mapping[str, tuple[Rank, tuple[str, ...]]] = dict(_table())


class SectionHeading(NamedTuple):
    """What the head of a section says.

    Parameters
    ----------
    number : such as "2.1" or "IV", as it is printed; "" for none.
    title : the head without it.
    names : of `IMRAD`, in that order; () where the head says nothing of the kind.
    rank : "section" or "part" of one; "matter" before and after the argument, such as references; "" for any other.
    """

    number: str
    title: str
    names: tuple[str, ...]
    rank: Rank

    @property
    def depth(self) -> int:
        """How many parts the number has; 0 without one.

        >>> parse_heading("2.1 Participants").depth, head("Appendix").depth
        (2, 0)
        """
        return len(self.number.split(".")) if self.number else 0


@lru_cache(maxsize=4096)
def parse_heading(text: str) -> SectionHeading:
    """Read the head of a section.

    A name is known whole, or each of the names that "and" or a comma joins, perhaps with a word like "proposed" before it
    and what goes on after "of" or a colon behind it.

    >>> parse_heading("2.1. Materials & Methods")
    Head(number='2.1', title='Materials & Methods', names=('Methods',), rank='section')
    >>> parse_heading("Results and Discussion").names, head("Background: graphs").names, head("Deep sea vents").names
    (('Results', 'Discussion'), ('Introduction',), ())
    """
    said = " ".join(text.split())
    match = _NUMBER.match(said)
    title = said[match.end() :] if match else said
    flat = title.casefold().replace("’", "'").strip(" .:")
    parts = [_known(flat)]
    if parts[0] is None and not _GOES_ON.match(flat):
        parts = [_known(part) for part in _SPLIT.split(flat) if part]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return SectionHeading(match["number"] if match else "", title, (), "")
    names = {name for _, of in known for name in of}
    ranks = {rank for rank, _ in known}
    rank: Rank = "section" if "section" in ranks else "part" if "part" in ranks else "matter"
    return SectionHeading(match["number"] if match else "", title, tuple(name for name in IMRAD if name in names), rank)


def _known(part: str) -> tuple[Rank, tuple[str, ...]] | None:
    if _ANNEX.match(part):
        return "matter", ()
    for phrase in (part, _GOES_ON.sub("", part)):
        words = phrase.split()
        while words:
            if (found := _KNOWN.get(" ".join(words))) is not None:
                return found
            if words[0] not in _BESIDE:
                break
            words = words[1:]
    return None
