"""Measure what readers find in documents with structure, beside plain parses of them, and what is chunked of it. See STRUCTURE.md.

python benchmarks/structure.py --data DIR [--only tei jats docling pubmedqa pdf]

DIR holds `tei/*.xml`, `jats/*.nxml`, `docling/*.json`, `pubmedqa/*.json`, and PDFs beside those; what is missing is left
out. Seconds are of the processor, the least of 3. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unicodedata import normalize

import numpy as np
from lxml import etree  # type: ignore[import-untyped]

from advchunk import AutoChunker, Chunk, Document, create
from advchunk.readers import abstracts, formats

T = TypeVar("T")
Json = dict[str, Any]

SUFFIXES = {"tei": "xml", "jats": "nxml", "docling": "json"}
PARSER = etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False, huge_tree=True)
BODY = re.compile(r"(?<=<body>).*(?=</body>)", re.DOTALL)
LARGE = 1_000_000  # bytes of a long paper
ABSTRACTS = 1000
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")  # of Japanese and Chinese each character


def timed(task: Callable[[], T], repeat: int = 3) -> tuple[float, T]:
    """Return the least processor seconds of a task, and what it returns."""
    least = np.inf
    for _ in range(repeat):
        began = time.process_time()
        found = task()
        least = min(least, time.process_time() - began)
    return round(least, 4), found


# Plain parses, which share nothing with the readers.


def tei(text: str) -> list[str]:
    """Return the heads of divisions, each with its number."""
    heads = etree.fromstring(text.encode(), PARSER).iterfind(".//{*}div/{*}head")
    return [_numbered(head.get("n") or "", "".join(head.itertext())) for head in heads]


def jats(text: str) -> list[str]:
    """Return the titles of sections, each with its label."""
    titles = etree.fromstring(text.encode(), PARSER).iterfind(".//sec/title")
    return [_numbered(title.getparent().findtext("label") or "", "".join(title.itertext())) for title in titles]


def docling(text: str) -> list[str]:
    """Return the section headers and titles of the body."""
    return [item["text"] for item in walk(json.loads(text)) if item["label"] in ("section_header", "title")]


def walk(said: Json) -> Iterator[Json]:
    """Yield the items below the body, each once, in their order; of what stands in pictures captions and notes alone."""
    seen, stack = set[str](), [child["$ref"] for child in reversed(said["body"]["children"])]
    while stack:
        ref = stack.pop()
        if ref not in seen:
            seen.add(ref)
            _, key, place = ref.split("/")
            item = said[key][int(place)]
            below = [child["$ref"] for name in ("captions", "footnotes") for child in item.get(name, ())]
            below += [child["$ref"] for child in item["children"] if key != "pictures"]
            stack += reversed(below)
            if item.get("content_layer", "body") == "body":
                yield item


def words_of(path: Path) -> list[str]:
    """Return the words of a paper that was made of a PDF: Docling's, or GROBID's without its header and references."""
    if path.suffix == ".json":
        said = list(walk(json.loads(path.read_text("utf-8"))))
        cells = ([cell["text"] for cell in item.get("data", {}).get("table_cells", ())] for item in said)
        return words(
            " ".join(text for item, row in zip(said, cells, strict=True) for text in [item.get("text", ""), *row])
        )
    root = etree.fromstring(path.read_bytes(), PARSER)
    parts = [*root.iterfind(".//{*}abstract//{*}p"), *root.iterfind(".//{*}body/{*}div/*")]
    return words(" ".join("".join(part.itertext()) for part in parts))


def words(text: str) -> list[str]:
    """Return the words of a text, without punctuation and the rules of tables."""
    return WORD.findall(normalize("NFKC", text))


def _numbered(number: str, title: str) -> str:
    return title if title.startswith(number) else f"{number} {title}"


# What is made of it.


def sections(found: Document, there: Iterable[str]) -> Json:
    """Return how many of the headings that are there were found as headings, or as the title of the document."""
    ours = [found.text[slice(*block.span)] for block in found.blocks or () if block.kind == "heading"]
    had = [_letters(heading) for heading in [str(found.metadata.get("title", "")), *ours]]
    wanted = [letters for heading in there if (letters := _letters(heading))]
    missed, rest = Counter(wanted) - Counter(had), iter(had)
    return {
        "there": len(wanted),
        "found": len(wanted) - missed.total(),
        "in order": all(heading in rest for heading in wanted),
        "ours": len(ours),
        "missed": list(missed),
    }


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


def covered(document: Document) -> float:
    """Return the share of characters, white space apart, that stand in a block."""
    ink = np.array([not character.isspace() for character in document.text], dtype=bool)
    inside = np.zeros(len(ink), dtype=bool)
    for block in document.blocks or ():
        inside[slice(*block.span)] = True
    return round(float(inside[ink].mean()), 4) if ink.any() else 1.0


def figures(document: Document, chunks: Sequence[Chunk]) -> Json:
    """Return what there is of a document and of its chunks."""
    text, sizes = document.text, [chunk.tokens for chunk in chunks]
    exact = all(chunk.text == "".join(text[a:b] for a, b in chunk.spans) for chunk in chunks)
    return {
        "characters": len(text),
        "blocks": len(document.blocks or ()),
        "ink covered": covered(document),
        "chunks": len(chunks),
        "tokens": round(float(np.mean(sizes)), 1) if sizes else 0,
        "oversize": round(float(np.mean(["oversize" in chunk.metadata for chunk in chunks])), 4) if sizes else 0,
        "exact": exact,
    }


def of_text(text: str) -> tuple[Document, Json]:
    """Read a text and chunk it as `AutoChunker` does; return what it is read as, and the figures."""
    chunker = AutoChunker(experimental=True).chunker_for(text)
    reading, document = timed(partial(formats.read, Document(text), "auto"))
    chunking, chunks = timed(partial(chunker.chunk, document))
    seconds = {"bytes": len(text.encode()), "chunker": chunker.algorithm, "read, s": reading, "chunk, s": chunking}
    return document, seconds | figures(document, chunks)


def papers(folder: Path, kind: str) -> Json:
    """Read each file of a kind beside a plain parse of it; a TEI also at a megabyte."""
    plain, found = {"tei": tei, "jats": jats, "docling": docling}[kind], Json()
    for path in sorted(folder.glob(f"*.{SUFFIXES[kind]}")):
        print(path.name, file=sys.stderr)
        text = path.read_text("utf-8")
        document, said = of_text(text)
        found[path.name] = said | {"sections": sections(document, plain(text))}
        if kind == "tei":
            found[f"{path.name}, 1 MB"] = of_text(_long(text))[1]
    return found


def _long(text: str) -> str:
    """Return a paper whose body is there again and again, until it has a megabyte."""
    body = BODY.search(text)
    if body is None:
        return text
    times = 1 + -(-(LARGE - len(text.encode())) // len(body[0].encode()))
    return text[: body.start()] + body[0] * max(times, 1) + text[body.end() :]


def pubmed(folder: Path) -> Json:
    """Read all abstracts, and chunk a thousand."""
    said = [value for path in sorted(folder.glob("*.json")) for value in json.loads(path.read_text("utf-8")).values()]
    if not said:
        return {}
    labeled = [list(zip(each["LABELS"], each["CONTEXTS"], strict=True)) for each in said]
    texts = ["\n".join(f"{label}: {text}" for label, text in each) for each in labeled]
    chunker = create("biomedical-abstract")
    thousand = [
        Document(texts[i % len(texts)], metadata={"title": said[i % len(said)]["QUESTION"]}) for i in range(ABSTRACTS)
    ]
    reading, _ = timed(lambda: [abstracts.read(each.text, metadata=each.metadata) for each in thousand])
    both, _ = timed(partial(chunker.chunk_many, thousand))
    documents = [abstracts.read(text) for text in texts]
    each = [figures(*pair) for pair in zip(documents, chunker.chunk_many(documents), strict=True)]
    parts = [sections(document, [label for label, _ in one]) for document, one in zip(documents, labeled, strict=True)]
    counts = {name: sum(one[name] for one in each) for name in ("characters", "blocks", "chunks")}
    return {
        "abstracts": len(said),
        f"{ABSTRACTS}: read, s": reading,
        f"{ABSTRACTS}: read and chunk, s": both,
        **counts,
        "ink covered": min(one["ink covered"] for one in each),
        "oversize": sum(one["oversize"] * one["chunks"] for one in each) / counts["chunks"],
        "exact": all(one["exact"] for one in each),
        "sections": {name: sum(part[name] for part in parts) for name in ("there", "found", "in order", "ours")},
    }


def pdfs(folders: Iterable[Path]) -> Json:
    """Read each PDF with a detector and without, beside what Docling or GROBID made of it."""
    from advchunk.readers import pdf

    chunker, found = create("layout-aware", experimental=True), Json()
    paths = sorted(path for folder in folders for path in folder.glob("*.pdf"))
    for path in paths[:1]:
        pdf.read(path)  # loads the detector
    for path in paths:
        print(path.name, file=sys.stderr)
        made = [other for other in sorted(path.parent.glob(f"{path.stem}.*")) if other != path]
        for detector in ("rapid", None):
            wall = time.perf_counter()
            cpu, document = timed(partial(pdf.read, path, detector=detector), 1)
            wall = time.perf_counter() - wall
            chunking, chunks = timed(partial(chunker.chunk, document))
            pages = document.metadata["page_count"]
            found[f"{path.name}, {detector or 'lines'}"] = {
                "pages": pages,
                "a page, s": {"cpu": round(cpu / pages, 3), "wall": round(wall / pages, 3)},
                "chunk, s": chunking,
                **figures(document, chunks),
                **(beside(words(document.text), made[0]) if made else {}),
            }
    return found


def beside(ours: Sequence[str], made: Path) -> Json:
    """Return how alike the words are to those of another program, in their order."""
    theirs = words_of(made)
    order = SequenceMatcher(None, ours, theirs, autojunk=False)
    shared = sum(block.size for block in order.get_matching_blocks())
    return {
        "beside": made.name,
        "words": len(ours),
        "theirs": len(theirs),
        "ratio": round(order.ratio(), 4),
        "of theirs": round(shared / max(len(theirs), 1), 4),
    }


def main() -> None:
    """Print every figure of STRUCTURE.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--only", nargs="+", choices=[*SUFFIXES, "pubmedqa", "pdf"], default=[*SUFFIXES, "pubmedqa", "pdf"]
    )
    given = parser.parse_args()
    create("optimal-semantic").chunk("Tea is green. So it is.")  # loads the embedder
    found = Json()
    for name in given.only:
        if name == "pdf":
            found[name] = pdfs(given.data / kind for kind in SUFFIXES)
        else:
            found[name] = pubmed(given.data / name) if name == "pubmedqa" else papers(given.data / name, name)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
