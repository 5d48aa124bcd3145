"""Time passages cut from hits of a store, of texts that were not read before. Prints JSON. See RETRIEVAL.md.

python benchmarks/cut_speed.py --data DIR [--sets chroma ohr/law qmsum covidqa xquad/de] [--questions 20] [--passages FILE]

DIR holds a folder for each set, with texts and questions.jsonl. Of each question, the fifty best chunks of a hundred tokens,
by words, are cut again with the four chunks on either side of each. Times are medians of processor time in milliseconds:
"first" of a new cutter, "next" of one that has answered the other questions of the set, whose texts it has forgotten, and
"again" of a question that it has answered just before. With --passages, all passages are written to a file, to be compared.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TypeAlias

from advchunk import RecursiveChunker
from advchunk.evaluation import read_corpus, read_questions
from advchunk.retrieval import Hit, LexicalIndex, Passage, PassageCutter

Case: TypeAlias = tuple[str, list[Hit], list[Hit]]
SETS = ("chroma", "ohr/law", "qmsum", "covidqa", "xquad/de")
HITS, TOKENS, BESIDE, BUDGET = 50, 100, 4, 1000


def read_cases(folder: Path, most: int) -> list[Case]:
    """Return questions with their hits, and the chunks beside these."""
    documents = read_corpus(folder)
    questions = [question.text for question in read_questions(folder / "questions.jsonl", documents)]
    groups = RecursiveChunker(max_tokens=TOKENS).chunk_many(documents)
    chunks = [Hit(c, d.id, 0.0) for d, group in zip(documents, groups, strict=True) for c in group]
    index, cases = LexicalIndex([hit.chunk.text for hit in chunks]), list[Case]()
    for question in questions[:: max(len(questions) // most, 1)][:most]:
        ranking = index.search(question, HITS)
        best = dict(zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True))
        near = {j for i in best for j in range(max(i - BESIDE, 0), min(i + BESIDE + 1, len(chunks)))} - best.keys()
        documents_of_hits = {chunks[i].document for i in best}
        hits = [Hit(chunks[i].chunk, chunks[i].document, score) for i, score in best.items()]
        cases.append((question, hits, [chunks[i] for i in sorted(near) if chunks[i].document in documents_of_hits]))
    return cases


def cut(cutter: PassageCutter, case: Case) -> tuple[float, list[Passage]]:
    """Return the milliseconds of processor time that a cut takes, and its passages."""
    question, hits, beside = case
    start = time.process_time()
    passages = cutter.cut(question, hits, BUDGET, beside=beside)
    return 1e3 * (time.process_time() - start), passages


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--passages", type=Path)
    args = parser.parse_args()
    kept = list[object]()
    for name in args.sets:
        cases, used = read_cases(args.data / name, args.questions), PassageCutter()
        times = dict[str, list[float]](first=[], next=[], again=[])

        for case in cases:
            times["first"].append(cut(PassageCutter(), case)[0])
            cut(used, case)
        for case in cases:
            for reader in used.__dict__["readers"].values():
                reader._remembered.cache_clear()
            for kind in ("next", "again"):
                milliseconds, passages = cut(used, case)
                times[kind].append(milliseconds)
            kept.append([(p.document, p.spans, p.score, p.tokens, p.context, p.section) for p in passages])
        chunks = statistics.mean(len(hits) + len(beside) for _, hits, beside in cases)
        print(json.dumps({"set": name, "chunks": chunks, **{k: statistics.median(v) for k, v in times.items()}}))
    if args.passages:
        args.passages.write_text(json.dumps(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
