"""The chunkers by name."""

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib.resources import files
from inspect import getdoc
from typing import Any, NamedTuple

from advchunk.chunkers import gate
from advchunk.chunkers.auto import AutoChunker
from advchunk.chunkers.base import Chunker, VectorsChunker
from advchunk.chunkers.baselines import RecursiveChunker, SlidingWindowChunker
from advchunk.chunkers.bayesseg import BayesSegChunker
from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.c99 import C99Chunker
from advchunk.chunkers.chaptering.chunker import LLMChapteringChunker
from advchunk.chunkers.clusters import SemanticClusterChunker
from advchunk.chunkers.discourse import DiscourseSegmenterChunker
from advchunk.chunkers.docstrings import EXPERIMENTAL
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker
from advchunk.chunkers.grobid import GrobidSectionChunker
from advchunk.chunkers.hierarchical import HierarchicalChunker
from advchunk.chunkers.language import ChatChunker, LanguageModelChunker
from advchunk.chunkers.layout_aware import LayoutAwareChunker
from advchunk.chunkers.lda import LDATopicChunker
from advchunk.chunkers.margin import MarginSamplingChunker
from advchunk.chunkers.mst.chunker import MSTSemanticChunker
from advchunk.chunkers.optimal import OptimalSemanticChunker
from advchunk.chunkers.other_names import check_names, method_hint
from advchunk.chunkers.params import ChunkerGroup, Params, resources
from advchunk.chunkers.partition import GraphPartitionChunker
from advchunk.chunkers.perplexity import PerplexityChunker
from advchunk.chunkers.texttiling import TextTilingChunker
from advchunk.chunkers.threshold import SemanticThresholdChunker
from advchunk.chunkers.universal import UniversalSemanticChunker
from advchunk.errors import ConfigurationError
from advchunk.plugins import Plugins

_WARNINGS = (
    "experimental: results, parameters and speed may change in any release, and are not guaranteed",
    "for production use a stable chunker such as universal-semantic, which is also the fallback of this one",
)


class Entry(NamedTuple):
    """A chunker, its source, and the extra it needs."""

    chunker: type[Chunker]
    source: str
    extra: str | None = None

    @property
    def group(self) -> ChunkerGroup:
        """Experimental if its results may still change."""
        return self.chunker.group


TABLE = {
    entry.chunker.algorithm: entry
    for entry in (
        Entry(SlidingWindowChunker, "baseline"),
        Entry(RecursiveChunker, "baseline"),
        Entry(SemanticThresholdChunker, "Kamradt 2024; LangChain's SemanticChunker, LlamaIndex's SemanticSplitter"),
        Entry(MSTSemanticChunker, "MST Semantic Chunker v2"),
        Entry(UniversalSemanticChunker, "Alexandria universal semantic chunking"),
        Entry(OptimalSemanticChunker, "ours: exact dynamic programming, evidence estimated from the document"),
        Entry(HierarchicalChunker, "ours: any chunkers, coarse to fine; after LlamaIndex's HierarchicalNodeParser"),
        Entry(PerplexityChunker, "Zhao et al. 2024 (Meta-Chunking, PPL chunking)", "transformers"),
        Entry(MarginSamplingChunker, "Zhao et al. 2024 (Meta-Chunking, margin sampling)", "transformers"),
        Entry(AutoChunker, "ours: by the format of a document"),
        Entry(BiomedicalAbstractChunker, "Bio-MCP chunking strategy v1.2.0"),
        Entry(TextTilingChunker, "Hearst 1997, over sentences"),
        Entry(C99Chunker, "Choi 2000"),
        Entry(BayesSegChunker, "Eisenstein & Barzilay 2008; Utiyama & Isahara 2001"),
        Entry(LDATopicChunker, "Riedl & Biemann 2012 (TopicTiling); Blei et al. 2003", "lda"),
        Entry(SemanticClusterChunker, "Ward 1963, also of neighbors only; HDBSCAN (Campello et al. 2013)", "cluster"),
        Entry(GraphPartitionChunker, "Louvain (Blondel et al. 2008), Leiden (Traag et al. 2019)", "graph"),
        Entry(
            GraphRAGChunker,
            "Edge et al. 2024 (GraphRAG), Leiden (Traag et al. 2019); ours: extraction by rules, tree, update",
            "graphrag",
        ),
        Entry(
            LLMChapteringChunker,
            "ours: numbered lines, answers in headings; after Duarte et al. 2024 (LumberChunker)",
            "llm",
        ),
        Entry(DiscourseSegmenterChunker, "ours: after Marcu 2000; connectives after Prasad et al. 2008"),
        Entry(GrobidSectionChunker, "GROBID's TEI; IMRaD (Sollaci & Pereira 2004)"),
        Entry(
            LayoutAwareChunker,
            "ours: regions of Docling, layoutparser, docTR or rapid-layout; Ha et al. 1995 (X-Y cuts)",
            "layout",
        ),
    )
}


