"""Read damaged files of every format: each gives documents and chunks, or one error that names it. See RELIABILITY.md.

python benchmarks/mutations.py [--mutations 2000] [--only .docx ...] [--seed 0]

The files are small, of the tests or made here. A mutation cuts a file, takes out or repeats a part, changes bytes,
exchanges two parts, or inserts zeros, brackets, or quotes. Files in zips are also changed inside. Prints a table, and
each error that is not ours on stderr; exits with 1 if there is one, if a file that is not blank gives no chunk and no
error, or if a file takes over ten seconds.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from pathlib import Path
from random import Random

import office_files
from runner import argument_parser

from advchunk import AutoChunker
from advchunk.chunkers.sources import SourceChunker, keep_all, read_source
from advchunk.errors import ConfigurationError, MissingExtra
from advchunk.readers.sources import FileSource

DATA = Path(__file__).parents[1] / "tests" / "data"
MARKDOWN = """---\ntitle: Tea\n---\n# Tea\n\n1. Boil.\n2. Wait[^1].\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nboil()\n```\n\n$$x^2$$\n\n[^1]: Two minutes.\n"""  # noqa: E501
ROWS = [{"id": i, "tea": f"Tea {i}", "notes": ["hot", {"price": i / 2}]} for i in range(12)]
HTML = "<html><head><title>Tea</title></head><body><h1>Tea</h1><p>Hot.</p><table><tr><th>a</th></tr><tr><td>1</td></tr></table></body></html>"  # noqa: E501
LATEX = (
    r"\documentclass{article}\title{Tea}\begin{document}\section{Hot}\begin{itemize}\item Boil\end{itemize}"
    r"\begin{tabular}{ll}a & b \\ 1 & 2\end{tabular}$$x^2$$\end{document}"
)
CAPTIONS = "1\n00:00:01,000 --> 00:00:02,000\nHot tea.\n\n2\n00:00:03,000 --> 00:00:04,000\nCold tea.\n"
INSERTED = (b"\0" * 8, b"<" * 8, b"{" * 8, b'"' * 3, b"\\begin{", b"[[[[", b"\xff\xfe", b"&a;", b"\n\n# ", b"-->")
SLOW = 10.0  # seconds


