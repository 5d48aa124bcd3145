"""The preset "published" of each chunker gives the chunks of its original, transcribed here, on three kinds of text."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import combinations, pairwise
from random import Random
from zlib import crc32

import networkx as nx
import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from advchunk import create, names
from advchunk.chunkers.catalog import chunker_class

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


TEXTS = {
    "Markdown": "\n\n".join(markdown()),
    "prose": " ".join(sentences(80)),
    "Chinese": "".join(sentences(80, is_chinese=True)),
}


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


def mst(_, chunker, units):
    """``mstchunker.py``: all pairs, Kruskal's tree, lambda, and components filled to the limit."""
    pieces, size = units.strings(), units.token_counts().tolist()
    rows, n = embed(pieces).astype(float), len(pieces)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, min(i + max(5, int(n * 0.03)), n))]
    cosine = {(i, j): 1 - float(rows[i] @ rows[j]) for i, j in pairs}
    density = 1 - np.mean([*cosine.values()])
    fragmentation = sum(s < np.mean(size) * 1.55 for s in size) / n
    semantic, locality = 0.85 + 0.75 * density, 0.2 + math.exp(-0.25 * density - 0.5 * fragmentation)
    vicinity, edges = 0.125 + 0.6 * math.exp((fragmentation - 0.8) * 0.85), []
    for i, j in pairs:
        d, a, b, reward = j - i, max(size[i], 5), max(size[j], 5), 0.0
        reward -= 0.275 * math.exp(-min(a, b) / 80) if d <= 2 and a < 80 and b < 80 else 0
        reward -= 0.85 * math.exp(-a / 80) if d == 1 and a < 80 else 0
        penalty = 0.0275 * d * math.log(1 + d / 2)
        edges.append((cosine[i, j] * semantic + penalty * locality + reward * vicinity, i, j))
    mean = np.mean([weight for weight, *_ in edges])
    limit = mean ** (1.8 * mean + 0.85) * math.exp(-0.15 / mean)
    forest = nx.empty_graph(n)
    forest.add_edges_from((i, j) for weight, i, j in edges if weight <= limit)
    chunks = []
    for component in sorted(map(sorted, nx.connected_components(forest))):
        chunk, tokens = [], 0
        for i in component:
            if chunk and tokens + size[i] > chunker.max_tokens:
                chunks.append("".join(chunk))
                chunk, tokens = [], 0
            chunk.append(pieces[i])
            tokens += size[i]
        chunks.append("".join(chunk))
    return chunks


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


def counts_of(chunker, units):
    words = chunker.terms(units.strings())
    return [Counter(words.ids[a:b].tolist()) for a, b in pairwise(words.edges.tolist())]


def cosine_of(left, right):
    norm = math.sqrt(sum(x * x for x in left.values()) * sum(x * x for x in right.values()))
    return sum(left[word] * right[word] for word in left) / norm if norm else 0.0


def texttiling(_, chunker, units):
    """Hearst 1997, over sentences: cohesion, smoothing, depth, and cutoff."""
    counts, k = counts_of(chunker, units), chunker.block_size
    cohesion = []
    for gap in range(1, len(counts)):
        width = min(k, gap, len(counts) - gap)
        before, after = (sum(counts[a : a + width], Counter()) for a in (gap - width, gap))
        cohesion.append(cosine_of(before, after))
    smooth = [np.mean(cohesion[max(i - 1, 0) : i + 2]) for i in range(len(cohesion))]

    def climb(scores):
        best = scores[0]
        for score in scores:
            if score < best:
                break
            best = score
        return best - scores[0]

    depth = np.array([climb(smooth[i::-1]) + climb(smooth[i:]) for i in range(len(smooth))])
    least, taken = depth.mean() + chunker.cutoff_z * depth.std(), []
    edges = np.r_[-np.inf, depth, -np.inf]
    hills = [i for i in range(len(depth)) if least < depth[i] > max(edges[i], edges[i + 2])]
    for i in sorted(hills, key=lambda i: -depth[i]):
        if all(abs(i - other) > chunker.spacing for other in [-1, len(depth), *taken]):
            taken.append(i)
    return joined(units.strings(), sorted(i + 1 for i in taken))


