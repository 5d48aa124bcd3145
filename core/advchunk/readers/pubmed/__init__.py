"""Records of PubMed, and abstracts."""

from advchunk.readers import PROLOGUE, row

_BEGINS = rf"{PROLOGUE}<Pubmed(?:Book)?Article(?:Set)?\b|[\ufeff\s]*PMID- *\d"
_SUFFIXES = (".nbib", ".medline", ".xml")
REGISTRATIONS = (
    row("pubmed", "pubmed.reader", "records of PubMed, and abstracts", shared_suffixes=_SUFFIXES, begins=_BEGINS),
)
