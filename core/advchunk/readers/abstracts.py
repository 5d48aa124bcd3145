"""Read biomedical abstracts: normalise their text, find their sections, and read what PubMed hands out.

A document's text is the normalised one, and its ``offsets`` lead back to what was given. Labels stay in the text, and are
its heading blocks.

References
----------
Bio-MCP, "Chunking Strategy", 2025, steps 1 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import decomposition, is_normalized, normalize

import numpy as np

from advchunk.errors import require
from advchunk.readers import xml
from advchunk.records import Block, Document, Ints, Span

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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
        UNSTRUCTURED: "unlabelled",
        OTHER: "funding registration",
    }.items()
    for word in words.split()
}
_BESIDE = frozenset(
    """and the of or study studies trial trials main key major primary secondary principal
    clinical research experimental statistical practice data evidence investigation""".split()  # noqa: SIM905
)

# A label starts a line, or follows a sentence. ":" ends it, a dash between spaces, or the line.
_LABEL = re.compile(
    r"""(?: (?P<line> \A\s*+ | (?<=\S)[^\S\n]*+\n\s*+ ) | (?<=[.!?)\]"”]) [ \t]++ )
        (?P<label> [A-Za-z]++ (?: [ ,/&()-]{1,3} [A-Za-z]++ ){0,9} \)? )
        (?: [ \t]? [:：] | [ \t]+[-–—](?=\s) | [–—](?=[^\W\d_]) | [ \t]*(?=[\r\n]) )""",
    re.VERBOSE,
)
_ENDS = frozenset(".!?:;)]\"'”")  # what the line before ends with

_BREAKING = "br|dd|div|dt|h[1-6]|hr|li|ol|p|pre|section|table|tr|ul|jats:p|jats:sec|jats:title|AbstractText"
_TAG = re.compile(
    rf"""</?(?:(?P<breaking>{_BREAKING})
        | abbr|a|big|b|center|cite|code|del|em|font|img|ins|i|kbd|mark|q|samp|small|span|strike|strong|sub|sup|s|tbody|td
        | tfoot|thead|th|tt|u|var|(?:jats|mml):\w+)
        (?:\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*+\s*/?> | <!--[^<>]*+>""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_POWER = re.compile(r"(?<=\d)<sup>\s*([+−-]?\d+)\s*</sup>", re.IGNORECASE)
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|\w{2,31});", re.IGNORECASE)
_UNSEEN = re.compile("\u00ad(?:[^\\S\n]*\n\\s*)?|[\u200b\ufeff]")
_FOREIGN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_LINE_HYPHEN = re.compile(r"(?<!\w)(?P<left>\w++)(?P<hyphen>-)[^\S\n]*+\n\s*+(?=(?P<right>\w++))")
_HYPHENATED = re.compile(r"(?<!\w)\w++-\w++")
# First halves that keep their hyphen.
_KEEPS = frozenset(
    """all case cost cross double dose follow health high in intention long low meta multi non open placebo population post pre
    quasi self short single three two well""".split()  # noqa: SIM905
)
_SPACE = re.compile(r"\s+")
_PARAGRAPH = re.compile(r"\S(?:.*?\S)??(?=\s*\Z|\s*?\n[^\S\n]*\n)", re.DOTALL)

_PUBMED = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE\s[^>]*>\s*)?<Pubmed(?:Article|BookArticle)(?:Set)?\b")
_MEDLINE = re.compile(r"\s*PMID- ")
_RECORD = re.compile(r"^PMID- ", re.MULTILINE)
_FIELD = re.compile(r"^(?P<tag>[A-Z]{2,4}) *- (?P<value>.*(?:\n {6}.*)*)", re.MULTILINE)
_CATEGORIES = {name.upper(): name for name in ("Background", "Objective", "Methods", "Results", "Conclusions")}
_EXPONENT = re.compile(r"\s*[+−-]?\d+\s*")
_MONTHS = {name: str(i) for i, name in enumerate(re.findall("...", "JanFebMarAprMayJunJulAugSepOctNovDec"), start=1)}

