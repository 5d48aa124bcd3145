"""The preset "published" of each chunker gives the chunks of its original on three kinds of text.

Where the original has sentences of its own, it is transcribed here; elsewhere what its reference tests compare decides,
on sentences, or paragraphs of these, without a layout.
"""

import math
import re
from itertools import pairwise
from random import Random
from zlib import crc32

import numpy as np
import pytest

from advchunk import create, names
from advchunk.chunkers.catalog import chunker_class
from advchunk.records import Units

OURS = {"sliding-window", "recursive", "auto", "optimal-semantic", "hierarchical"}
TOPICS = ["cat purr nap fur mouse claw", "court judge law jury trial statute", "ship harbor tide anchor deck mast"]
HAN = ["猫喜欢睡觉抓老鼠毛", "法院审判法律陪审团", "船港口潮水锚甲板桅"]
LARGE = 100_000


def sentences(number, *, is_chinese=False):
    """Sentences of which every few are of another topic."""
    rng = Random(7)
    for i in range(number):
        topic = (HAN if is_chinese else TOPICS)[i // 7 % 3]
        if is_chinese:
            yield "".join(rng.choices(topic, k=9)) + "，" + "".join(rng.choices(topic, k=7)) + rng.choice("。。！？；")
        else:
            words = [*rng.choices(topic.split(), k=7), *rng.choices(["year", "way", "place", "case"], k=2)]
            yield " ".join(words).capitalize() + rng.choice("..!?")


def markdown():
    lines = list(sentences(84))
    for i in range(0, len(lines), 14):
        body, items = " ".join(lines[i : i + 6]), lines[i + 6 : i + 11]
        code = f"```\nprint({i})\nx = {i}\n```"
        table = "| a | b |\n|---|---|\n| 1 | 2 |"
        rows = [f"# {i} Part", body, "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)), code, "## 1.1 More"]
        yield "\n\n".join([*rows, " ".join(lines[i + 11 : i + 14]), table, "- one\n- two\n- three"])


HAN_TEXT = "".join(sentences(80, is_chinese=True))
TEXTS = {"Markdown": "\n\n".join(markdown()), "prose": " ".join(sentences(80)), "Chinese": HAN_TEXT}


def embed(texts):
    """Return unit vectors of the letters of each text, three at a time."""
    rows = np.full((len(texts), 64), 1e-3)
    for row, text in zip(rows, texts, strict=True):
        letters = "".join(text.lower().split())
        for i in range(len(letters)):
            row[crc32(letters[i : i + 3].encode()) % 64] += 1
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Letters:
    model_name = "letters"

    def embed(self, texts):
        return embed(texts)


class Language:
    """A language model that is surprised by each letter in its own way, and answers by a hash of the passage."""

    model_name = "language"

    def surprise(self, text):
        return range(1, len(text) + 1), [math.nan if c.isspace() else surprise(c) for c in text]

    def choose(self, prompt, options):
        before, sentence = re.findall(r"<(?:passage|文字|sentence|句子)>\n(.*?)\n</", prompt, re.DOTALL)
        chance = chance_to_split(before, sentence)
        return [chance if option == "1" else 1 - chance for option in options]


def surprise(letter):
    return crc32(letter.encode()) % 97 / 20


def chance_to_split(before, sentence):
    return crc32((before + sentence).encode()) % 11 / 10


def joined(pieces, cuts):
    return ["".join(pieces[a:b]) for a, b in pairwise([0, *cuts, len(pieces)])]


def cosines(vectors):
    return [float(a @ b) for a, b in pairwise(vectors)]


# The originals: each takes a text, and the chunker for its pieces, words and numbers.


def universal(text, chunker, _):
    """The loop of ``universal_chunking.py``."""
    split = [s.strip() for s in re.split(r"(?<=[.!?])\s+", text) if len(s.strip()) > 2]
    chunks, current, count = [], [split[0]], len(split[0].split())
    for sentence, similarity in zip(split[1:], cosines(embed(split)), strict=True):
        words = len(sentence.split())
        should_break = similarity < chunker.threshold and count >= chunker.min_chunk_size
        if should_break or count + words > chunker.max_chunk_size:
            chunks.append(" ".join(current))
            current, count = [], 0
        current.append(sentence)
        count += words
    return [*chunks, " ".join(current)]


def without_short(text):
    """The text without the sentences that the published splitter drops."""
    return " ".join(s for s in re.split(r"(?<=[.!?])\s+", text) if len(s.strip()) > 2)


def langchain(text, *_):
    """SemanticChunker at its defaults."""
    split = re.split(r"(?<=[.?!])\s+", text)
    if len(split) == 1:
        return split
    distances = [1 - s for s in cosines(embed([" ".join(split[max(i - 1, 0) : i + 2]) for i in range(len(split))]))]
    threshold = np.percentile(distances, 95)
    return joined(split, [i + 1 for i, distance in enumerate(distances) if distance > threshold])


def combined(metas, most):
    """The dynamic merging of Meta-Chunking."""
    chunks = [metas[0]]
    for meta in metas[1:]:
        if len(chunks[-1]) + len(meta) <= most:
            chunks[-1] += meta
        else:
            chunks.append(meta)
    return chunks


def published_sentences(text, units):
    """Those of Meta-Chunking in Chinese; else ours."""
    return re.findall(r"[^。！？；]*[。！？；]", text) if "。" in text else units.strings()


def perplexity(text, chunker, units):
    """``perplexity_chunking.py``."""
    split, minima = published_sentences(text, units), []
    values = [np.mean([surprise(c) for c in s if not c.isspace()]) for s in split]
    for i in range(1, len(values) - 1):
        before, after = values[i - 1] - values[i], values[i + 1] - values[i]
        if (before > 0 and after > 0) or (before > 0 and after == 0):
            minima.append(i + 1)
    return combined(joined(split, minima), chunker.max_tokens)


def margin(text, chunker, units):
    """``chunk_rag.py``, whose margin is of the answer to keep."""
    metas, threshold, margins = [], 0.0, []
    for sentence in published_sentences(text, units):
        if not metas:
            metas.append(sentence)
            continue
        margins.append(1 - 2 * chance_to_split(metas[-1].strip(), sentence.strip()))
        if margins[-1] > threshold + 1e-9:
            metas[-1] += sentence
        else:
            metas.append(sentence)
        if len(margins) >= 5:
            threshold = sum(margins[-5:]) / 5
    return combined(metas, chunker.max_tokens)


def alone(text, chunker, units):
    """What the algorithm decides on the units of a text without a layout: sentences, or for mst-semantic its blocks."""
    assert chunker.algorithm == "mst-semantic" or units.edges.tolist() == chunker.sentence_tiler(text).edges.tolist()
    pieces, segmentation = units.strings(), chunker.segmentation(Units(text, units.edges))
    if segmentation.labels is None:
        return joined(pieces, segmentation.cuts[1:-1].tolist())
    components = [np.flatnonzero(segmentation.labels == label) for label in np.unique(segmentation.labels)]
    sizes, most = units.token_counts(), chunker.max_tokens
    return [chunk for component in components for chunk in filled(component, pieces, sizes, most)]


def filled(component, pieces, sizes, most):
    """Fill chunks with the pieces of a component, in order."""
    chunks, tokens = [], most + 1
    for i in component:
        if tokens + sizes[i] > most:
            chunks.append("")
            tokens = 0
        chunks[-1] += pieces[i]
        tokens += sizes[i]
    return chunks


ORIGINALS = {
    "universal-semantic": (universal, {"threshold": 0.8, "min_chunk_size": 20, "max_chunk_size": 120}),
    "semantic-threshold": (langchain, {}),
    "mst-semantic": (alone, {}),
    "perplexity": (perplexity, {"tokenizer": "characters", "max_tokens": 400}),
    "margin-sampling": (margin, {"tokenizer": "characters", "max_tokens": 600}),
    "texttiling": (alone, {"max_tokens": LARGE, "block_size": 6, "step": 1, "cutoff_z": -0.5}),
    "c99": (alone, {"max_tokens": LARGE, "min_segment_length": 0, "cutoff_z": 0.0}),
    "bayesseg": (alone, {"max_tokens": LARGE, "min_segment_tokens": 0}),
    "lda-topic": (alone, {"max_tokens": LARGE, "iterations": 20}),
    "semantic-cluster": (alone, {"max_tokens_per_segment": 200, "min_cluster_size": 1}),
    "graph-partition": (alone, {"max_tokens": LARGE}),
}


def bare(chunks):
    return ["".join(chunk.split()) for chunk in chunks]


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", ORIGINALS)
def test_the_chunks_of_the_original(name, kind):
    original, params = ORIGINALS[name]
    models = {"lm": Language()} if name in {"perplexity", "margin-sampling"} else {"embedder": Letters()}
    chunker = create(name, preset="published", experimental=True, **params, **models)
    explanation, text = chunker.explain(TEXTS[kind]), TEXTS[kind]
    chunks = [chunk.text for chunk in explanation.chunks]
    expected = original(text, chunker.in_language_of(explanation.document), explanation.units)
    if original is universal:
        chunks = list(filter(None, map(without_short, chunks)))
    assert bare(chunks) == bare(expected)
    assert len(chunks) > 1 or (kind == "Chinese" and original in {universal, langchain})  # which split at ASCII stops


def test_every_chunker_of_a_paper_has_the_preset_and_says_what_it_changes():
    assert {name for name in names() if "published" not in chunker_class(name).presets} == OURS
    for name in set(names()) - OURS:
        values, doc = chunker_class(name).presets["published"], chunker_class(name).__mro__[1].__doc__
        departs = re.search(r"Departs from|The defaults are the strategy's", doc)
        section = " ".join(doc[departs.start() : doc.index("Parameters\n", departs.start())].split())
        assert values["layout_weight"] == 0.0
        assert all(f"``{parameter}``" in section for parameter in values), (name, section)
