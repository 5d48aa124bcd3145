"""The hyper-parameters of `BiomedicalAbstractChunker`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from advchunk.chunkers.params import Bounds, Params
from advchunk.errors import ConfigurationError

NAMESPACE = "1b2c3d4e-0000-0000-0000-000000000000"
"""Bio-MCP's namespace for the ids of its chunks."""


@dataclass(kw_only=True)
class BiomedicalAbstractParams(Params):
    """Chunk a PubMed abstract so that a claim, its numbers and their comparator stay in one chunk.

    The text is normalized (`readers.pubmed`). Each section is a chunk. Neighboring sections smaller than ``min_tokens``
    are merged, as are Results and Conclusions that fit ``target_tokens`` together. A section over ``max_tokens``, or an
    unsectioned abstract over it, is cut between sentences into windows of about ``target_tokens`` (250-350 for 325),
    each of which repeats the end of the previous one. A window keeps a sentence with a statistic and the one with its
    comparator together (`claims.numeric_claims`), unless it would exceed the target by more than 15 %. Nothing is cut
    within a quantity, a comparison of numbers, or parentheses with a number. The best cuts break minor rules.

    A chunk's context is ``[Section]`` and, for the first chunk, ``[Title]``, above ``[Text]``; it counts toward all
    limits. Metadata has ``chunk_id`` ("s0", "s1" ... with sections, else "w0" ...), ``uuid`` (from the parent and the
    ``chunk_id``), ``parent_uid`` (by default "pubmed:<pmid>", else the document's id, else a hash of its content),
    ``source``, ``chunk_idx``, ``title``, ``section`` (several are separated by commas), ``tokens``, ``n_sentences``,
    ``published_at`` and ``chunker_version``. An article without an abstract has one chunk of its title as context.

    The defaults are the strategy's; ``layout_weight`` has no effect here, and ``preset="published"`` switches
    ``outline`` off. Departs from the strategy always: only known names are headings, because its pattern also matches
    "Double-blind"; labels stay in the text; MeSH terms, its suffix, are in the context, since text is verbatim;
    environment variables count only where `settings.chunker_settings` and `settings.boosts` read them; and its open
    choices (which neighbor to merge with, where windows end) are optimized over the whole abstract.

    Bio-MCP, "Chunking Strategy", v1.2.0, 2025.

    Parameters
    ----------
    preset : "published", the strategy.
    max_tokens : maximum tokens of a chunk, context included, >= 1.
    min_tokens : smaller sections are merged with a neighbor if the result fits, 0..max_tokens; the default, like those
        of overlap_tokens and target_tokens, shrinks in proportion to a smaller max_tokens.
    overlap_tokens : maximum tokens of a window to repeat in the next, in whole sentences, 0..max_tokens - 1.
    include_context : give each chunk its context; without it, an article without an abstract has no chunk.
    target_tokens : target size of a window in tokens, context and repeated text included, 1..max_tokens.
    short_tokens : an abstract of fewer tokens is one chunk, even if it has sections, >= 0.
    title_chunk : give the title a chunk of its own, without text, before the others, unless the abstract is short.
    mesh : add the ``mesh`` terms in the metadata to the context of a short abstract, and of an article without one.
    normalize : False uses the text unchanged, parsed as ``markup``.
    namespace : namespace of ``uuid``, a UUID.
    chunker_version : version to write into the metadata.
    """

    algorithm: ClassVar[str] = "biomedical-abstract"
    version: ClassVar[int] = 2
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {"outline": False, "layout_weight": 0.0}}
    preset: Literal["published"] | None = None
    max_tokens: int = 450
    min_tokens: int = 120
    overlap_tokens: int = 50
    include_context: bool = True
    target_tokens: Annotated[int, Bounds(1, in_chunk=True)] = 325
    short_tokens: Annotated[int, Bounds(0)] = 80
    title_chunk: bool = False
    mesh: bool = False
    normalize: bool = True
    namespace: str = NAMESPACE
    chunker_version: str = "v1.2.0"

    def check(self) -> None:
        """Add the rule for the namespace."""
        super().check()
        try:
            UUID(self.namespace)
        except ValueError:
            msg = f"namespace must be a UUID, got {self.namespace!r}"
            raise ConfigurationError(msg) from None