Edit = tuple[int, int, str]


class Derived(NamedTuple):
    """A text, and where each of its characters and its end stand in the original: ``Document.offsets``."""

    text: str
    offsets: Ints

    def edited(self, edits: Iterable[Edit]) -> Derived:
        """Return the text with ranges replaced, ascending and disjoint."""
        texts, places, at = list[str](), list[Ints](), 0
        for start, end, new in edits:
            texts += [self.text[at:start], new]
            kept = self.offsets[start:end] if len(new) == end - start else np.repeat(self.offsets[start], len(new))
            places += [self.offsets[at:start], kept]
            at = end
        if not texts:
            return self
        return Derived("".join([*texts, self.text[at:]]), np.concatenate([*places, self.offsets[at:]]))

    def replaced(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str] | str) -> Derived:
        """Return the text with what a pattern matches replaced."""
        said = (lambda _: new) if isinstance(new, str) else new
        return self.edited((*match.span(), said(match)) for match in pattern.finditer(self.text))

    def part(self, start: int, end: int) -> Derived:
        """Return a piece of it."""
        return Derived(self.text[start:end], self.offsets[start : end + 1])


def plain(text: str) -> Derived:
    """Return a text as it is."""
    return Derived(text, np.arange(len(text) + 1))


def normalised(text: str | Derived) -> Derived:
    r"""Return an abstract without what typesetting put into it.

    HTML is stripped, characters are in NFKC, words divided at the end of a line are joined, white space is one space, or
    one line end before a label, or a blank line. What NFKC would make another number of stays: the exponent of 10⁹, and ½;
    so do ™ and ª.

    >>> normalised("Weight\u2009fell   by 2&nbsp;kg/m<sup>2</sup>\n(p&lt;0.05) in the pla-\ncebo group.").text
    'Weight fell by 2 kg/m2 (p<0.05) in the placebo group.'
    >>> derived = normalised("10<sup>9</sup>/L  of \ufb01brin")
    >>> derived.text, derived.offsets[-6:].tolist()
    ('10⁹/L of fibrin', [21, 22, 23, 24, 25, 26])
    """
    said = plain(text) if isinstance(text, str) else text
    if "<" in said.text:
        said = said.replaced(_POWER, lambda match: match[1].translate(_RAISED))
        said = said.replaced(_TAG, lambda match: "\n" if match["breaking"] else "")
    if "&" in said.text:
        said = said.replaced(_ENTITY, lambda match: unescape(match[0]))
    said = said.replaced(_UNSEEN, "")
    if not is_normalized("NFKC", said.text):
        said = said.edited(_compatible(said.text))
    written = frozenset(_HYPHENATED.findall(said.text.lower())) if "-" in said.text else frozenset()
    hyphens = ((match, _keeps_hyphen(match, written)) for match in _LINE_HYPHEN.finditer(said.text))
    said = said.edited((match.start("hyphen"), match.end(), "-" * kept) for match, kept in hyphens)
    return said.edited(_collapsed(said.text))


def _compatible(text: str) -> Iterator[Edit]:
    """Yield what NFKC changes, piece by piece: the pieces compose with nothing around them."""
    import regex

    for run in _FOREIGN.finditer(text):
        if is_normalized("NFKC", run[0]):
            continue
        pieces = list[str]()
        for cluster in regex.findall(r"\X", run[0]):
            if pieces and _nfkc(pieces[-1] + cluster) != _nfkc(pieces[-1]) + _nfkc(cluster):
                pieces[-1] += cluster
            else:
                pieces.append(cluster)
        at = run.start()
        for piece in pieces:
            if (new := _nfkc(piece)) != piece:
                yield at, at + len(piece), new
            at += len(piece)


