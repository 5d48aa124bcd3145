"""Former paths of modules, which work with one warning that names the new one."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final


def _under(former: str, new: str, names: str) -> dict[str, str]:
    """Return the new paths of modules that have their names in another package."""
    return {f"{former}.{name}": f"{new}.{name}" for name in names.split()}


MOVED: Final[Mapping[str, str]] = {
    **_under("chunkers", "experimental", "bayesseg c99 chaptering clusters discourse lda partition texttiling"),
    **_under("chunkers", "semantic", "hierarchical margin mst optimal perplexity threshold universal"),
    **_under("readers", "pages", "docling pdf pdfium regions"),
    **_under("readers", "papers", "jats tei"),
    "chunkers.biomedical": "biomedical",
    "chunkers.biomedical.costs": "biomedical.abstract_costs",
    "chunkers.graphrag": "graphrag",
    "chunkers.graphrag.summaries": "graphrag.central_sentences",
    "chunkers.grobid": "papers.grobid",
    "chunkers.language": "chunkers.model_bases",
    "chunkers.layout_aware": "pages.layout_aware",
    "chunkers.registry": "chunkers.catalog",
    "cli.evaluation": "evaluation.commands",
    "cli.viewing": "viewer.command",
    "enrich.reassembly": "chunkers.reassembly",
    "enrich.summaries": "enrich.contextual",
    "evaluation.comparison.snippets": "evaluation.comparison.recommendation",
    "evaluation.metrics.claims": "biomedical.claim_recall",
    "models.topics": "experimental.topics",
    "numerics.search": "numerics.cutting",
    "plugins": "registry",
    "readers.abstracts": "biomedical.reader",
    "readers.abstracts.labels": "biomedical.abstracts.labels",
    "readers.abstracts.normalization": "biomedical.abstracts.normalization",
    "readers.abstracts.sections": "biomedical.abstracts.sections",
    "readers.code": "code.reader",
    "readers.code.languages": "code.languages",
    "readers.papers": "readers.imrad",
    "readers.pubmed": "biomedical.pubmed",
    "readers.regions.clusters": "pages.regions.grouping",
    "readers.regions.page": "pages.regions.assignment",
    "readers.regions.rules": "pages.regions.corrections",
    "readers.tables": "readers.table_layout",
    "readers.tei.places": "papers.tei.coordinates",
    "retrieval.dense": "retrieval.vector_index",
    "retrieval.levels": "retrieval.hierarchies",
    "retrieval.lexical": "retrieval.lexical_index",
    "retrieval.places": "retrieval.positions",
    "retrieval.tree": "retrieval.chunk_tree",
    "text.edus": "experimental.edus",
    "text.pages": "text.templates",
}
"""New paths by former ones, both within advchunk; modules of a package have moved with it."""


def new_path(former: str) -> str | None:
    """Return the path of a module that has moved, or None.

    >>> new_path("advchunk.chunkers.mst.chunker")
    'advchunk.semantic.mst.chunker'
    """
    package, _, path = former.partition(".")
    tail = list[str]()
    while path and package == "advchunk":
        if path in MOVED:
            return ".".join([package, MOVED[path], *reversed(tail)])
        path, _, last = path.rpartition(".")
        tail.append(last)
    return None


class _Finder:
    """Finds modules under their former paths, before Python finds them as parts of a package that has moved."""

    def __init__(self) -> None:
        self._specs = dict[str, ModuleSpec | None]()  # of the modules, by former path

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - as all finders have it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if new_path(fullname) else None  # type: ignore[arg-type]  # their base is slow to import

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = new_path(spec.name) or ""
        module = import_module(new)
        self._specs[spec.name] = module.__spec__
        if spec.parent not in self._specs:  # which has warned
            warnings.warn(f"{spec.name} is deprecated: import {new}", DeprecationWarning, stacklevel=2)
        return module

    def exec_module(self, module: ModuleType) -> None:
        former = module.__spec__.name if module.__spec__ else ""
        module.__spec__ = self._specs[former]  # the import has replaced it by that of the former path


def install() -> None:
    """Let Python find modules under their former paths."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
