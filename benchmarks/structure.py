"""Compare the readers of structured documents with independent parsers, and measure the chunks. See STRUCTURE.md.

python benchmarks/structure.py --data DIR [--only tei jats docling pubmedqa pdf]

DIR holds `tei/*.xml`, `jats/*.nxml`, `docling/*.json`, `pubmedqa/*.json`, and PDFs next to those; missing files are
skipped. Times are processor seconds, the minimum of 3 runs. Prints JSON.
"""

from __future__ import annotations

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
from runner import argument_parser

from advchunk import AutoChunker, Chunk, Document, create
from advchunk.readers import formats
from advchunk.readers.pubmed import reader as abstracts

T = TypeVar("T")
Json = dict[str, Any]

SUFFIXES = {"tei": "xml", "jats": "nxml", "docling": "json"}
PARSER = etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False, huge_tree=True)
BODY = re.compile(r"(?<=<body>).*(?=</body>)", re.DOTALL)
LARGE = 1_000_000  # bytes of a long paper
ABSTRACTS = 1000
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")  # each character of Japanese and Chinese is a word


def time_task(task: Callable[[], T], repeat: int = 3) -> tuple[float, T]:
    """Return the shortest processor time of a task, and its result."""
    least = np.inf
    for _ in range(repeat):
        start = time.process_time()
        result = task()
        least = min(least, time.process_time() - start)
    return round(least, 4), result


# Independent parsers, which share no code with the readers.


def tei_headings(text: str) -> list[str]:
    """Return the headings of divisions with their numbers."""
    heads = etree.fromstring(text.encode(), PARSER).iterfind(".//{*}div/{*}head")
    return [_numbered(head.get("n") or "", "".join(head.itertext())) for head in heads]


def jats_headings(text: str) -> list[str]:
    """Return the titles of sections with their labels."""
    titles = etree.fromstring(text.encode(), PARSER).iterfind(".//sec/title")
    return [_numbered(title.getparent().findtext("label") or "", "".join(title.itertext())) for title in titles]


def docling_headings(text: str) -> list[str]:
    """Return the section headers and titles of the body."""
    return [item["text"] for item in walk(json.loads(text)) if item["label"] in ("section_header", "title")]


def walk(tree: Json) -> Iterator[Json]:
    """Yield each item of the body once, in order; of the contents of pictures only captions and footnotes."""
    seen, stack = set[str](), [child["$ref"] for child in reversed(tree["body"]["children"])]
    while stack:
        ref = stack.pop()
        if ref not in seen:
            seen.add(ref)
            _, key, place = ref.split("/")
            item = tree[key][int(place)]
            below = [child["$ref"] for name in ("captions", "footnotes") for child in item.get(name, ())]
            below += [child["$ref"] for child in item["children"] if key != "pictures"]
            stack += reversed(below)
            if item.get("content_layer", "body") == "body":
                yield item


def words_of(path: Path) -> list[str]:
    """Return the words that Docling or GROBID extracted from a PDF; GROBID's without header and references."""
    if path.suffix == ".json":
        items = list(walk(json.loads(path.read_text("utf-8"))))
        cells = ([cell["text"] for cell in item.get("data", {}).get("table_cells", ())] for item in items)
        return words(
            " ".join(text for item, row in zip(items, cells, strict=True) for text in [item.get("text", ""), *row])
        )
    root = etree.fromstring(path.read_bytes(), PARSER)
    parts = [*root.iterfind(".//{*}abstract//{*}p"), *root.iterfind(".//{*}body/{*}div/*")]
    return words(" ".join("".join(part.itertext()) for part in parts))


def words(text: str) -> list[str]:
    """Return the words of a text, without punctuation and table rules."""
    return WORD.findall(normalize("NFKC", text))


def _numbered(number: str, title: str) -> str:
    return title if title.startswith(number) else f"{number} {title}"


# Measurements.


def sections(document: Document, headings: Iterable[str]) -> Json:
    """Return how many of the expected headings the reader found, as headings or as the document's title."""
    ours = [document.text[slice(*block.span)] for block in document.blocks or () if block.kind == "heading"]
    actual = [_letters(heading) for heading in [str(document.metadata.get("title", "")), *ours]]
    expected = [letters for heading in headings if (letters := _letters(heading))]
    missed, rest = Counter(expected) - Counter(actual), iter(actual)
    return {
        "expected": len(expected),
        "found": len(expected) - missed.total(),
        "in order": all(heading in rest for heading in expected),
        "headings": len(ours),
        "missed": list(missed),
    }


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


def coverage(document: Document) -> float:
    """Return the share of non-space characters that are in a block."""
    ink = np.array([not character.isspace() for character in document.text], dtype=bool)
    inside = np.zeros(len(ink), dtype=bool)
    for block in document.blocks or ():
        inside[slice(*block.span)] = True
    return round(float(inside[ink].mean()), 4) if ink.any() else 1.0


def figures(document: Document, chunks: Sequence[Chunk]) -> Json:
    """Return the figures of a document and its chunks."""
    text, sizes = document.text, [chunk.tokens for chunk in chunks]
    exact = all(chunk.text == "".join(text[a:b] for a, b in chunk.spans) for chunk in chunks)
    return {
        "characters": len(text),
        "blocks": len(document.blocks or ()),
        "text covered": coverage(document),
        "chunks": len(chunks),
        "tokens": round(float(np.mean(sizes)), 1) if sizes else 0,
        "oversize": round(float(np.mean(["oversize" in chunk.metadata for chunk in chunks])), 4) if sizes else 0,
        "exact": exact,
    }