def _nfkc(text: str) -> str:
    runs = (("".join(run), kept) for kept, run in groupby(text, _is_number_sign))
    return "".join(run if kept else normalize("NFKC", run) for run, kept in runs)


@cache
def _is_number_sign(character: str) -> bool:
    return decomposition(character).startswith(("<super>", "<sub>", "<fraction>"))


def _keeps_hyphen(match: re.Match[str], written: frozenset[str]) -> bool:
    left, right = match["left"].lower(), match["right"].lower()
    divided = left.isalpha() and len(left) > 1 and match["right"][0].islower() and left not in _KEEPS
    return not divided or f"{left}-{right}" in written


def _collapsed(text: str) -> Iterator[Edit]:
    found = labels(text)
    before = {start for start, _, _ in found}
    behind = {end for _, end, _ in found}
    for match in _SPACE.finditer(text):
        start, end = match.span()
        if start == 0 or end == len(text):
            new = ""
        elif text.count("\n", start, end) > 1:
            new = "\n\n"
        elif "\n" in match[0] and (end in before or (start in behind and text[start - 1].isalpha())):
            new = "\n"
        else:
            new = " "
        if new != match[0]:
            yield start, end, new


@cache
def section_name(label: str) -> str | None:
    """Return the section that a label heads, if it is one: of its words that name sections, what the last one says.

    All its words must be known: the published table, what PubMed's labels have beside it, and words like "main".

    >>> section_name("PATIENTS AND METHODS"), section_name("Main outcome measures"), section_name("Double")
    ('Methods', 'Methods', None)
    """
    words = re.findall("[a-z]+", label.lower())
    names = [_NAMES[word] for word in words if word in _NAMES]
    return names[-1] if names and all(word in _NAMES or word in _BESIDE for word in words) else None


def labels(text: str) -> list[tuple[int, int, str]]:
    """Find the labels of an abstract: where each starts, where it ends with its colon, and the section that it names.

    Within a line, a label is capitalised, follows a sentence, and ends with a colon. At the start of one that follows a
    sentence or a blank line it may be in small letters, or end with a dash, or with the line.

    >>> labels("BACKGROUND: A double-blind trial. Results: None.")
    [(0, 11, 'Background'), (34, 42, 'Results')]
    """
    found = list[tuple[int, int, str]]()
    for match in _LABEL.finditer(text):
        label, line = match["label"], match["line"]
        colon, capital = text[match.end() - 1] in ":：", label[0].isupper()
        if line is None:
            fits = colon and capital
        else:
            above = _ink_before(text, match.start("label"))
            apart = (
                not above or above in _ENDS or line.count("\n") > 1 or (bool(found) and found[-1][1] >= match.start())
            )
            fits = (colon or capital) if apart else (colon and label.isupper())
        if fits and (name := section_name(label)):
            found.append((match.start("label"), match.end(), name))
    return found


def _ink_before(text: str, at: int) -> str:
    """Return the last character before ``at`` that is not white space; "" at the start."""
    while at and text[at - 1].isspace():
        at -= 1
    return text[at - 1 : at]


def blocks(text: str, found: Iterable[tuple[int, int, str]], layout: Iterable[Block] = ()) -> tuple[Block, ...]:
    """Return the layout of an abstract: its labels are headings, and divide the paragraphs of the layout it has.

    Parameters
    ----------
    found : its labels, as `labels` finds them.
    layout : its blocks so far; none for paragraphs between blank lines.
    """
    known = sorted(found)
    made = list[Block]()
    for block in list(layout) or [Block("paragraph", span) for span in _paragraphs(text)]:
        at, end = block.span
        inside = [each for each in known if at <= each[0] and each[1] <= end] if block.kind == "paragraph" else []
        for start, stop, name in inside:
            made += _trimmed(text, block, at, start)
            made.append(Block("heading", Span(start, stop), 1, name))
            at = stop
        made += _trimmed(text, block, at, end) if inside else [block]
    return tuple(made)


