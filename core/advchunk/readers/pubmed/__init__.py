"""Records of PubMed, and abstracts."""

from advchunk.readers import PROLOGUE
from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="pubmed",
        path="advchunk.readers.pubmed.reader",
        summary="records of PubMed, and abstracts",
        shared_suffixes=(".nbib", ".medline", ".xml"),
        begins=rf"{PROLOGUE}<Pubmed(?:Book)?Article(?:Set)?\b|[\ufeff\s]*PMID- *\d",
    ),
)
