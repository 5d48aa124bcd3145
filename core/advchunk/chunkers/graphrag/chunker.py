"""GraphRAG: communities of the entities of a corpus, each with a summary, above the chunks of its documents."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from advchunk.building.ids import IdGenerator
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.graphrag import communities as leiden
from advchunk.chunkers.graphrag.central_sentences import Sentence, Summary, summarize
from advchunk.chunkers.graphrag.chat import Asker, ChatExtractor, DescriptionMerger, ReportWriter, material
from advchunk.chunkers.graphrag.communities import Community
from advchunk.chunkers.graphrag.corpus import Corpus, GraphSettings, compare_chunks, graph_of
from advchunk.chunkers.graphrag.extraction import Extractor, ExtractorLike, LeafText, RuleExtractor, as_extractor
from advchunk.chunkers.graphrag.graph import Extraction, KnowledgeGraph, MergedDescription, Weighting
from advchunk.chunkers.graphrag.leaves import Leaf, find_entities, make_passage, split_sentences
from advchunk.chunkers.graphrag.phases import PhasedRunner, Phases, TimeBudget, arun_phases, run_phases
from advchunk.chunkers.graphrag.tree import Node, build_tree, digest_nodes, leaves_below, place_leaves
from advchunk.chunkers.model_bases import ChatParams
from advchunk.chunkers.params import RESOURCE, Params, at_least, at_most_chunk
from advchunk.engine import Job, Plan, completed
from advchunk.engine.runner import Failure, OnError, Runner, error_handler
from advchunk.errors import ConfigurationError, first_line, require
from advchunk.models.cache import with_cache
from advchunk.models.chat import ChatModelLike
from advchunk.models.embedders import as_embedder
from advchunk.models.endpoint import chat_model
from advchunk.models.identity import model_name, own_identity
from advchunk.records import Chunk, Document, Segmentation, Units, write_metadata
from advchunk.text.detection import AUTO
from advchunk.text.terms import language_of_all

_T = TypeVar("_T")
_BY_RULES = 2  # mentions of an entity that rules found, which are noisy
_log = logging.getLogger("advchunk")


@dataclass(kw_only=True)
class GraphRAGParams(ChatParams):
    """Arrange the chunks of a corpus under communities of the entities that they mention, with summaries.

    The entities of each chunk, and the relations between those of a sentence, make a graph of the corpus. Hierarchical Leiden
    divides it into communities, and those into smaller ones. Each chunk belongs to the smallest community of most of its
    mentions. A community with several children is a chunk, too, and so is the whole corpus: their text is a summary.

    Levels are those of all documents of a call. The chunks are in one list: the root, the communities by level, then the
    chunks of documents in order. ``level`` is the depth, and ``parent`` an index in that list; methods that return the
    chunks of each document return the root and the communities with those of the first. In the metadata, ``granularity`` is
    "document" for the root, "section" for a community, "paragraph" for the chunks of documents, which have the ids and
    texts of `RecursiveChunker`'s: there are no presets for these cuts.

    A summary consists of the sentences whose entities have the strongest ties in the community, verbatim: ``sources`` in the
    metadata has the document and the span of each. Sentences of several documents have no place in one, so the summary is
    the ``context`` of a chunk without text: it is what is embedded.

    With an ``llm``, a model extracts entities with kinds, relations and descriptions, merges the descriptions of an entity or a
    relation from several chunks, and writes the summaries, the smallest communities first, from those of their parts, the
    descriptions and the central sentences, whose ``sources`` remain in the metadata. Where its answers cannot be used, such as
    names that are not in the text, or the budget is spent, rules extract, descriptions are joined, and the summary consists of sentences; ``status`` in the graph and
    ``summary_status`` say so, and an update asks again for descriptions and summaries. With a ``cache``, a run that was killed resumes where it stopped.

    The version of graspologic-native decides the communities; ``advchunk[graphrag]`` pins it. Communities are the same for
    the same version, texts and settings, and those of microsoft's graphrag for the same graph. Rules find entities by
    capitals and stop words, so that in languages without these the tree is flat.

    ``timeout`` bounds the cuts of each document; after these, the same time for each document, all together, bounds the calls of
    a model and the search for communities. What is not done by then is as where a model fails; rules need little time.

    Parameters
    ----------
    max_tokens : maximum tokens of a chunk, context included, >= 1.
    summary_tokens : maximum tokens of a summary, 1..max_tokens.
    max_community : number of entities from which a community is divided, >= 2.
    min_mentions : number of mentions of an entity that is kept, >= 1; None is 2, and 1 for one that an ``llm`` found.
    weighting : weight of the edge between two entities (`graph.build_graph`): "association" divides the number of their
        relations by the geometric mean of their mentions; "pmi" is microsoft's; "sum" is the number of relations.
    resolution : resolution of the modularity, 1e-6..1e6; higher values give smaller communities.
    seed : seed of the communities, and of the model's sampling, >= 0.
    entity_kinds : kinds of entities that a model looks for.
    gleanings : number of further questions about a chunk, for entities that are missing, >= 0.
    min_descriptions : number of descriptions of an entity, or of a relation, from which a model merges them, >= 2.
    attempts : maximum requests until an answer can be used, >= 1; each uses the next ``seed``.
    material_tokens : maximum tokens of the material for a summary, or a description, by a model, >= 256.

    References
    ----------
    Edge et al. 2024, "From local to global: A GraphRAG approach to query-focused summarization". Traag, Waltman & van Eck
    2019, "From Louvain to Leiden: guaranteeing well-connected communities". The rules, the tree and the update are ours.
    """

    algorithm: ClassVar[str] = "graphrag"
    version: ClassVar[int] = 2
    max_tokens: int = 256
    summary_tokens: int = 192
    max_community: int = 10
    min_mentions: int | None = None
    weighting: Weighting = "association"
    resolution: float = 1.0
    seed: int = leiden.SEED
    entity_kinds: str = "person, organization, place, event, product, concept"
    gleanings: int = 1
    min_descriptions: int = 2
    attempts: int = 2
    material_tokens: int = 4096

    def check(self) -> None:
        """Add the rules for summaries and communities."""
        super().check()
        at_least(1, self, "summary_tokens", "min_mentions", "attempts")
        at_least(0, self, "gleanings")
        at_least(256, self, "material_tokens")
        at_most_chunk(self, "summary_tokens")
        at_least(2, self, "max_community", "min_descriptions")
        require(1e-6 <= self.resolution <= 1e6, "resolution must be in 1e-6..1e6", self.resolution)
        require(0 <= self.seed < 2**63, "seed must be in 0..2^63 - 1", self.seed)


@dataclass(kw_only=True)
class GraphRAGChunker(GraphRAGParams, ExperimentalChunker, LinearChunker):
    """Arrange the chunks of a corpus under communities of the entities that they mention (`GraphRAGParams`).

    ``jobs`` and ``explain`` return the chunks of documents alone. If the communities of a corpus cannot be found, a warning is
    logged, and all chunks are children of the root.

    Parameters
    ----------
    llm : base URL of an OpenAI-compatible endpoint, or anything `models.chat.as_chat` accepts; None does without a model.
    extractor : extracts entities and relations: a pipeline of spaCy, or an `extraction.Extractor`; None is the ``llm``, or
        without one `extraction.RuleExtractor`. Rules replace it for a chunk on which it fails, with a warning in the log.
    cache : keeps answers, and embeddings, between runs: the path of a file, the URL of a Redis, a ``dict``, or a `cache.Store`.

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
    extractor: ExtractorLike | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rules for ``llm`` and ``extractor``."""
        super().check()
        _ = self._asker, as_extractor(self.extractor)

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

    @property
    def _extractor(self) -> Extractor:
        if self.extractor is None and self._asker is not None:
            return ChatExtractor(self._asker, self.entity_kinds, self.gleanings)
        return as_extractor(self.extractor, self.language)

    @property
    def _graph_settings(self) -> GraphSettings:
        if self.min_mentions is not None:
            return GraphSettings(self.min_mentions, self.weighting, self.language, self.min_mentions)
        return GraphSettings(_BY_RULES if self.llm is None else 1, self.weighting, self.language, _BY_RULES)

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Return one segment, which the token budget divides."""
        return Segmentation(np.array([0, len(units)]))

    # A corpus.

    def chunk_corpus(self, documents: Iterable[str | Document], *, on_error: OnError = "raise") -> Corpus:
        """Return the chunks of documents at all levels, with the graph; see `chunk_many` for ``on_error``.

        Raises
        ------
        ConfigurationError : two documents have the same name (`Document.source`), or one of several has none.
        """
        return run_phases(self._phases(documents, on_error))

    async def achunk_corpus(
        self,
        documents: Iterable[str | Document],
        *,
        on_error: OnError = "raise",
        concurrency: int | None = None,
    ) -> Corpus:
        """Await `chunk_corpus`."""
        return await arun_phases(self._phases(documents, on_error), concurrency)

    def update(
        self,
        corpus: Corpus,
        *,
        added: Iterable[str | Document] = (),
        removed: Iterable[str] = (),
        on_error: OnError = "raise",
    ) -> Corpus:
        """Return a corpus with documents added and removed; a document with the name of another one replaces it.

        A document that fails is not added, and does not replace another.

        Entities are extracted from added documents alone. Entities stay in their communities
        (`communities.update_hierarchy`), and so do chunks (`tree.place_leaves`). A community whose chunks and parts are the
        same, and the entities that they mention, keeps its summary and its id. ``changes`` of the result says what was redone.

        Parameters
        ----------
        corpus : made with the same parameters. If it was made with another version of graspologic-native, its communities
            are found again, with a warning in the log.
        removed : names of documents in the corpus.
        """
        return run_phases(self._phases(added, on_error, corpus, tuple(removed)))

    async def aupdate(
        self,
        corpus: Corpus,
        *,
        added: Iterable[str | Document] = (),
        removed: Iterable[str] = (),
        on_error: OnError = "raise",
        concurrency: int | None = None,
    ) -> Corpus:
        """Await `update`."""
        return await arun_phases(self._phases(added, on_error, corpus, tuple(removed)), concurrency)

    @property
    def _runner(self) -> Runner[str | Document, Explanation]:
        def collect() -> Any:
            return lambda explanation: [explanation.chunks]

        return PhasedRunner(self.jobs, collect, finish=self._distribute)

    def _distribute(self, explanations: Sequence[Explanation]) -> Phases[list[list[Chunk]]]:
        """Return the chunks of each document; those of the root and the communities come with the first that has any."""
        numbered = {str(i): explanation for i, explanation in enumerate(explanations) if explanation.chunks}
        named = {explanation.document.source: explanation for explanation in numbered.values()}
        is_named = "" not in named and len(named) == len(numbered)
        corpus = yield from self._build_in_language(named if is_named else numbered, None, ())
        rest = iter(corpus.chunks)
        above = islice(rest, len(corpus.chunks) - sum(map(len, corpus.leaves.values())))
        return [
            [*(above if explanation.chunks else ()), *islice(rest, len(explanation.chunks))]
            for explanation in explanations
        ]

    def _phases(
        self,
        documents: Iterable[str | Document],
        on_error: OnError,
        previous: Corpus | None = None,
        removed: Sequence[str] = (),
    ) -> Phases[Corpus]:
        if previous is not None:
            self._check_update(previous, removed)
        failed, handle = set[str](), error_handler(on_error)

        def on_failure(failure: Failure) -> None:
            failed.add(failure.source)
            handle(failure)

        explanations = yield self.jobs(documents, on_failure)
        explanations = [item for item in explanations if item.chunks or item.document.source not in failed | {""}]
        names = [explanation.document.source for explanation in explanations]
        repeated = [name for name, number in Counter(names).items() if number > 1]
        require(not repeated, "documents of a corpus must have different names (Document.id)", repeated)
        return (yield from self._build_in_language(dict(zip(names, explanations, strict=True)), previous, removed))

    def _check_update(self, corpus: Corpus, removed: Sequence[str]) -> None:
        require(isinstance(corpus, Corpus), "corpus must be a Corpus", corpus)
        rule = "corpus must be made with the parameters of this chunker"
        own = self._in_language(corpus.settings.language)
        made_alike = (corpus.maker, corpus.settings) == (Params.fingerprint(own), own._graph_settings)
        require(made_alike, rule, (corpus.maker, corpus.settings))
        rule = f"vectors must be of the kind, and of the embedder, of those of the corpus, {corpus.vectors!r}"
        require(corpus.vectors == self._vectors_name, rule, self._vectors_name)
        unknown = [name for name in removed if name not in corpus.leaves]
        require(not unknown, "removed must be names of documents in the corpus", unknown)

    def _in_language(self, language: str) -> Self:
        """Return a chunker whose names and stems are in a language, if it is told by the documents."""
        if self.language != AUTO:
            return self
        own = copy(self)
        own.language = language
        return own

    def _build_in_language(
        self, documents: Mapping[str, Explanation], previous: Corpus | None, removed: Sequence[str]
    ) -> Phases[Corpus]:
        """Build in the language of most documents, or of the corpus before, because all have one graph."""
        texts = [explanation.document.text for explanation in documents.values()]
        language = previous.settings.language if previous else language_of_all(texts)
        return (yield from self._in_language(language)._build(documents, previous, removed))

    def _build(
        self, documents: Mapping[str, Explanation], previous: Corpus | None, removed: Sequence[str]
    ) -> Phases[Corpus]:
        """Extract from new documents, find communities, summarize them, and link all chunks."""
        budget = TimeBudget(None if self.timeout is None else self.timeout * max(len(documents), 1))
        before = previous.leaves if previous else {}
        gone = [name for name in before if name in removed or name in documents]
        leaves: dict[str, tuple[Leaf, ...]] = {name: own for name, own in before.items() if name not in gone}
        leaves |= yield from self._extract(documents, budget)
        graph = graph_of(leaves, self._graph_settings)
        merged = yield from self._merge_descriptions(graph, previous.descriptions if previous else {}, budget)
        graph = graph.with_merged(merged)
        (communities,) = yield [budget.job(self._communities(graph, previous), self._without_communities)]
        every = [leaf for own in leaves.values() for leaf in own]
        names = [name for name, own in leaves.items() for _ in own]
        sentences = [find_entities(leaf, name, graph, self.language) for leaf, name in zip(every, names, strict=True)]
        mentions = [Counter(name for s in own for name in s.entities) for own in sentences]
        homes = (leaf.community for leaf in every) if _is_current(previous) else ()
        places = place_leaves(communities, mentions, homes)
        tree = build_tree(communities, mentions, places)
        keys = digest_nodes(tree, [leaf.chunk.id for leaf in every])
        kept = {key: summary for key, summary in previous.summaries.items() if not summary.status} if previous else {}
        summaries = (yield from self._summarize(tree, keys, sentences, graph, kept, budget)) if every else {}
        chunks = self._link(tree, [summaries[key] for key in keys], every) if every else []
        chunks = yield from self._embed_summaries(chunks, len(tree), previous.chunks if previous else ())
        linked = zip(chunks[len(tree) :], places, strict=True)
        leaves = {
            name: tuple(
                replace(leaf, chunk=chunk, community=place) for leaf, (chunk, place) in zip(own, linked, strict=False)
            )
            for name, own in leaves.items()
        }
        changes = replace(
            compare_chunks(previous.chunks if previous else [], chunks),
            documents_added=tuple(documents),
            documents_removed=tuple(gone),
            leaves_extracted=sum(len(leaves[name]) for name in documents),
            summaries_written=len(summaries.keys() - kept.keys()),
            summaries_kept=len(summaries.keys() & kept.keys()),
        )
        made_by = self._graph_settings, Params.fingerprint(self), leiden.leiden_version(), self._vectors_name
        return Corpus(chunks, leaves, tuple(communities), summaries, *made_by, merged, changes)

    def _extract(self, documents: Mapping[str, Explanation], budget: TimeBudget) -> Phases[dict[str, tuple[Leaf, ...]]]:
        """Return the leaves of documents, with their entities and relations."""
        ids = IdGenerator()
        parts = [
            (name, chunk, split_sentences(chunk, edges, explanation.document.text))
            for name, explanation in documents.items()
            if explanation.chunks
            for edges in [self._sentences(explanation).edges.tolist()]
            for chunk in ids.assign(explanation.document.source, explanation.chunks)
        ]
        passages = (make_passage(chunk, spans, documents[name].document.text) for name, chunk, spans in parts)
        extractor = self._extractor
        extractions = yield (
            self._extraction(extractor, chunk, passage, budget)
            for (_, chunk, _), passage in zip(parts, passages, strict=True)
        )
        leaves = {name: list[Leaf]() for name in documents}
        for (name, chunk, spans), extraction in zip(parts, extractions, strict=True):
            leaves[name].append(Leaf(chunk, spans, extraction))
        return {name: tuple(own) for name, own in leaves.items()}

    def _extraction(self, extractor: Extractor, chunk: Chunk, passage: LeafText, budget: TimeBudget) -> Job[Extraction]:
        plan = extractor.plan(passage)
        if isinstance(extractor, RuleExtractor):
            return Job(plan)
        rules = RuleExtractor(self.language)
        return _recoverable(
            plan,
            lambda status: _with_status(rules.plan(passage), status),
            f"chunk {chunk.id}: extraction failed, rules are used",
            budget,
        )

    def _merge_descriptions(
        self, graph: KnowledgeGraph, before: Mapping[str, MergedDescription], budget: TimeBudget
    ) -> Phases[dict[str, MergedDescription]]:
        """Return the descriptions that a model makes of several: those that are known, and new ones."""
        if self._asker is None:
            return {}
        merger = DescriptionMerger(self._asker, self.material_tokens, self.counter)
        several = graph.descriptions(self.min_descriptions)
        merged = {key: before[key] for key in several if key in before and not before[key].status}
        new = [key for key in several if key not in merged]
        made = yield [
            _recoverable(
                merger.plan(*several[key]),
                lambda status: completed(MergedDescription("", status)),
                f"{several[key][0]!r}: descriptions were not merged, they are joined",
                budget,
            )
            for key in new
        ]
        return merged | dict(zip(new, made, strict=True))

    def _communities(self, graph: KnowledgeGraph, previous: Corpus | None) -> Plan[list[Community]]:
        yield from ()
        options: Mapping[str, Any] = {"seed": self.seed, "resolution": self.resolution}
        if previous is not None and _is_current(previous):
            return leiden.update_hierarchy(previous.communities, graph.neighbors, self.max_community, **options)
        if previous is not None:
            message = "communities were found by graspologic-native %s, and are found again by %s"
            _log.warning(message, previous.leiden, leiden.leiden_version())
        edges = ((a, b, edge.weight) for (a, b), edge in graph.edges.items())
        return leiden.detect_hierarchy(edges, self.max_community, **options)

    def _without_communities(self, error: Exception) -> Job[list[Community]]:
        if self.fallback_chunker() is None or isinstance(error, (ConfigurationError, ImportError)):
            raise error
        name = type(error).__name__
        _log.warning("communities were not found (%s: %s), the corpus has none", name, first_line(error))
        return Job(completed([]))

    def _summarize(
        self,
        tree: Sequence[Node],
        keys: Sequence[str],
        sentences: Sequence[Sequence[Sentence]],
        graph: KnowledgeGraph,
        kept: Mapping[str, Summary],
        budget: TimeBudget,
    ) -> Phases[dict[str, Summary]]:
        """Return the summaries of the nodes by key, in their order: those that are known, and new ones."""
        below, counter, most = leaves_below(tree), self.counter, self.size("summary_tokens")
        names = {key: entity.name for key, entity in graph.entities.items()}
        summaries = dict.fromkeys(keys, Summary("", "", ()))
        for i, (node, key) in enumerate(zip(tree, keys, strict=True)):
            inside = [sentence for leaf in below[i] for sentence in sentences[leaf]]
            strengths = {} if key in kept else graph.strengths(node.members)
            summaries[key] = kept[key] if key in kept else summarize(inside, strengths, names, most, counter)
        if self._asker is None:
            return summaries
        writer = ReportWriter(self._asker, most, self.material_tokens, counter)
        for depth in sorted({node.depth for node in tree}, reverse=True):
            new = [i for i, node in enumerate(tree) if node.depth == depth and keys[i] not in kept]
            parts = [[summaries[keys[k]] for k, node in enumerate(tree) if node.parent == i] for i in new]
            pairs = zip(new, parts, strict=True)
            written = yield [
                _report(writer, material(tree[i].members, graph, own, summaries[keys[i]]), summaries[keys[i]], budget)
                for i, own in pairs
            ]
            summaries |= {keys[i]: summary for i, summary in zip(new, written, strict=True)}
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
        written: dict[str, Any] = {
            "community": summary.title,
            "entities": len(node.members),
            "summary_by": summary.by,
            "sources": [[document, *span] for document, span in summary.sources],
        }
        written |= {"summary_status": summary.status} if summary.status else {}
        metadata = write_metadata({}, written)
        tokens, text = self.counter(summary.text), summary.text
        return Chunk("", (), tokens, context=text, level=node.depth, parent=node.parent, metadata=metadata)

    @property
    def _vectors_name(self) -> str:
        if self.vectors == "none":
            return ""
        model = as_embedder(self.embedder).model
        return f"{self.vectors} {own_identity(model) or model_name(model)}".strip()

    def _embed_summaries(self, chunks: list[Chunk], number: int, before: Sequence[Chunk]) -> Phases[list[Chunk]]:
        """Return the chunks with vectors for the first ones, the summaries, if chunks are to have any.

        Parameters
        ----------
        before : chunks with vectors, which summaries of the same text get.
        """
        if self.vectors == "none" or not chunks:
            return chunks
        vectors = {chunk.embed_text: chunk.vector for chunk in before if not chunk.spans}
        new = [text for text in dict.fromkeys(chunk.embed_text for chunk in chunks[:number]) if text not in vectors]
        if new:
            (rows,) = yield [Job(self._chunk_vectors.embed(new))]
            vectors |= zip(new, rows, strict=True)
        return [*(replace(chunk, vector=vectors[chunk.embed_text]) for chunk in chunks[:number]), *chunks[number:]]