def _trimmed(text: str, block: Block, start: int, end: int) -> list[Block]:
    inner = text[start:end].strip()
    start += text[start:end].find(inner)
    return [replace(block, span=Span(start, start + len(inner)))] if inner else []


def _paragraphs(text: str) -> Iterator[Span]:
    return (Span(*match.span()) for match in _PARAGRAPH.finditer(text))


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one abstract: a plain one, with or without labels; a MEDLINE record; or a PubmedArticle in XML.

    The last two give ``title``, ``pmid``, ``parent_uid`` ("pubmed:<pmid>"), ``source``, ``published_at``, ``journal``,
    ``doi`` and ``mesh`` as metadata, and a text that is empty where there is no abstract. Those of a set of them are read
    by `medline` and `pubmed`.

    Parameters
    ----------
    id : names the document; None is the record's uid, if it has one.
    metadata : overrides what the record says.

    Raises
    ------
    ConfigurationError : several records, or XML that cannot be read.

    >>> document = read("Aim: To see.  Results: It was seen.")
    >>> [(block.kind, block.title or document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 'Objective'), ('paragraph', 'To see.'), ('heading', 'Results'), ('paragraph', 'It was seen.')]
    """
    is_xml = _PUBMED.match(text) is not None
    if not is_xml and not _MEDLINE.match(text):
        said = normalised(text)
        return Document(said.text, id, blocks(said.text, labels(said.text)), dict(metadata or {}), said.offsets)
    records = pubmed(text) if is_xml else medline(text)
    require(
        len(records) == 1, "a document must be one abstract; those of a set are read by readers.abstracts", len(records)
    )
    (record,) = records
    return replace(record, id=id or record.id, metadata={**record.metadata, **(metadata or {})})


def structured(
    sections: Iterable[tuple[str, str]], *, id: str = "", metadata: Mapping[str, Any] | None = None
) -> Document:
    r"""Return the document of an abstract whose sections are known: "LABEL: text", one a line.

    Parameters
    ----------
    sections : label and text of each; a label that is not in the table names itself, and "" a text without one.

    >>> structured([("AIM", "To see."), ("Key points", "Seen.")]).text
    'AIM: To see.\nKey points: Seen.'
    """
    return _structured(((label, said, "") for label, said in sections), id, metadata or {})


def _structured(sections: Iterable[tuple[str, str, str]], id: str, metadata: Mapping[str, Any]) -> Document:
    text, found, layout = "", list[tuple[int, int, str]](), list[Block]()
    for given, said, name in sections:
        label, body = normalised(given).text, normalised(said).text
        if not body:
            continue
        text += "\n" if text else ""
        start = len(text)
        if label:
            text += f"{label}: {body}"
            found.append((start, start + len(label) + 1, name or section_name(label) or label))
        else:
            text += body
            found += [(start + a, start + b, within) for a, b, within in labels(body)]
        layout.append(Block("paragraph", Span(start, len(text))))
    return Document(text, id, blocks(text, found, layout), dict(metadata))


def medline(text: str) -> list[Document]:
    r"""Read MEDLINE records, as PubMed exports them ("PubMed format"); offsets lead to their text.

    >>> record, = medline("PMID- 7\nTI  - A trial of\n      tea.\nAB  - AIM: To\n      see.")
    >>> record.id, record.metadata["title"], record.text
    ('pubmed:7', 'A trial of tea.', 'AIM: To see.')
    """
    starts = [match.start() for match in _RECORD.finditer(text)]
    return [_record(plain(text).part(a, b)) for a, b in pairwise([*starts, len(text)])]


def _record(said: Derived) -> Document:
    fields = dict[str, list[tuple[int, int]]]()
    for match in _FIELD.finditer(said.text):
        fields.setdefault(match["tag"], []).append(match.span("value"))

    def every(tag: str) -> list[str]:
        return [normalised(said.text[a:b]).text for a, b in fields.get(tag, ())]

    def first(tag: str) -> str:
        return next(iter(every(tag)), "")

    doi = next((value.removesuffix(" [doi]") for value in every("AID") + every("LID") if value.endswith(" [doi]")), "")
    mesh = [heading.replace("*", "").partition("/")[0] for heading in every("MH")]
    known = _metadata(first("PMID"), first("TI"), _date(first("DP")), first("JT"), doi, mesh)
    abstract = normalised(said.part(*fields["AB"][0])) if "AB" in fields else said.part(0, 0)
    layout = blocks(abstract.text, labels(abstract.text))
    return Document(abstract.text, known.get("parent_uid", ""), layout, known, abstract.offsets)


def pubmed(text: str) -> list[Document]:
    """Read the articles of PubMed's XML, as EFetch returns it. They have no offsets.

    A section's name is the one that NLM gives its label (``NlmCategory``), else the label's own.

    Raises
    ------
    ConfigurationError : XML that cannot be read (see `readers.xml.parse`).
    """
    return [_article(article) for article in xml.parse(text).iter("PubmedArticle")]


def _article(article: Element) -> Document:
    def said(path: str, within: Element = article) -> str:
        found = within.find(path)
        return "" if found is None else normalised(_marked(found)).text

    pmid, abstract = said("MedlineCitation/PMID"), article.find("MedlineCitation/Article/Abstract")
    ids = {each.get("IdType"): each.text or "" for each in article.iterfind("PubmedData/ArticleIdList/ArticleId")}
    mesh = [said("DescriptorName", heading) for heading in article.iterfind(".//MeshHeadingList/MeshHeading")]
    issue = "MedlineCitation/Article/Journal/JournalIssue/PubDate"
    date = " ".join(said(f"{issue}/{part}") for part in ("Year", "Month", "Day")).strip() or said(
        f"{issue}/MedlineDate"
    )
    title, journal = said("MedlineCitation/Article/ArticleTitle"), said("MedlineCitation/Article/Journal/Title")
    known = _metadata(pmid, title, _date(date), journal, ids.get("doi", ""), mesh)
    parts = [] if abstract is None else abstract.findall("AbstractText")
    sections = (
        (part.get("Label", ""), _marked(part), _CATEGORIES.get(part.get("NlmCategory", ""), "")) for part in parts
    )
    return _structured(sections, known.get("parent_uid", ""), known)


def _marked(element: Element) -> str:
    """Return the text of an element with its powers raised: "10<sup>9</sup>" is not 109."""
    said = element.text or ""
    for child in element:
        inner = _marked(child)
        raised = child.tag == "sup" and said[-1:].isdigit() and _EXPONENT.fullmatch(inner)
        said += (inner.translate(_RAISED) if raised else inner) + (child.tail or "")
    return said


def _metadata(pmid: str, title: str, date: str, journal: str, doi: str, mesh: Iterable[str]) -> dict[str, str]:
    known = {
        "title": title,
        "pmid": pmid,
        "parent_uid": f"pubmed:{pmid}" if pmid else "",
        "source": "pubmed",
        "published_at": date,
        "journal": journal,
        "doi": doi,
        "mesh": "; ".join(dict.fromkeys(mesh)),
    }
    return {key: value for key, value in known.items() if value}


def _date(said: str) -> str:
    """Return a date of PubMed's in ISO 8601, as far as it goes.

    >>> _date("2011 Nov 23"), _date("2011 Nov-Dec"), _date("2011"), _date("Spring 2011")
    ('2011-11-23', '2011-11', '2011', '2011')
    """
    if not (year := re.search(r"\b\d{4}\b", said)):
        return ""
    month, day = (*re.findall(r"[^\W\d]{3,}|\d+", said[year.end() :]), "", "")[:2]
    number = _MONTHS.get(month[:3].title(), month)
    if not number.isdigit():
        return year[0]
    return f"{year[0]}-{int(number):02}" + (f"-{int(day):02}" if day.isdigit() else "")