def names(group: ChunkerGroup | None = None) -> list[str]:
    """Return the registered names, of one group or all, in table order; those of plugins are last."""
    add_plugins()
    return [name for name, entry in TABLE.items() if group in (None, entry.group)]


def required_model(name: str) -> str | None:
    """Return the model that must be passed to a chunker: "lm", "llm" or None."""
    needs = {LanguageModelChunker: "lm", ChatChunker: "llm"}
    return next((model for base, model in needs.items() if issubclass(_entry(name).chunker, base)), None)


def cuts_by_embeddings(name: str) -> bool:
    """Return True if a chunker uses its embedder to cut, and not only for the vectors of chunks."""
    return issubclass(_entry(name).chunker, VectorsChunker)


def is_general_purpose(name: str) -> bool:
    """Return True if a chunker needs no model, and chunks texts of any kind as they are, at one level."""
    chunker = _entry(name).chunker
    is_flat = not issubclass(chunker, (HierarchicalChunker, GraphRAGChunker))
    return required_model(name) is None and chunker.reads_all_formats() and is_flat


def create(name: str, *, experimental: bool | None = None, **params: Any) -> Chunker:
    """Build the chunker ``name`` from its parameters and resources.

    Raises
    ------
    ConfigurationError : no such name or parameter, a value that breaks a rule, or an experimental name that is not allowed.

    >>> create("recursive", max_tokens=300).chunk("Short.")[0].spans
    (Span(start=0, end=6),)
    """
    entry = _entry(name)
    gate.check_experimental(experimental)
    if entry.group == "experimental":
        gate.require_experimental(name, experimental)
    accepted = [field.name for field in fields(entry.chunker)]
    if "experimental" in accepted:  # it chooses among chunkers
        params["experimental"] = experimental
    check_names(name, params, accepted)
    return entry.chunker(**params)


def describe(name: str) -> dict[str, Any]:
    """Return the parameters, documentation and other facts of a chunker; JSON-able.

    >>> describe("mst-semantic")["parameters"]["max_tokens"]
    400
    """
    entry, params = _entry(name), params_of(_entry(name).chunker)
    experimental = entry.group == "experimental"
    return {
        "name": name,
        "group": entry.group,
        "experimental": experimental,
        "warnings": [*(_WARNINGS if experimental else ()), *_sensitivity_warnings(name)],
        "needs": required_model(name),
        "extra": entry.extra,
        "source": entry.source,
        "summary": summary(name),
        "documentation": getdoc(params) or "",
        "parameters": {f.name: f.default for f in fields(params)},
        "presets": {name: dict(values) for name, values in entry.chunker.presets.items()},
        "resources": resources(entry.chunker),
    }


def _sensitivity_warnings(name: str) -> list[str]:
    """Return the warnings about parameters, of each measured preset, and what was not measured."""
    rows = {label: row for label, row in sensitivities()["chunkers"].items() if label.partition(",")[0] == name}
    if not rows:
        return ["not measured: how sensitive it is to its parameters is unknown"]
    models = [
        f"sensitivity to parameters was measured with {row['model']} only" for row in rows.values() if "model" in row
    ]
    return [row["warning"] for row in rows.values() if "warning" in row] + models


@cache
def sensitivities() -> Mapping[str, Any]:
    """Return the results of benchmarks/robustness.py; ``chunkers`` is by name, or by name and preset."""
    results: Mapping[str, Any] = json.loads(files("advchunk.chunkers").joinpath("sensitivity.json").read_text("utf-8"))
    return results


def params_of(chunker: type[Chunker]) -> type[Params]:
    """Return the class of a chunker's hyper-parameters."""
    return next(c for c in chunker.__mro__ if issubclass(c, Params) and not issubclass(c, Chunker))


def summary(name: str) -> str:
    """Return the summary line of a chunker."""
    return (
        (getdoc(params_of(_entry(name).chunker)) or "").partition("\n")[0].removesuffix(EXPERIMENTAL).replace("``", "")
    )


@cache
def add_plugins() -> None:
    """Add the chunkers of other packages to the table (`advchunk.plugins`)."""
    plugins = Plugins("chunkers", [*TABLE])
    for name, point in plugins.declared.items():
        chunker = plugins.load(name)
        if isinstance(chunker, type) and issubclass(chunker, Chunker) and chunker.algorithm == name:
            TABLE[name] = Entry(chunker, plugins.source(name))
        elif chunker is not None:
            plugins.warn(point, f"it must be a subclass of Chunker with algorithm = {name!r}")


def _entry(name: str) -> Entry:
    if name not in TABLE:
        add_plugins()
    if name not in TABLE:
        msg = f"no chunker {name!r}{method_hint(str(name), TABLE) or '; there are ' + ', '.join(TABLE)}"
        raise ConfigurationError(msg)
    return TABLE[name]