def c99(_, chunker, units):
    """Choi 2000: cosines, ranks in a square of eleven, and the divisions that raise the density most."""
    counts = counts_of(chunker, units)
    n = len(counts)
    cosine = np.array([[cosine_of(a, b) for b in counts] for a in counts]).round(12)
    rank = np.zeros((n, n))
    for i, j in np.ndindex(n, n):
        around = cosine[max(i - 5, 0) : i + 6, max(j - 5, 0) : j + 6]
        rank[i, j] = (around < cosine[i, j]).sum() / (around.size - 1)

    def inside(edges):
        blocks = list(pairwise(edges))
        return round(sum(rank[a:b, a:b].sum() for a, b in blocks) / sum((b - a) ** 2 for a, b in blocks), 10)

    cuts, order, density = [0, n], [], [inside([0, n])]
    while len(cuts) <= n:
        halved = [max(range(a + 1, b), key=lambda i: (inside([a, i, b]), i)) for a, b in pairwise(cuts) if b - a > 1]
        order.append(max(halved, key=lambda i: (inside(sorted([*cuts, i])), i)))
        cuts = sorted([*cuts, order[-1]])
        density.append(inside(cuts))
    kernel, gradient = [1, 2, 4, 8, 4, 2, 1], np.diff(density)
    smooth = []
    for i in range(len(gradient)):
        near = [(gradient[i + d - 3], kernel[d]) for d in range(7) if 0 <= i + d - 3 < len(gradient)]
        smooth.append(sum(g * k for g, k in near) / sum(k for _, k in near))
    threshold = np.mean(smooth) + chunker.cutoff_z * np.std(smooth)
    number = next((i for i, value in enumerate(smooth) if value <= threshold), len(smooth))
    return joined(units.strings(), sorted(order[:number]))


def bayesseg(_, chunker, units):
    """Eisenstein and Barzilay 2008: the cheapest segmentation under Dirichlet compound multinomials."""
    counts, a = counts_of(chunker, units), chunker.prior_strength
    size = chunker.terms(units.strings()).size  # stop words included

    def cost(segment):
        total = sum(segment.values())
        value = math.lgamma(total + size * a) - math.lgamma(size * a)
        return value - sum(math.lgamma(count + a) - math.lgamma(a) for count in segment.values())

    best, previous = [0.0], [0]
    for end in range(1, len(counts) + 1):
        segment, options = Counter(), []
        for start in range(end - 1, -1, -1):
            segment.update(counts[start])
            options.append((round(best[start] + cost(segment), 9), start))
        least, start = min(options)
        best.append(least)
        previous.append(start)
    cuts, end = [], len(counts)
    while end := previous[end]:
        cuts.insert(0, end)
    return joined(units.strings(), cuts)


def lda(text, chunker, units):
    """The rule of the specification on the divergence of the blocks: peaks over the threshold, the middle of a
    plateau."""
    scores, cuts = [0.0, *chunker.explain(text).figures["divergence"].tolist(), 0.0], []
    i = 1
    while i < len(scores) - 1:
        end = next(j for j in range(i + 1, len(scores)) if scores[j] != scores[i])
        if scores[i] > chunker.divergence_threshold and scores[i - 1] < scores[i] > scores[end]:
            cuts.append((i + end - 1) // 2)
        i = end
    return joined(units.strings(), cuts)


def of_labels(units, labels):
    return joined(units.strings(), [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]])


def clusters(_, chunker, units):
    """Ward's clusters of the sentences, as many as chunks are needed, projected to passages."""
    number = math.ceil(units.token_counts().sum() / chunker.max_tokens_per_segment)
    tree = linkage(pdist(embed(units.strings())), "ward")
    return of_labels(units, fcluster(tree, number, "maxclust"))


def partition(_, chunker, units):
    """Louvain's communities of the sentences with a cosine over the threshold, by NetworkX."""
    rows, graph = embed(units.strings()), nx.empty_graph(len(units))
    likeness = {(i, j): round(float(rows[i] @ rows[j]), 6) for i, j in combinations(range(len(rows)), 2)}
    graph.add_weighted_edges_from((i, j, s) for (i, j), s in likeness.items() if s > chunker.threshold)
    communities = nx.community.louvain_communities(graph, resolution=1.0, seed=0)
    return of_labels(units, [next(k for k, group in enumerate(communities) if i in group) for i in range(len(rows))])


ORIGINALS = {
    "universal-semantic": (universal, {"threshold": 0.8, "min_chunk_size": 20, "max_chunk_size": 120}),
    "semantic-threshold": (langchain, {}),
    "mst-semantic": (mst, {}),
    "perplexity": (perplexity, {"tokenizer": "characters", "max_tokens": 400}),
    "margin-sampling": (margin, {"tokenizer": "characters", "max_tokens": 600}),
    "texttiling": (texttiling, {"max_tokens": LARGE, "block_size": 6, "step": 1, "cutoff_z": -0.5}),
    "c99": (c99, {"max_tokens": LARGE, "min_segment_length": 0, "cutoff_z": 0.0}),
    "bayesseg": (bayesseg, {"max_tokens": LARGE, "min_segment_tokens": 0}),
    "lda-topic": (lda, {"max_tokens": LARGE, "iterations": 20}),
    "semantic-cluster": (clusters, {"max_tokens_per_segment": 200, "min_cluster_size": 1}),
    "graph-partition": (partition, {"max_tokens": LARGE}),
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