def measure_text(text: str) -> tuple[Document, Json]:
    """Read a text and chunk it as `AutoChunker` does; return the document and the figures."""
    chunker = AutoChunker(experimental=True).chunker_for(text)
    reading, document = time_task(partial(formats.read, Document(text), "auto"))
    chunking, chunks = time_task(partial(chunker.chunk, document))
    seconds = {"bytes": len(text.encode()), "chunker": chunker.algorithm, "read, s": reading, "chunk, s": chunking}
    return document, seconds | figures(document, chunks)


def measure_papers(folder: Path, kind: str) -> Json:
    """Compare the reader with an independent parser on each file of a kind; also measure a megabyte of each TEI
    file.
    """
    plain, results = {"tei": tei_headings, "jats": jats_headings, "docling": docling_headings}[kind], Json()
    for path in sorted(folder.glob(f"*.{SUFFIXES[kind]}")):
        print(path.name, file=sys.stderr)
        text = path.read_text("utf-8")
        document, row = measure_text(text)
        results[path.name] = row | {"sections": sections(document, plain(text))}
        if kind == "tei":
            results[f"{path.name}, 1 MB"] = measure_text(_repeat_body(text))[1]
    return results


def _repeat_body(text: str) -> str:
    """Return a paper with its body repeated until it has a megabyte."""
    body = BODY.search(text)
    if body is None:
        return text
    times = 1 + -(-(LARGE - len(text.encode())) // len(body[0].encode()))
    return text[: body.start()] + body[0] * max(times, 1) + text[body.end() :]


def measure_pubmed(folder: Path) -> Json:
    """Measure the reading of all abstracts, and the chunking of a thousand."""
    records = [
        value for path in sorted(folder.glob("*.json")) for value in json.loads(path.read_text("utf-8")).values()
    ]
    if not records:
        return {}
    labeled = [list(zip(record["LABELS"], record["CONTEXTS"], strict=True)) for record in records]
    texts = ["\n".join(f"{label}: {text}" for label, text in pairs) for pairs in labeled]
    chunker = create("biomedical-abstract")
    sample = [
        Document(texts[i % len(texts)], metadata={"title": records[i % len(records)]["QUESTION"]})
        for i in range(ABSTRACTS)
    ]
    reading, _ = time_task(lambda: [abstracts.read(document.text, metadata=document.metadata) for document in sample])
    both, _ = time_task(partial(chunker.chunk_many, sample))
    documents = [abstracts.read(text) for text in texts]
    rows = [figures(*pair) for pair in zip(documents, chunker.chunk_many(documents), strict=True)]
    parts = [
        sections(document, [label for label, _ in pairs]) for document, pairs in zip(documents, labeled, strict=True)
    ]
    counts = {name: sum(row[name] for row in rows) for name in ("characters", "blocks", "chunks")}
    return {
        "abstracts": len(records),
        f"{ABSTRACTS}: read, s": reading,
        f"{ABSTRACTS}: read and chunk, s": both,
        **counts,
        "text covered": min(row["text covered"] for row in rows),
        "oversize": sum(row["oversize"] * row["chunks"] for row in rows) / counts["chunks"],
        "exact": all(row["exact"] for row in rows),
        "sections": {name: sum(part[name] for part in parts) for name in ("expected", "found", "in order", "headings")},
    }


def measure_pdfs(folders: Iterable[Path]) -> Json:
    """Read each PDF with and without a detector, and compare the words with those of Docling or GROBID."""
    from advchunk.readers.pages import pdf

    chunker, results = create("layout-aware", experimental=True), Json()
    paths = sorted(path for folder in folders for path in folder.glob("*.pdf"))
    for path in paths[:1]:
        pdf.read(path)  # loads the detector
    for path in paths:
        print(path.name, file=sys.stderr)
        made = [other for other in sorted(path.parent.glob(f"{path.stem}.*")) if other != path]
        for detector in ("rapid", None):
            wall = time.perf_counter()
            cpu, document = time_task(partial(pdf.read, path, detector=detector), 1)
            wall = time.perf_counter() - wall
            chunking, chunks = time_task(partial(chunker.chunk, document))
            pages = document.metadata["page_count"]
            results[f"{path.name}, {detector or 'lines'}"] = {
                "pages": pages,
                "s per page": {"cpu": round(cpu / pages, 3), "wall": round(wall / pages, 3)},
                "chunk, s": chunking,
                **figures(document, chunks),
                **(compare_words(words(document.text), made[0]) if made else {}),
            }
    return results


def compare_words(ours: Sequence[str], path: Path) -> Json:
    """Compare the words with those of another program, in order."""
    reference = words_of(path)
    order = SequenceMatcher(None, ours, reference, autojunk=False)
    shared = sum(block.size for block in order.get_matching_blocks())
    return {
        "compared with": path.name,
        "words": len(ours),
        "reference words": len(reference),
        "ratio": round(order.ratio(), 4),
        "share of reference": round(shared / max(len(reference), 1), 4),
    }


def main() -> None:
    """Print every figure of STRUCTURE.md."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=[*SUFFIXES, "pubmedqa", "pdf"], default=[*SUFFIXES, "pubmedqa", "pdf"]
    )
    args = parser.parse_args()
    create("optimal-semantic").chunk("Tea is green. So it is.")  # loads the embedder
    results = Json()
    for name in args.only:
        if name == "pdf":
            results[name] = measure_pdfs(args.data / kind for kind in SUFFIXES)
        else:
            results[name] = (
                measure_pubmed(args.data / name) if name == "pubmedqa" else measure_papers(args.data / name, name)
            )
    print(json.dumps(results, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