def _add_links(chunk: Chunk, above: Sequence[Chunk]) -> Chunk:
    """Add the granularity, and the id of the parent, to the metadata of a chunk."""
    if chunk.parent is None:
        written = {"granularity": "document"}
    else:
        granularity = "section" if chunk.index < len(above) else "paragraph"
        written = {"granularity": granularity, "parent_id": above[chunk.parent].id}
    return replace(chunk, metadata=write_metadata(chunk.metadata, written))


def _is_current(corpus: Corpus | None) -> bool:
    """Return True if a corpus has communities of the installed version of graspologic-native."""
    return corpus is not None and corpus.leiden == leiden.leiden_version()


def _report(writer: ReportWriter, lines: Sequence[str], extract: Summary, budget: TimeBudget) -> Job[Summary]:
    return _recoverable(
        writer.plan(lines, extract),
        lambda status: completed(extract._replace(status=status)),
        f"community {extract.title!r}: no summary, its sentences stay",
        budget,
    )


def _recoverable(plan: Plan[_T], otherwise: Callable[[str], Plan[_T]], message: str, budget: TimeBudget) -> Job[_T]:
    """Return a job that, if the plan of a model fails, logs a warning and goes on with another plan, for a status."""

    def recover(error: Exception) -> Job[_T]:
        if isinstance(error, (ConfigurationError, ImportError)):
            raise error
        reason = type(error).__name__
        _log.warning("%s (%s: %s)", message, reason, first_line(error))
        return Job(otherwise(f"failed: {reason}"))

    return budget.job(plan, recover)


def _with_status(plan: Plan[Extraction], status: str) -> Plan[Extraction]:
    return (yield from plan)._replace(status=status)
