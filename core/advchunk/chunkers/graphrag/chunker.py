"""GraphRAG: communities of the entities of a corpus, each with a summary, above the chunks of its documents."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np

from advchunk.building.ids import IdGenerator
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.graphrag import communities as leiden
from advchunk.chunkers.graphrag.central_sentences import Sentence, Summary, summarize
from advchunk.chunkers.graphrag.chat import Asker, ChatExtractor, ReportWriter, material
from advchunk.chunkers.graphrag.communities import Community, Node, build_tree, place_leaves
from advchunk.chunkers.graphrag.corpus import Corpus, Leaf, find_entities, make_passage, split_sentences
from advchunk.chunkers.graphrag.extraction import LeafText, RuleExtractor
from advchunk.chunkers.graphrag.graph import Extraction, KnowledgeGraph, Weighting, build_graph
from advchunk.chunkers.graphrag.phases import PhasedRunner, Phases, arun_phases, run_phases
from advchunk.chunkers.model_bases import ChatParams
from advchunk.chunkers.params import AS_PUBLISHED, RESOURCE, Bounds
from advchunk.engine import Job, Plan, completed
from advchunk.engine.runner import Failure, OnError, Runner, error_handler
from advchunk.errors import ConfigurationError, first_line, require
from advchunk.models.cache import with_cache
from advchunk.models.chat import ChatModelLike
from advchunk.models.endpoint import chat_model
from advchunk.records import Chunk, Document, Segmentation, Units, write_metadata
from advchunk.text.detection import AUTO
from advchunk.text.terms import language_of_all

_T = TypeVar("_T")
_BY_RULES = 2  # mentions of an entity that rules found, which are noisy
_log = logging.getLogger("advchunk")


@dataclass(kw_only=True)
class GraphRAGParams(ChatParams):
    """Arrange the chunks of a corpus under communities of the entities that they mention, with summaries.

    The entities of each chunk, and the relations between those of a sentence, make a graph of the corpus. Hierarchical
    Leiden divides it into communities, and those into smaller ones. Each chunk belongs to the smallest community of
    most of its mentions. A community with several children is a chunk, too, and so is the whole corpus.

    The chunks are in one list: the root, the communities by level, then the chunks of documents in order, which have
    the ids and texts of `RecursiveChunker`'s. ``level`` is the depth, ``parent`` an index in that list; methods that
    return the chunks of each document return the root and the communities with those of the first. ``granularity`` in
    the metadata is "document" for the root, "section" for a community, "paragraph" for the chunks of documents.

    A summary consists of the sentences whose entities have the strongest ties in the community, verbatim: ``sources``
    in the metadata has the document and the span of each. It is the ``context`` of a chunk without text.

    With an ``llm``, a model extracts entities with kinds, relations and descriptions, and writes the summaries, the
    smallest communities first, from those of their parts, the descriptions and the central sentences. Where its answers
    cannot be used, such as names that are not in the text, or the budget is spent, rules extract, and the summary
    consists of sentences; ``status`` of an extraction and ``summary_status`` say so.

    A corpus that changes is chunked again: with a ``cache``, a model is asked only about what is new, what failed, or
    what a killed run had not reached. Chunks, communities and summaries that are the same keep their ids.

    The version of graspologic-native decides the communities; ``advchunk[graphrag]`` pins it. They are the same for the
    same version, texts and settings, and those of microsoft's graphrag for the same graph. Rules find entities by
    capitals and stop words, so that in languages without these the tree is flat.

    ``timeout`` bounds the cuts of each document, the search for communities, and what a model is asked about each chunk
    and community. A `models.chat.Budget` bounds all that a model is asked.

    Departs from the paper by default: chunks end at the layout (``layout_weight``, ``outline``, ``markup``) and have
    256 tokens without overlap, not 600 with 100 (``max_tokens``, ``overlap_tokens``); an edge weighs its relations over
    the mentions of its ends, not their number (``weighting``); and entities that rules found once are left out
    (``min_mentions``). ``preset="published"`` sets all of this back. Always: chunks end at sentences where they can;
    the descriptions of an entity are joined, not summarized; and without an ``llm`` rules extract.

    Edge et al. 2024, "From local to global: A GraphRAG approach to query-focused summarization". Traag, Waltman & van
    Eck 2019, "From Louvain to Leiden". The rules and the tree are ours.

    Parameters
    ----------
    preset : "published", the numbers of the paper, on plain text.
    max_tokens : maximum tokens of a chunk, context included, >= 1.
    summary_tokens : maximum tokens of a summary, 1..max_tokens.
    max_community : number of entities from which a community is divided, >= 2.
    min_mentions : number of mentions of an entity that is kept, >= 1; None is 2, and 1 for one that an ``llm`` found.
    weighting : weight of the edge between two entities (`graph.build_graph`): "association" divides the number of their
        relations by the geometric mean of their mentions; "sum" is the number of relations.
    resolution : resolution of the modularity, 1e-6..1e6; higher values give smaller communities.
    seed : seed of the communities, and of the model's sampling, >= 0.
    entity_kinds : kinds of entities that a model looks for.
    gleanings : number of further questions about a chunk, for entities that are missing, >= 0.
    attempts : maximum requests until an answer can be used, >= 1; each uses the next ``seed``.
    material_tokens : maximum tokens of the material for a summary by a model, >= 256.
    """

    algorithm: ClassVar[str] = "graphrag"
    version: ClassVar[int] = 2
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "max_tokens": 600, "overlap_tokens": 100, "weighting": "sum", "min_mentions": 1},
    }
    preset: Literal["published"] | None = None
    max_tokens: int = 256
    summary_tokens: Annotated[int, Bounds(1, in_chunk=True)] = 192
    max_community: Annotated[int, Bounds(2)] = 10
    min_mentions: Annotated[int | None, Bounds(1)] = None
    weighting: Weighting = "association"
    resolution: Annotated[float, Bounds(1e-6, 1e6)] = 1.0
    seed: Annotated[int, Bounds(0, 2**63 - 1)] = leiden.SEED
    entity_kinds: str = "person, organization, place, event, product, concept"
    gleanings: Annotated[int, Bounds(0)] = 1
    attempts: Annotated[int, Bounds(1)] = 2
    material_tokens: Annotated[int, Bounds(256)] = 4096


@dataclass(kw_only=True)
class GraphRAGChunker(GraphRAGParams, ExperimentalChunker, LinearChunker):
    """Arrange the chunks of a corpus under communities of the entities that they mention (`GraphRAGParams`).

    ``jobs`` and ``explain`` return the chunks of documents alone. If the communities of a corpus cannot be found, a
    warning is logged, and all chunks are children of the root.

    Parameters
    ----------
    llm : URL of an OpenAI-compatible endpoint, or anything `models.chat.as_chat` accepts; None does without a model.
    cache : keeps answers and embeddings: the path of a file, the URL of a Redis, a ``dict``, or a `cache.Store`.

    >>> notes = Document("Alice Ames met Bob Bell. Bob Bell and Alice Ames wrote to Carl Cole.", "notes")
    >>> law = Document("Dora Dunn sued Emil Egan. Emil Egan and Dora Dunn met in court.", "law")
    >>> corpus = GraphRAGChunker(max_tokens=8).chunk_corpus([notes, law])
    >>> [(chunk.level, chunk.parent, chunk.metadata["granularity"]) for chunk in corpus.chunks[:4]]
    [(0, None, 'document'), (1, 0, 'section'), (1, 0, 'section'), (2, 1, 'paragraph')]
    >>> corpus.chunks[2].metadata["community"], corpus.chunks[2].metadata["sources"]
    ('Dora Dunn, Emil Egan', [['law', 0, 25]])
    """

    is_corpus_level: ClassVar[bool] = True
    is_flat: ClassVar[bool] = False

    llm: ChatModelLike | str | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rule for ``llm``."""
        super().check()
        _ = self._asker

    def load(self) -> None:
        """Import the library of communities, and the client of an endpoint, too."""
        super().load()
        leiden.leiden_version()
        if self.llm is not None:
            chat_model(self.llm, self.llm_model).load()

    @property
    def _asker(self) -> Asker | None:
        if self.llm is None:
            return None
        chat = with_cache(chat_model(self.llm, self.llm_model), self.cache)
        return Asker(chat, self.temperature, self.seed, self.attempts)

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Return one segment, which the token budget divides."""
        return Segmentation(np.array([0, len(units)]))

    # A corpus.

    def chunk_corpus(self, documents: Iterable[str | Document], *, on_error: OnError = "raise") -> Corpus:
        """Return the chunks of documents at all levels, with the graph; see `chunk_many` for ``on_error``.

        Documents must have different names (`Document.source`), or `ConfigurationError` is raised.
        """
        return run_phases(self._phases(documents, on_error))

    async def achunk_corpus(
        self, documents: Iterable[str | Document], *, on_error: OnError = "raise", concurrency: int | None = None
    ) -> Corpus:
        """Await `chunk_corpus`: up to 4 calls of each model at a time, or its ``concurrency``."""
        return await arun_phases(self._phases(documents, on_error), concurrency)

    @property
    def _runner(self) -> Runner[str | Document, Explanation]:
        return PhasedRunner(self.jobs, lambda: lambda explanation: [explanation.chunks], finish=self._distribute)

    def _distribute(self, explanations: Sequence[Explanation]) -> Phases[list[list[Chunk]]]:
        """Return the chunks of each document; the root and the communities come with the first that has any."""
        numbered = {str(i): explanation for i, explanation in enumerate(explanations) if explanation.chunks}
        named = {explanation.document.source: explanation for explanation in numbered.values()}
        is_named = "" not in named and len(named) == len(numbered)
        corpus = yield from self._build(named if is_named else numbered)
        rest = iter(corpus.chunks)
        above = islice(rest, len(corpus.summaries))
        return [[*(above if own.chunks else ()), *islice(rest, len(own.chunks))] for own in explanations]

    def _phases(self, documents: Iterable[str | Document], on_error: OnError) -> Phases[Corpus]:
        failed, handle = set[str](), error_handler(on_error)

        def on_failure(failure: Failure) -> None:
            failed.add(failure.source)
            handle(failure)

        explanations = yield self.jobs(documents, on_failure)
        explanations = [item for item in explanations if item.chunks or item.document.source not in failed | {""}]
        names = [explanation.document.source for explanation in explanations]
        repeated = [name for name, number in Counter(names).items() if number > 1]
        require(not repeated, "documents of a corpus must have different names (Document.id)", repeated)
        return (yield from self._build(dict(zip(names, explanations, strict=True))))

    def _build(self, documents: Mapping[str, Explanation]) -> Phases[Corpus]:
        """Extract entities, find communities, summarize them, and link all chunks."""
        if self.language == AUTO:  # all documents have one graph, in the language of most
            own = copy(self)
            own.language = language_of_all([explanation.document.text for explanation in documents.values()])
            return (yield from own._build(documents))
        leaves = yield from self._extract(documents)
        every = [(name, leaf) for name, own in leaves.items() for leaf in own]
        graph = build_graph(
            {leaf.chunk.id: (leaf.chunk.start, leaf.extraction) for _, leaf in every},
            min_mentions=self.min_mentions or (_BY_RULES if self.llm is None else 1),
            min_by_rules=self.min_mentions or _BY_RULES,
            weighting=self.weighting,
            language=self.language,
        )
        (communities,) = yield [self._search(graph)]
        if not every:
            return Corpus([], leaves, tuple(communities), (), graph)
        texts = {name: explanation.document.text for name, explanation in documents.items()}
        sentences = [find_entities(leaf, name, texts[name], graph, self.language) for name, leaf in every]
        mentions = [Counter(name for s in own for name in s.entities) for own in sentences]
        tree = build_tree(communities, mentions, place_leaves(communities, mentions))
        summaries = yield from self._summarize(tree, sentences, graph)
        chunks = yield from self._embed_summaries(self._link(tree, summaries, [leaf for _, leaf in every]), len(tree))
        linked = iter(chunks[len(tree) :])
        leaves = {name: tuple(replace(leaf, chunk=next(linked)) for leaf in own) for name, own in leaves.items()}
        return Corpus(chunks, leaves, tuple(communities), tuple(summaries), graph)

    def _extract(self, documents: Mapping[str, Explanation]) -> Phases[dict[str, tuple[Leaf, ...]]]:
        """Return the leaves of documents, with their entities and relations."""
        ids = IdGenerator()
        parts = [
            (name, chunk, split_sentences(chunk, edges, explanation.document.text))
            for name, explanation in documents.items()
            if explanation.chunks
            for edges in [self._sentences(explanation).edges.tolist()]
            for chunk in ids.assign(explanation.document.source, explanation.chunks)
        ]
        extractions = yield (
            self._extraction(chunk, make_passage(chunk, spans, documents[name].document.text))
            for name, chunk, spans in parts
        )
        leaves = {name: list[Leaf]() for name in documents}
        for (name, chunk, spans), extraction in zip(parts, extractions, strict=True):
            leaves[name].append(Leaf(chunk, spans, extraction))
        return {name: tuple(own) for name, own in leaves.items()}

    def _extraction(self, chunk: Chunk, passage: LeafText) -> Job[Extraction]:
        rules = RuleExtractor(self.language)
        if self._asker is None:
            return Job(completed(rules.extract(passage)), self.timeout)
        plan = ChatExtractor(self._asker, self.entity_kinds, self.gleanings).plan(passage)
        message = f"chunk {chunk.id}: extraction failed, rules are used"
        return self._recoverable(plan, lambda status: rules.extract(passage)._replace(status=status), message)

    def _recoverable(self, plan: Plan[_T], otherwise: Callable[[str], _T], message: str) -> Job[_T]:
        """Return a job that, if its plan fails, warns and has another result, given the status."""

        def recover(error: Exception) -> Job[_T]:
            if isinstance(error, (ConfigurationError, ImportError)):
                raise error
            reason = type(error).__name__
            _log.warning("%s (%s: %s)", message, reason, first_line(error))
            return Job(completed(otherwise(f"failed: {reason}")))

        return Job(plan, self.timeout, recover)

    def _search(self, graph: KnowledgeGraph) -> Job[list[Community]]:
        def plan() -> Plan[list[Community]]:
            yield from ()
            edges = ((a, b, edge.weight) for (a, b), edge in graph.edges.items())
            return leiden.detect_hierarchy(edges, self.max_community, seed=self.seed, resolution=self.resolution)

        if self.fallback_chunker() is None:
            return Job(plan(), self.timeout)
        return self._recoverable(plan(), lambda _: [], "communities were not found, the corpus has none")

    def _summarize(
        self, tree: Sequence[Node], sentences: Sequence[Sequence[Sentence]], graph: KnowledgeGraph
    ) -> Phases[list[Summary]]:
        counter, most = self.counter, self.size("summary_tokens")
        names = {key: entity.name for key, entity in graph.entities.items()}
        below = ([sentence for leaf in node.below for sentence in sentences[leaf]] for node in tree)
        strengths = (graph.strengths(node.members) for node in tree)
        summaries = [summarize(*pair, names, most, counter) for pair in zip(below, strengths, strict=True)]
        if self._asker is None:
            return summaries
        writer = ReportWriter(self._asker, most, self.material_tokens, counter)
        for depth in sorted({node.depth for node in tree}, reverse=True):  # parts before what they are part of
            places = [i for i, node in enumerate(tree) if node.depth == depth]
            parts = {i: list[Summary]() for i in places}
            for node, summary in zip(tree, summaries, strict=True):
                if node.parent in parts:
                    parts[node.parent].append(summary)
            written = yield [
                self._recoverable(
                    writer.plan(material(tree[i].members, graph, own, summaries[i]), summaries[i]),
                    partial(_with_status, summaries[i]),
                    f"community {summaries[i].title!r}: no summary, its sentences stay",
                )
                for i, own in parts.items()
            ]
            for i, summary in zip(places, written, strict=True):
                summaries[i] = summary
        return summaries

    def _link(self, tree: Sequence[Node], summaries: Sequence[Summary], leaves: Sequence[Leaf]) -> list[Chunk]:
        """Return the chunks of all levels, with their parents."""
        pairs = zip(tree, summaries, strict=True)
        above = IdGenerator().assign(self.algorithm, [self._summary_chunk(node, summary) for node, summary in pairs])
        nodes = {leaf: i for i, node in enumerate(tree) for leaf in node.leaves}
        below = [
            replace(leaf.chunk, level=tree[nodes[i]].depth + 1, parent=nodes[i], index=len(tree) + i)
            for i, leaf in enumerate(leaves)
        ]
        return [_add_links(chunk, above) for chunk in chain(above, below)]

    def _summary_chunk(self, node: Node, summary: Summary) -> Chunk:
        written: dict[str, Any] = {"community": summary.title, "entities": len(node.members), "summary_by": summary.by}
        written["sources"] = [[document, *span] for document, span in summary.sources]
        written |= {"summary_status": summary.status} if summary.status else {}
        place: dict[str, Any] = {"level": node.depth, "parent": node.parent, "metadata": write_metadata({}, written)}
        return Chunk("", (), self.counter(summary.text), context=summary.text, **place)

    def _embed_summaries(self, chunks: list[Chunk], number: int) -> Phases[list[Chunk]]:
        """Return the chunks with vectors for the first ones, the summaries, if chunks are to have any."""
        if self.vectors == "none":
            return chunks
        texts = list(dict.fromkeys(chunk.embed_text for chunk in chunks[:number]))
        (rows,) = yield [Job(self._chunk_vectors.embed(texts))]
        vectors = dict(zip(texts, rows, strict=True))
        return [*(replace(chunk, vector=vectors[chunk.embed_text]) for chunk in chunks[:number]), *chunks[number:]]


def _with_status(extract: Summary, status: str) -> Summary:
    return extract._replace(status=status)


def _add_links(chunk: Chunk, above: Sequence[Chunk]) -> Chunk:
    """Add the granularity, and the id of the parent, to the metadata of a chunk."""
    written = {"granularity": "section" if chunk.index < len(above) else "paragraph"}
    written |= {"granularity": "document"} if chunk.parent is None else {"parent_id": above[chunk.parent].id}
    return replace(chunk, metadata=write_metadata(chunk.metadata, written))