def files() -> dict[str, bytes]:
    """Return a file of each format by its suffix."""
    cell = {
        "cell_type": "code",
        "source": "boil()",
        "outputs": [{"output_type": "stream", "text": "hot"}],
        "metadata": {},
    }
    notebook = {"cells": [cell, {**cell, "cell_type": "markdown"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    texts = {
        ".md": MARKDOWN, ".html": HTML, ".tex": LATEX, ".srt": CAPTIONS, ".vtt": "WEBVTT\n\n" + CAPTIONS.replace(",", "."), ".txt": "ANN: Tea?\nBOB: Yes.\n",  # noqa: E501
        ".rst": "Tea\n===\n\n* Boil\n\n.. code:: python\n\n   "
                "boil()\n", ".adoc": "= Tea\n\n== Hot\n\n|===\n|a |b\n|===\n", ".org": "* Tea\n** Hot\n- Boil\n",
        ".csv": "tea,price\ngreen,\"2,5\"\nblack,3\n", ".tsv": "tea\tprice\ngreen\t2\nblack\t3\n", ".json": json.dumps(ROWS), ".yaml": "tea:\n  - hot\n  - cold\n",  # noqa: E501
        ".jsonl": "".join(f"{json.dumps({'id': str(row['id']), 'text': row['tea']})}\n" for row in ROWS), ".ipynb": json.dumps(notebook), ".py": "class Tea:\n    def "  # noqa: E501
                                                                                                                                                 "boil(self):\n        return 1\n",  # noqa: E501
    }  # fmt: skip
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "Tea", "ann@a.org"
    mail.set_content("Hot.\n\n> Cold?\n\n-- \nAnn\n")
    mail.add_attachment(b"green", maintype="text", subtype="plain", filename="a.txt")
    made: Mapping[str, Callable[[], bytes]] = {
        ".docx": office_files.report, ".pptx": office_files.slides, ".xlsx": office_files.workbook, ".epub": office_files.ebook, ".msg": office_files.outlook,  # noqa: E501
    }  # fmt: skip
    return {
        **{suffix: text.encode() for suffix, text in texts.items()},
        **{suffix: make() for suffix, make in made.items()},
        ".eml": bytes(mail), ".mbox": b"From ann@a.org Thu Nov 26 10:00:00 2026\n" + bytes(mail) + b"\n",
        ".tei.xml": (DATA / "letters.tei.xml").read_bytes(), ".nxml": (DATA / "tea_jats.xml").read_bytes(),
        ".docling.json": (DATA / "docling_report.json").read_bytes(),
    }  # fmt: skip


def mutate(data: bytes, random: Random) -> bytes:
    """Return damaged bytes; of a zip, half of the time with one damaged file inside."""
    if data[:2] == b"PK" and random.random() < 0.5:
        buffer = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
            names = old.namelist()
            chosen = random.choice(names)
            for name in names:
                own = old.read(name)
                new.writestr(name, damage(own, random) if name == chosen else own)
        return buffer.getvalue()
    return damage(data, random)


def damage(data: bytes, random: Random) -> bytes:
    """Return bytes that are damaged in one to three places."""
    for _ in range(random.randint(1, 3)):
        first, last = sorted(random.choices(range(len(data) + 1), k=2))
        near = min(last, first + 40)
        kind = random.randrange(6)
        if kind == 0:
            data = data[:last]
        elif kind == 1:
            data = data[:first] + data[near:]
        elif kind == 2:
            data = data[:last] + data[first:near] * random.randint(1, 50) + data[last:]
        elif kind == 3:
            changed = bytes(random.choices(range(256), k=random.randint(1, 8)))
            data = data[:first] + changed + data[first + len(changed) :]
        elif kind == 4:
            data = data[:first] + random.choice(INSERTED) + data[first:]
        else:
            data = data[last:] + data[first:last] + data[:first]
    return data


def outcome(source: FileSource) -> str:
    """Return what becomes of a file: "read", "blank", "refused", or "silent", without chunks or error."""
    process = SourceChunker(AutoChunker(experimental=True), keep_all, read_source)
    (result,) = process.stream([source])
    for failure in result.failures:
        if not isinstance(failure.error, (ConfigurationError, MissingExtra)):
            raise failure.error
    if any(chunks for _, (_, chunks) in result.documents):
        return "read"
    return "refused" if result.failures else "blank" if source.is_blank else "silent"


def main() -> None:
    """Mutate, read, chunk, and print."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--mutations", type=int, default=2000, help="of each format")
    parser.add_argument("--only", nargs="+", help="suffixes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.disable()
    print("| format | read | blank | refused | nothing | other errors | longest, s |\n|---|---|---|---|---|---|---|")
    failed = False
    for suffix, data in files().items():
        if args.only and suffix not in args.only:
            continue
        random, counts, longest = Random(f"{args.seed} {suffix}"), Counter[str](), 0.0
        for i in range(args.mutations):
            own, start = mutate(data, random), time.perf_counter()
            try:
                counts[outcome(FileSource(f"tea{suffix}", own))] += 1
            except Exception:  # noqa: BLE001 - they are counted
                counts["other"] += 1
                print(f"{suffix}, mutation {i}:\n{traceback.format_exc()}", file=sys.stderr)
            longest = max(longest, time.perf_counter() - start)
        failed |= bool(counts["other"] + counts["silent"]) or longest > SLOW
        cells = (
            suffix,
            *(f"{counts[key]:,}" for key in ("read", "blank", "refused", "silent", "other")),
            f"{longest:.1f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
